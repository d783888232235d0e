package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// repository is a bare Git repository with a working copy, served over HTTP by
// git's own http-backend, and what was asked of it.
type repository struct {
	url    string
	work   string // folder of the working copy
	server *http.Server

	requests, packs, bytes atomic.Int64
}

// newRepository makes and serves a repository with the spare pool in it.
func newRepository(ctx context.Context, dir string) (*repository, error) {
	r := &repository{work: filepath.Join(dir, "work")}
	root := filepath.Join(dir, "git")
	bare := filepath.Join(root, "platform.git")
	if err := os.MkdirAll(filepath.Join(r.work, "pools"), 0o755); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(bare, 0o755); err != nil {
		return nil, err
	}
	if err := r.serve(ctx, root); err != nil {
		return nil, err
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--bare", bare},
		{"-C", bare, "symbolic-ref", "HEAD", "refs/heads/main"},
		{"init", "--quiet"},
		{"symbolic-ref", "HEAD", "refs/heads/main"},
		// A push goes past the server, so that it counts what is read alone.
		{"remote", "add", "origin", bare},
	} {
		if err := r.git(ctx, args...); err != nil {
			return nil, errors.Join(err, r.close())
		}
	}
	if err := r.commit(ctx, []*pool{spare}); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, r.push(ctx)
}

func (r *repository) serve(ctx context.Context, root string) error {
	program, err := exec.LookPath("git")
	if err != nil {
		return fmt.Errorf("%w\ninstall git and put it on PATH", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("serve git: %w", err)
	}
	r.url = "http://" + listener.Addr().String() + "/platform.git"
	backend := &cgi.Handler{
		Path: program, Args: []string{"http-backend"},
		Env:    append(gitEnvironment(), "GIT_PROJECT_ROOT="+root, "GIT_HTTP_EXPORT_ALL=1"),
		Stderr: io.Discard, // it tells of clients that hang up
	}
	r.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: r.counting(backend)}
	go func() {
		if err := r.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			status("serve git: %v", err)
		}
	}()
	return nil
}

// counting counts requests, those that ask for objects, and the bytes of bodies
// both ways.
func (r *repository) counting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.requests.Add(1)
		body, err := io.ReadAll(io.LimitReader(request.Body, 64<<20))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		// In protocol 2 references are listed by a POST as well.
		if request.Method == http.MethodPost && !strings.Contains(string(body), "command=ls-refs") {
			r.packs.Add(1)
		}
		r.bytes.Add(int64(len(body)))
		request.Body = io.NopCloser(strings.NewReader(string(body)))
		next.ServeHTTP(countingWriter{w, &r.bytes}, request)
	})
}

type countingWriter struct {
	http.ResponseWriter
	bytes *atomic.Int64
}

func (w countingWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.bytes.Add(int64(n))
	return n, err
}

// gitReads is what was asked of a repository so far: requests, those that ask for
// objects, and the bytes of bodies both ways.
type gitReads struct{ requests, packs, bytes int64 }

func (r *repository) read() gitReads {
	return gitReads{r.requests.Load(), r.packs.Load(), r.bytes.Load()}
}

// commit writes the files of pools and commits them.
func (r *repository) commit(ctx context.Context, pools []*pool) error {
	for _, p := range pools {
		text, err := p.file()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.work, "pools", p.name+".yaml"), text, 0o644); err != nil {
			return err
		}
	}
	if err := r.git(ctx, "add", "--all"); err != nil {
		return err
	}
	return r.git(ctx, "commit", "--quiet", "--message", "Change pools")
}

func (r *repository) push(ctx context.Context) error {
	return r.git(ctx, "push", "--quiet", "origin", "main")
}

func (r *repository) git(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = r.work, gitEnvironment()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

func (r *repository) close() error { return r.server.Close() }

// gitEnvironment keeps the settings of whoever measures out of it.
func gitEnvironment() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.DevNull,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com",
	}
}
