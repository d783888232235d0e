package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
)

// stream is the body of an answer on its way to the client.
type stream struct {
	io.ReadCloser
	proxy   *Proxy
	passing *passing
	gone    context.Context // ends when the client is gone, or the stream was cut
	cutsAt  int64           // bytes until the stream is cut; below 0 for never
	// midway is set when the stream is to be cut within what comes next.
	midway atomic.Bool
	// ended is set when the stream is to end as if nothing more came.
	ended atomic.Bool
}

func (p *Proxy) newStream(response *http.Response, passing *passing) *stream {
	s := &stream{ReadCloser: response.Body, proxy: p, passing: passing, gone: response.Request.Context(), cutsAt: -1}
	if passing.fault != nil && passing.fault.CutAfter > 0 {
		s.cutsAt = passing.fault.CutAfter
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.streams[s] = true
	return s
}

// errCut ends a stream. The client gets no regular end then.
var errCut = errors.New("cut by a fault")

func (s *stream) Read(into []byte) (int, error) {
	if s.cutsAt == 0 {
		return 0, errCut
	}
	if s.cutsAt > 0 && int64(len(into)) > s.cutsAt {
		into = into[:s.cutsAt]
	}
	n, err := s.ReadCloser.Read(into)
	if err != nil && s.ended.Load() {
		return n, io.EOF
	}
	if s.cutsAt > 0 {
		s.cutsAt -= int64(n)
	}
	if hold := s.proxy.holding(s.passing.Passage); hold != nil {
		select {
		case <-hold:
		case <-s.gone.Done():
			return 0, errCut
		}
	}
	if n > 1 && s.midway.Load() {
		s.cutsAt = 0
		return n / 2, nil
	}
	return n, err
}

func (s *stream) Close() error {
	s.proxy.mu.Lock()
	delete(s.proxy.streams, s)
	s.proxy.mu.Unlock()
	return s.ReadCloser.Close()
}

// CutWatches ends the watches that run, of these resources or of all, and
// returns how many. The client gets no regular end.
func (p *Proxy) CutWatches(resources ...string) int {
	return p.watches(resources, func(s *stream) { s.passing.cut(errCut) })
}

// EndWatches ends the watches that run, of these resources or of all, as the API
// server does when their time is over, and returns how many.
func (p *Proxy) EndWatches(resources ...string) int {
	return p.watches(resources, func(s *stream) {
		s.ended.Store(true)
		s.passing.cut(errCut)
	})
}

// CutWatchesMidway ends each of the watches that run, of these resources or of
// all, in the middle of what it brings next, and returns how many these are.
func (p *Proxy) CutWatchesMidway(resources ...string) int {
	return p.watches(resources, func(s *stream) { s.midway.Store(true) })
}

func (p *Proxy) watches(resources []string, do func(*stream)) (count int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.streams {
		if s.passing.Verb == "watch" && (len(resources) == 0 || slices.Contains(resources, s.passing.Object.Resource)) {
			do(s)
			count++
		}
	}
	return count
}

// CloseConnections resets all connections of clients, with all that is under way
// on them, and returns how many.
func (p *Proxy) CloseConnections() int {
	p.mu.Lock()
	var all []*connection
	for c := range p.connections {
		all = append(all, c)
	}
	p.mu.Unlock()
	for _, c := range all {
		c.reset()
	}
	return len(all)
}

// listenerOf knows the connections of its proxy, below TLS.
type listenerOf struct {
	net.Listener
	proxy *Proxy
}

func (l *listenerOf) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tcp, ok := accepted.(*net.TCPConn)
	if !ok {
		return nil, fmt.Errorf("accepted a %T", accepted)
	}
	c := &connection{TCPConn: tcp, proxy: l.proxy}
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	l.proxy.connections[c] = true
	return c, nil
}

type connection struct {
	*net.TCPConn
	proxy *Proxy
}

func (c *connection) Close() error {
	c.proxy.mu.Lock()
	delete(c.proxy.connections, c)
	c.proxy.mu.Unlock()
	return c.TCPConn.Close()
}

// reset resets the connection.
func (c *connection) reset() {
	// A connection that has ended already needs no reset.
	_ = c.SetLinger(0)
	_ = c.Close()
}

type connectionKey struct{}

// withConnection lets a request find its connection.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = secure.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, c)
}
