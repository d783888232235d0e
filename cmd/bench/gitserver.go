package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// gitServer is git's own http-backend behind an HTTP server that counts.
type gitServer struct {
	url    string
	server *http.Server

	requests, packs, bytes atomic.Int64
}

// asked is what a server was asked for, one number for each time.
type asked struct {
	seconds, requests []float64
	packs             []float64 // the requests for objects
	bytes             []float64 // in both directions, with the headers of HTTP
}

func (a asked) and(more asked) asked {
	return asked{
		append(a.seconds, more.seconds...), append(a.requests, more.requests...),
		append(a.packs, more.packs...), append(a.bytes, more.bytes...),
	}
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
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve git: %w", err)
	}
	s := &gitServer{url: "http://" + listener.Addr().String()}
	git := &cgi.Handler{
		Path:   backend,
		Env:    append(gitEnvironment(), "GIT_PROJECT_ROOT="+folder, "GIT_HTTP_EXPORT_ALL=1"),
		Stderr: io.Discard, // it logs clients that hang up
		Logger: log.New(io.Discard, "", 0),
	}
	s.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		body := bufio.NewReader(r.Body)
		start, _ := body.Peek(32) // a shorter body is whole
		if r.Method == http.MethodPost && !strings.Contains(string(start), "command=ls-refs") {
			s.packs.Add(1)
		}
		r.Body = io.NopCloser(body)
		git.ServeHTTP(w, r)
	})}
	go func() { _ = s.server.Serve(&countingListener{listener, &s.bytes}) }() // it ends with close
	return s, nil
}

func (s *gitServer) close() error { return s.server.Close() }

// during is what something takes, and what it asks the server for.
func (s *gitServer) during(ctx context.Context, what func(context.Context) error) (asked, error) {
	requests, packs, bytes, began := s.requests.Load(), s.packs.Load(), s.bytes.Load(), time.Now()
	if err := what(ctx); err != nil {
		return asked{}, err
	}
	took := time.Since(began).Seconds()
	err := pause(ctx, 20*time.Millisecond) // a client is content before the last byte is sent
	since := func(now *atomic.Int64, before int64) []float64 { return []float64{float64(now.Load() - before)} }
	return asked{[]float64{took}, since(&s.requests, requests), since(&s.packs, packs), since(&s.bytes, bytes)}, err
}

// countingListener counts the bytes of its connections.
type countingListener struct {
	net.Listener
	bytes *atomic.Int64
}

func (l *countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return &countingConn{conn, l.bytes}, err
}

type countingConn struct {
	net.Conn
	bytes *atomic.Int64
}

func (c *countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}

func (c *countingConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.bytes.Add(int64(n))
	return n, err
}

// runGit runs git in a folder, with what it is to read, and returns its output.
func runGit(ctx context.Context, dir string, input io.Reader, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, gitEnvironment(), input
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// gits runs several commands in a folder.
func gits(ctx context.Context, dir string, commands ...[]string) error {
	for _, args := range commands {
		if _, err := runGit(ctx, dir, nil, args...); err != nil {
			return err
		}
	}
	return nil
}

// gitEnvironment is that of this process without the settings of git and of proxies, and
// with an author.
func gitEnvironment() []string {
	var env []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, "GIT_") && !strings.HasSuffix(strings.ToLower(name), "_proxy") {
			env = append(env, variable)
		}
	}
	return append(env, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com")
}
