package git

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	gitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"golang.org/x/crypto/ssh"

	"github.com/nodepools/nodepools/testdata/sources"
)

// Real Git servers: the git program behind net/http/cgi, behind an SSH server,
// and by itself.

// webServer is git http-backend, and a note of every request.
type webServer struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

func serveHTTP(t testing.TB, r *sources.Repo, tls bool, wrap func(http.Handler) http.Handler) *webServer {
	t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	var backend http.Handler = &cgi.Handler{
		Path:   program,
		Args:   []string{"http-backend"},
		Env:    append(sources.Env(), "GIT_PROJECT_ROOT="+filepath.Dir(r.Dir), "GIT_HTTP_EXPORT_ALL=1"),
		Stderr: &stderrText{},
		Logger: quiet,
	}
	if wrap != nil {
		backend = wrap(backend)
	}
	return serve(t, tls, backend)
}

func serve(t testing.TB, tls bool, handler http.Handler) *webServer {
	w := &webServer{}
	w.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		w.mu.Lock()
		w.seen = append(w.seen, req.Method+" "+req.URL.RequestURI())
		w.mu.Unlock()
		handler.ServeHTTP(rw, req)
	}))
	w.Config.ErrorLog = quiet
	w.EnableHTTP2 = true
	if tls {
		w.StartTLS()
	} else {
		w.Start()
	}
	t.Cleanup(w.Close)
	return w
}

func (w *webServer) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.seen...)
}

// old has a server see nothing of a version of the protocol, so that it speaks 0.
func old(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		req.Header.Del("Git-Protocol")
		next.ServeHTTP(w, req)
	})
}

// fetches reports whether a request is for a pack, in any version.
func fetches(req *http.Request) bool {
	if req.Method != http.MethodPost {
		return false
	}
	body, err := io.ReadAll(req.Body)
	req.Body = io.NopCloser(bytes.NewReader(body))
	return err == nil && !bytes.Contains(body, []byte("command=ls-refs"))
}

func (w *webServer) repoURL() string { return w.URL + "/repo" }

func (w *webServer) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.Certificate().Raw})
}

// sshServer runs git upload-pack for who logs in with its key.
type sshServer struct {
	address string
	login   ssh.Signer
	host    ssh.Signer
	old     bool // takes no variables, and so speaks version 0
}

func serveSSH(t testing.TB) *sshServer {
	t.Helper()
	return (&sshServer{login: newSigner(t), host: newSigner(t)}).start(t)
}

// start serves with the host key, and with others beside it.
func (s *sshServer) start(t testing.TB, others ...ssh.Signer) *sshServer {
	t.Helper()
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if !bytes.Equal(key.Marshal(), s.login.PublicKey().Marshal()) {
			return nil, os.ErrPermission
		}
		return nil, nil
	}}
	config.AddHostKey(s.host)
	for _, other := range others {
		config.AddHostKey(other)
	}
	listener := listen(t)
	s.address = listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); _ = listener.Close(); running.Wait() })
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
				s.serve(ctx, conn, config)
			})
		}
	})
	return s
}

func (s *sshServer) serve(ctx context.Context, conn net.Conn, config *ssh.ServerConfig) {
	defer conn.Close()
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		go func() {
			var env []string
			for request := range requests {
				switch request.Type {
				case "env":
					var variable struct{ Name, Value string }
					if ssh.Unmarshal(request.Payload, &variable) == nil && !s.old {
						env = append(env, variable.Name+"="+variable.Value)
					}
				case "exec":
					_ = request.Reply(true, nil)
					s.exec(ctx, channel, string(request.Payload[4:]), env)
				default:
					_ = request.Reply(false, nil)
				}
			}
		}()
	}
}

func (s *sshServer) exec(ctx context.Context, channel ssh.Channel, line string, env []string) {
	defer channel.Close()
	path := strings.Trim(strings.TrimPrefix(line, "git-upload-pack "), "'")
	path = strings.ReplaceAll(path, `'\''`, `'`)
	cmd := exec.CommandContext(ctx, "git", "upload-pack", path)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(sources.Env(), env...), channel, channel.Stderr()
	in, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return
	}
	go func() { _, _ = copyTo(in, channel) }()
	code := byte(0)
	if cmd.Wait() != nil {
		code = 1
	}
	_, _ = channel.SendRequest("exit-status", false, []byte{0, 0, 0, code})
}

func (s *sshServer) repoURL(r *sources.Repo) string { return "ssh://git@" + s.address + r.Dir }

func (s *sshServer) auth() SSHAuth {
	return goGit{&gitssh.PublicKeys{User: "git", Signer: s.login, HostKeyCallbackHelper: gitssh.HostKeyCallbackHelper{
		HostKeyCallback: ssh.FixedHostKey(s.host.PublicKey()),
	}}}
}

// goGit is a credential of go-git, which does not ask for the address.
type goGit struct{ gitssh.AuthMethod }

func (g goGit) ClientConfig(string) (*ssh.ClientConfig, error) { return g.AuthMethod.ClientConfig() }

func newSigner(t testing.TB) ssh.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// accept serves every connection by itself, and returns the address.
func accept(t testing.TB, serve func(net.Conn)) string {
	t.Helper()
	listener := listen(t)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return listener.Addr().String()
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}
