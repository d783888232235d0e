package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Line passes connections on, each to the next of its servers in turn, as a balancer of
// TCP does. What is within them, it does not read: TLS goes through it, and users are
// known by their certificates. It can be cut without a sign, as by a network that
// swallows everything: see [Line.Cut].
type Line struct {
	listener net.Listener
	accept   sync.WaitGroup
	// fit are the servers to choose from, of all; nil is for all of them.
	fit func([]endpoint) []endpoint

	mu      sync.Mutex
	servers []endpoint
	next    int
	delay   time.Duration
	// whole is closed while the line passes things on, and is not cut.
	whole  chan struct{}
	cut    bool
	closed chan struct{}
	pairs  map[*pair]bool
	passed map[string]int // connections, by the address of their server
}

// endpoint is where a server listens.
type endpoint struct{ network, address string }

// newLine opens a line on loopback.
func newLine(fit func([]endpoint) []endpoint, servers ...endpoint) (*Line, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open a line: %w", err)
	}
	l := &Line{
		listener: listener, fit: fit, servers: servers, whole: make(chan struct{}), closed: make(chan struct{}),
		pairs: map[*pair]bool{}, passed: map[string]int{},
	}
	close(l.whole)
	l.accept.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // closed
			}
			go l.pass(client)
		}
	})
	return l, nil
}

// Address is where the line listens, with the port.
func (l *Line) Address() string { return l.listener.Addr().String() }

// Cut keeps everything from getting through, in both directions, until [Line.Mend]:
// connections stay open, new ones are accepted, and nothing is answered. What was sent
// meanwhile arrives when the line is mended, as TCP has it.
func (l *Line) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.cut {
		l.cut, l.whole = true, make(chan struct{})
	}
}

// Mend ends a [Line.Cut].
func (l *Line) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		l.cut = false
		close(l.whole)
	}
}

// Delay makes all that servers send late from now on.
func (l *Line) Delay(by time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = by
}

// Drop closes the connections that are open, and returns how many: their clients come
// again, and get to the next servers.
func (l *Line) Drop() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.pairs {
		p.close()
	}
	return len(l.pairs)
}

// Passed counts the connections since the start, by the address of their server.
func (l *Line) Passed() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	passed := map[string]int{}
	for address, count := range l.passed {
		passed[address] = count
	}
	return passed
}

// Close ends the line, and all connections.
func (l *Line) Close() error {
	l.mu.Lock()
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	l.mu.Unlock()
	err := l.listener.Close()
	l.accept.Wait()
	l.Drop()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close a line: %w", err)
	}
	return nil
}

// wait waits while the line is cut, and reports whether it is still open.
func (l *Line) wait() bool {
	l.mu.Lock()
	whole := l.whole
	l.mu.Unlock()
	select {
	case <-whole:
		return true
	case <-l.closed:
		return false
	}
}

// pair is a connection of a client and the one to its server.
type pair struct{ client, server net.Conn }

func (p *pair) close() {
	// One that has ended already needs no end.
	_ = p.client.Close()
	_ = p.server.Close()
}

// pass connects a client to a server until one of them ends it.
func (l *Line) pass(client net.Conn) {
	server := net.Conn(nil)
	if l.wait() {
		server = l.dial()
	}
	if server == nil {
		_ = client.Close() // nobody is there
		return
	}
	p := &pair{client, server}
	l.mu.Lock()
	l.pairs[p] = true
	l.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { l.carry(p, client, server, func() time.Duration { return 0 }) })
	both.Go(func() { l.carry(p, server, client, l.late) })
	both.Wait()
	p.close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pairs, p)
}

func (l *Line) late() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.delay
}

// carry passes on what comes from one side. The end of it is passed on as an end, so that
// the other side can finish what it says.
func (l *Line) carry(p *pair, from, to net.Conn, late func() time.Duration) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		// Whatever comes during the delay is read at once after it: a line that is late
		// is not a slow one.
		if delay := late(); delay > 0 && n > 0 {
			time.Sleep(delay)
		}
		if !l.wait() {
			p.close()
			return
		}
		if n > 0 {
			if _, failed := to.Write(buffer[:n]); failed != nil {
				p.close()
				return
			}
		}
		half, can := to.(interface{ CloseWrite() error })
		switch {
		case err == nil:
			continue
		case errors.Is(err, io.EOF) && can && half.CloseWrite() == nil:
		default:
			p.close()
		}
		return
	}
}

// dialTimeout is long for a server on loopback.
const dialTimeout = 5 * time.Second

// dial connects to the next server that can be reached; nil where none can.
func (l *Line) dial() net.Conn {
	l.mu.Lock()
	servers, first := l.servers, l.next
	l.next++
	l.mu.Unlock()
	if l.fit != nil {
		servers = l.fit(servers)
	}
	for i := range servers {
		to := servers[(first+i)%len(servers)]
		ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
		server, err := (&net.Dialer{}).DialContext(ctx, to.network, to.address)
		cancel()
		if err == nil {
			l.mu.Lock()
			l.passed[to.address]++
			l.mu.Unlock()
			return server
		}
	}
	return nil
}
