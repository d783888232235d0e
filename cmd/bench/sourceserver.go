package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/cgi"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// gitServer is git's own http-backend behind an HTTP server that counts what comes
// and goes.
type gitServer struct {
	url    string
	server *http.Server
	ended  chan struct{} // closed when it serves no more

	mu     sync.Mutex
	so     traffic
	active map[net.Conn]bool // connections with a request that is not over
}

// traffic is what a server has been asked.
type traffic struct {
	Requests int
	Packs    int   // requests among them that were for objects
	Bytes    int64 // in both directions, as they are sent, with all that HTTP adds
}

func (t traffic) since(before traffic) traffic {
	return traffic{t.Requests - before.Requests, t.Packs - before.Packs, t.Bytes - before.Bytes}
}

// serveGit serves the repositories of a folder until it is closed.
func serveGit(ctx context.Context, folder string) (*gitServer, error) {
	execPath, err := exec.CommandContext(ctx, "git", "--exec-path").Output()
	if err != nil {
		return nil, fmt.Errorf("git --exec-path: %w\ninstall git and put it on PATH", err)
	}
	backend, err := exec.LookPath(filepath.Join(strings.TrimSpace(string(execPath)), "git-http-backend"))
	if err != nil {
		return nil, fmt.Errorf("serve git: %w\nsome systems have it in a package of its own, such as git-daemon", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve git: %w", err)
	}
	s := &gitServer{url: "http://" + listener.Addr().String(), ended: make(chan struct{}), active: map[net.Conn]bool{}}
	git := &cgi.Handler{
		Path:   backend,
		Env:    append(gitEnvironment(), "GIT_PROJECT_ROOT="+folder, "GIT_HTTP_EXPORT_ALL=1"),
		Stderr: io.Discard, // it logs clients that hang up
		Logger: log.New(io.Discard, "", 0),
	}
	s.server = &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		ConnState:         s.note,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := &peekedBody{ReadCloser: r.Body}
			r.Body = body
			git.ServeHTTP(w, r)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.so.Requests++
			if r.Method == http.MethodPost && !strings.Contains(body.start, "command=ls-refs") {
				s.so.Packs++
			}
		}),
	}
	go func() {
		defer close(s.ended)
		_ = s.server.Serve(&countingListener{listener, s.count}) // it ends with close
	}()
	return s, nil
}

func (s *gitServer) close() error {
	err := s.server.Close()
	<-s.ended
	return err
}

func (s *gitServer) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.so.Bytes += int64(n)
}

func (s *gitServer) note(conn net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state == http.StateActive {
		s.active[conn] = true
	} else {
		delete(s.active, conn)
	}
}

// soFar is all traffic up to now. It waits until nothing is on its way: a client is
// content before the server has sent its last byte.
func (s *gitServer) soFar(ctx context.Context) (traffic, error) {
	for {
		s.mu.Lock()
		so, busy := s.so, len(s.active)
		s.mu.Unlock()
		if busy == 0 {
			return so, nil
		}
		select {
		case <-ctx.Done():
			return traffic{}, errors.Join(errors.New("the git server has not come to rest"), ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
}

// during is the traffic that something causes.
func (s *gitServer) during(ctx context.Context, what func() error) (traffic, error) {
	before, err := s.soFar(ctx)
	if err != nil {
		return traffic{}, err
	}
	if err := what(); err != nil {
		return traffic{}, err
	}
	after, err := s.soFar(ctx)
	return after.since(before), err
}

// peekedBody remembers how a request began.
type peekedBody struct {
	io.ReadCloser
	start string
}

func (b *peekedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if room := 64 - len(b.start); room > 0 {
		b.start += string(p[:min(n, room)])
	}
	return n, err
}

// countingListener counts the bytes of its connections, before they can have
// arrived at the other end.
type countingListener struct {
	net.Listener
	count func(int)
}

func (l *countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &countingConn{conn, l.count}, nil
}

type countingConn struct {
	net.Conn
	count func(int)
}

func (c *countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.count(n)
	return n, err
}

func (c *countingConn) Write(p []byte) (int, error) {
	c.count(len(p))
	n, err := c.Conn.Write(p)
	c.count(n - len(p))
	return n, err
}
