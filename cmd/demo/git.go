package main

import (
	"context"
	"crypto/tls"
	"errors"
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

// gitServer serves the bare repositories of a folder over HTTPS, for reading and
// for pushing, to whoever has its token, by means of git's own http-backend.
type gitServer struct {
	url string
	// private and server are nil where git comes without http-backend.
	private *private
	server  *http.Server
	// settings are those with which git reaches it.
	settings []string
	// hook is where it reports pushes.
	hook atomic.Pointer[hook]
}

// serveGit starts to serve, with what it takes to reach it in files of dir. Some
// distributions ship git without its http-backend; there, the folder itself is what the
// URL names, and there is nothing to log in to.
func serveGit(ctx context.Context, root, dir string, env []string) (*gitServer, error) {
	execPath, err := exec.CommandContext(ctx, "git", "--exec-path").Output()
	if err != nil {
		return nil, fmt.Errorf("git --exec-path: %w\ninstall git and put it on PATH", err)
	}
	backend := filepath.Join(strings.TrimSpace(string(execPath)), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		return &gitServer{url: "file://" + filepath.ToSlash(root)}, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve git: %w", err)
	}
	g := &gitServer{url: "https://" + listener.Addr().String()}
	if g.private, err = newPrivate(dir); err == nil {
		g.settings, err = g.private.settings(listener.Addr().String())
	}
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	g.server = &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{g.private.certificate}, MinVersion: tls.VersionTLS12},
		ErrorLog:          log.New(io.Discard, "", 0), // clients that do not know the authority yet
		Handler: g.private.admit(reporting(withLength(&cgi.Handler{
			Path: backend,
			// With a user, http-backend takes pushes.
			Env:    append([]string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=" + gitUser}, env...),
			Stderr: io.Discard, // it logs clients that hang up
		}), &g.hook)),
	}
	go func() {
		if err := g.server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintf(os.Stderr, "demo: serve git: %v\n", err)
		}
	}()
	return g, nil
}

// withLength takes in what comes in chunks before it is handled. Git sends a push
// of more than http.postBuffer, 1 MiB, that way; a CGI program has to be given the
// length, and package cgi refuses chunks.
func withLength(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength >= 0 {
			next.ServeHTTP(w, r)
			return
		}
		body, err := os.CreateTemp("", "nodepools-demo-push-")
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer body.Close() // nobody needs it any more
		err = os.Remove(body.Name())
		if err == nil {
			r.ContentLength, err = io.Copy(body, r.Body)
		}
		if err == nil {
			_, err = body.Seek(0, io.SeekStart)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		r.Body, r.TransferEncoding = body, nil
		next.ServeHTTP(w, r)
	})
}

// noticed says how the controller gets to know of a push.
func (g *gitServer) noticed() string {
	if g.server == nil {
		return "found by polls " + g.interval() + " apart"
	}
	return "which a webhook has reported"
}

// interval is how often to poll. Without a server nobody reports a push.
func (g *gitServer) interval() string {
	if g.server == nil {
		return "1s"
	}
	return "10m"
}

func (g *gitServer) close() error {
	if g.server == nil {
		return nil
	}
	return g.server.Close()
}

// makeRepository makes the bare repository platform.git under root, with the
// pools of a folder in pools/ on the branch main, and leaves the working copy in
// the shell's folder.
func makeRepository(ctx context.Context, sh *shell, root string, server *gitServer, pools string) error {
	bare := filepath.Join(root, "platform.git")
	if err := os.CopyFS(filepath.Join(sh.dir, "pools"), os.DirFS(pools)); err != nil {
		return fmt.Errorf("copy the pools: %w", err)
	}
	commands := []string{
		// init --initial-branch and git switch would want a newer git.
		"git init --quiet --bare " + quoted(bare),
		"git -C " + quoted(bare) + " symbolic-ref HEAD refs/heads/main",
		"git init --quiet",
		"git symbolic-ref HEAD refs/heads/main",
		"git remote add origin " + quoted(server.url+"/platform.git"),
	}
	for _, setting := range server.settings {
		key, value, _ := strings.Cut(setting, "=")
		commands = append(commands, "git config "+key+" "+quoted(value))
	}
	for _, command := range append(commands,
		"git add pools && git commit --quiet --message 'Our pools'",
		"git push --quiet --set-upstream origin main",
	) {
		if err := sh.quietly(ctx, command); err != nil {
			return err
		}
	}
	return nil
}
