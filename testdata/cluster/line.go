package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
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
	// gates are what is waited for by address of the server: that of the empty address by
	// all.
	gates  map[string]chan struct{}
	closed chan struct{}
	pairs  map[*pair]bool
	passed map[string]int // connections since the start, by the address of their server
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
		listener: listener, fit: fit, servers: servers, gates: map[string]chan struct{}{}, closed: make(chan struct{}),
		pairs: map[*pair]bool{}, passed: map[string]int{},
	}
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
func (l *Line) Cut() { l.shut("") }

// Mend ends a [Line.Cut].
func (l *Line) Mend() { l.open("") }

// shut keeps everything from a server, or all of them for the empty address.
func (l *Line) shut(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gates[address] == nil {
		l.gates[address] = make(chan struct{})
	}
}

func (l *Line) open(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if gate := l.gates[address]; gate != nil {
		close(gate)
		delete(l.gates, address)
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
	dropped := len(l.pairs)
	for p := range l.pairs {
		p.close()
		delete(l.pairs, p)
	}
	return dropped
}

// Open counts the connections that are open, by the address of their server.
func (l *Line) Open() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := map[string]int{}
	for p := range l.pairs {
		open[p.address]++
	}
	return open
}

// Passed counts the connections since the start, by the address of their server.
func (l *Line) Passed() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.passed)
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

// wait waits while the line is cut, or a server is lost, and reports whether the line is
// still open.
func (l *Line) wait(address string) bool {
	for _, each := range []string{"", address} {
		l.mu.Lock()
		gate := l.gates[each]
		l.mu.Unlock()
		if gate == nil {
			continue
		}
		select {
		case <-gate:
		case <-l.closed:
		}
	}
	select {
	case <-l.closed:
		return false
	default:
		return true
	}
}

// pair is a connection of a client and the one to its server.
type pair struct {
	client, server net.Conn
	address        string // of the server
}

func (p *pair) close() {
	// One that has ended already needs no end.
	_ = p.client.Close()
	_ = p.server.Close()
}

// pass connects a client to a server until one of them ends it.
func (l *Line) pass(client net.Conn) {
	p := (*pair)(nil)
	if l.wait("") {
		p = l.dial(client)
	}
	if p == nil {
		_ = client.Close() // nobody is there
		return
	}
	l.mu.Lock()
	l.pairs[p] = true
	l.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { l.carry(p, p.client, p.server, func() time.Duration { return 0 }) })
	both.Go(func() { l.carry(p, p.server, p.client, l.late) })
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
		if !l.wait(p.address) {
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

// dial connects a client to the next server that can be reached; nil where none can.
func (l *Line) dial(client net.Conn) *pair {
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
			return &pair{client, server, to.address}
		}
	}
	return nil
}
