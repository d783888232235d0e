package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// object is the parameters of a command.
type object map[string]any

// message is what the browser sends: the answer to a command, or an event.
type message struct {
	ID      int             `json:"id"`
	Session string          `json:"sessionId"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// connection is a DevTools connection to a browser.
type connection struct {
	to   *os.File
	from *os.File
	done chan struct{} // closed when nothing more comes

	mu       sync.Mutex
	last     int
	answers  map[int]chan message
	handlers map[string]func(message) // by session; they do not wait
}

var errEnded = errors.New("the browser has ended")

func connect(to, from *os.File) *connection {
	c := &connection{
		to: to, from: from, done: make(chan struct{}),
		answers: map[int]chan message{}, handlers: map[string]func(message){},
	}
	go c.read()
	return c
}

// read dispatches incoming messages, each terminated by a zero byte.
func (c *connection) read() {
	defer close(c.done)
	for from := bufio.NewReader(c.from); ; {
		data, err := from.ReadBytes(0)
		if err != nil {
			return // at the end of the browser
		}
		var m message
		if err := json.Unmarshal(data[:len(data)-1], &m); err != nil {
			return
		}
		c.mu.Lock()
		answer, handle := c.answers[m.ID], c.handlers[m.Session]
		delete(c.answers, m.ID)
		c.mu.Unlock()
		switch {
		case answer != nil:
			answer <- m
		case m.Method != "" && handle != nil:
			handle(m)
		}
	}
}

// send sends a command; its answer comes on the channel.
func (c *connection) send(session, method string, params object) (<-chan message, error) {
	if params == nil {
		params = object{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	answer := make(chan message, 1)
	command := object{"id": c.last, "method": method, "params": params}
	if session != "" {
		command["sessionId"] = session
	}
	data, err := json.Marshal(command)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	c.answers[c.last] = answer
	if _, err := io.WriteString(c.to, string(data)+"\x00"); err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return answer, nil
}

// call sends a command, and waits for its answer.
func (c *connection) call(ctx context.Context, session, method string, params object, result any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	answer, err := c.send(session, method, params)
	if err != nil {
		return err
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return fmt.Errorf("%s: the browser says: %s", method, m.Error.Message)
		}
		if result == nil {
			return nil
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return fmt.Errorf("%s: read the answer: %w", method, err)
		}
		return nil
	case <-c.done:
		return fmt.Errorf("%s: %w", method, errEnded)
	case <-ctx.Done():
		return fmt.Errorf("%s: no answer: %w", method, ctx.Err())
	}
}

// handle calls a function with the events of a session. It must not wait for an
// answer, as nothing is read meanwhile.
func (c *connection) handle(session string, function func(message)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handlers[session] = function
}

func (c *connection) close() {
	c.to.Close()
	c.from.Close()
	<-c.done
}
