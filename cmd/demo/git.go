package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// gitUser is the user whose token the server asks for.
const gitUser = "git"

// gitServer serves the bare repositories of a folder over HTTPS, for reading and for
// pushing, by git's own http-backend, to clients that have its token. No system knows
// the authority of its certificate.
type gitServer struct {
	*httptest.Server
	token string
	// signature is the token that reports of pushes are signed with, and hook the URL
	// that they go to, once it is known.
	signature string
	hook      atomic.Pointer[string]
}

// serveGit starts to serve the folder. The certificate and the token are in the files
// ca.crt, token and git-credentials of its folder home: no command line has the token.
func serveGit(ctx context.Context, root string, env []string) (*gitServer, error) {
	execPath, err := exec.CommandContext(ctx, "git", "--exec-path").Output()
	if err != nil {
		return nil, fmt.Errorf("git --exec-path: %w\ninstall git and put it on PATH", err)
	}
	backend := filepath.Join(strings.TrimSpace(string(execPath)), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		return nil, fmt.Errorf("git comes without its HTTP server: %w\ninstall the package with git-http-backend: git-daemon on Alpine", err)
	}
	g := &gitServer{token: rand.Text(), signature: rand.Text()}
	g.Server = httptest.NewUnstartedServer(g.handler(&cgi.Handler{
		Path: backend,
		// With a user, http-backend takes pushes.
		Env:    append([]string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=" + gitUser}, env...),
		Stderr: io.Discard, // it logs clients that hang up
	}))
	g.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that do not know the authority yet
	g.StartTLS()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: g.Certificate().Raw})
	credential := fmt.Sprintf("https://%s:%s@%s\n", gitUser, g.token, g.Listener.Addr())
	for name, content := range map[string]string{"ca.crt": string(authority), "token": g.token, "git-credentials": credential} {
		err = errors.Join(err, os.WriteFile(filepath.Join(root, "home", name), []byte(content), 0o600))
	}
	return g, err
}

// handler admits clients that have the token, and reports each push as a forge does.
func (g *gitServer) handler(backend http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); subtle.ConstantTimeCompare([]byte(password), []byte(g.token)) != 1 {
			w.Header().Set("WWW-Authenticate", `Basic realm="demo"`)
			http.Error(w, "a token is required", http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
		if hook := g.hook.Load(); hook != nil && r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/git-receive-pack") {
			go func() {
				if err := g.report(*hook); err != nil {
					fmt.Fprintf(os.Stderr, "demo: report a push: %v\n", err)
				}
			}()
		}
	})
}

func (g *gitServer) report(hook string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	body := []byte(`{"ref":"refs/heads/main"}`)
	mac := hmac.New(sha256.New, []byte(g.signature))
	mac.Write(body) // never fails
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, hook, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() // nothing is read from it
	if response.StatusCode != http.StatusAccepted {
		return errors.New(response.Status)
	}
	return nil
}
