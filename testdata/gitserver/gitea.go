// Package gitserver starts a real Git server with users for tests. Start with [NewGitea].
package gitserver

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/nodepools/nodepools/testdata/thirdparty"
)

// The users of a server: Owner, who administers it, and whose the repositories are, and
// Reader and Stranger, who have no right by themselves.
const (
	Owner    = "owner"
	Reader   = "reader"
	Stranger = "stranger"
)

// startTime is how long Gitea may take to start: it is seconds on a machine that does
// nothing else.
const startTime = 2 * time.Minute

// Gitea is a server of Gitea, which listens on loopback until the test ends.
type Gitea struct {
	// URL is that of the server, https; its certificate is for the name localhost alone.
	URL string
	// CA is the authority that has signed its certificate, in PEM form.
	CA string
	// SSH is the address of its ssh server, and KnownHosts a line with its key.
	SSH, KnownHosts string

	t        testing.TB
	dir      string
	program  string
	password string
	client   *http.Client
}

// NewGitea starts the Gitea that make gitea builds from Go modules. It takes minutes, so
// make test does without: where it was not built, the test says that it was skipped.
func NewGitea(t testing.TB) *Gitea {
	t.Helper()
	g := &Gitea{t: t, program: thirdparty.Program(t, "gitea"), dir: t.TempDir(), password: rand.Text()}
	config := g.configure()
	log := filepath.Join(g.dir, "log")
	// What reads or writes the database by itself does so before the server has it.
	g.run(config, "migrate")
	for _, user := range []string{Owner, Reader, Stranger} {
		g.run(config, "admin", "user", "create", "--username", user, "--password", g.password, "--email", user+"@example.com",
			"--must-change-password=false", "--admin="+strconv.FormatBool(user == Owner))
	}
	g.start(config, log)
	return g
}

// configure writes the configuration and the keys, and returns the path of the former.
func (g *Gitea) configure() string {
	web, shell := g.free(), g.free()
	g.URL, g.SSH = "https://localhost:"+web, "localhost:"+shell
	cert, key := g.issueCertificate()
	return g.write("app.ini", fmt.Sprintf(`
WORK_PATH = %[1]s
RUN_MODE = prod
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = %[2]t
[server]
PROTOCOL = https
DOMAIN = localhost
ROOT_URL = %[3]s/
HTTP_ADDR = 127.0.0.1
HTTP_PORT = %[4]s
CERT_FILE = %[5]s
KEY_FILE = %[6]s
STATIC_ROOT_PATH = %[7]s
START_SSH_SERVER = true
BUILTIN_SSH_SERVER_USER = git
SSH_LISTEN_HOST = 127.0.0.1
SSH_LISTEN_PORT = %[8]s
SSH_SERVER_HOST_KEYS = %[9]s
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
[security]
INSTALL_LOCK = true
[service]
DISABLE_REGISTRATION = true
[repository]
DEFAULT_BRANCH = main
[session]
PROVIDER = memory
[indexer]
ISSUE_INDEXER_TYPE = db
[queue]
TYPE = channel
[webhook]
ALLOWED_HOST_LIST = loopback
DELIVER_TIMEOUT = 20
[actions]
ENABLED = false
[packages]
ENABLED = false
[log]
MODE = console
LEVEL = Warn
`, g.dir, os.Getuid() == 0, g.URL, web, cert, key, filepath.Dir(g.program), shell, g.issueHostKey()))
}

// free is the port of an address that nobody listens at.
func (g *Gitea) free() string {
	g.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		g.t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	if err := listener.Close(); err != nil {
		g.t.Fatal(err)
	}
	return port
}

func (g *Gitea) write(name, text string) string {
	g.t.Helper()
	path := filepath.Join(g.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		g.t.Fatal(err)
	}
	return path
}

// issueCertificate makes an authority, and a certificate for localhost by it.
func (g *Gitea) issueCertificate() (cert, key string) {
	g.t.Helper()
	issue := func(template, parent *x509.Certificate, signer *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
		own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			g.t.Fatal(err)
		}
		if parent == nil {
			parent, signer = template, own
		}
		template.SerialNumber, template.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(time.Hour)
		der, err := x509.CreateCertificate(rand.Reader, template, parent, own.Public(), signer)
		if err != nil {
			g.t.Fatal(err)
		}
		issued, err := x509.ParseCertificate(der)
		if err != nil {
			g.t.Fatal(err)
		}
		return issued, own
	}
	authority, signer := issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil, nil)
	server, own := issue(&x509.Certificate{Subject: pkix.Name{CommonName: "gitea"}, DNSNames: []string{"localhost"}}, authority, signer)
	g.CA = pemOf("CERTIFICATE", authority.Raw)
	pool := x509.NewCertPool()
	pool.AddCert(authority)
	g.client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		Proxy: nil, TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
	}}
	g.t.Cleanup(g.client.CloseIdleConnections)
	return g.write("cert.pem", pemOf("CERTIFICATE", server.Raw)), g.write("key.pem", pemOf("PRIVATE KEY", pkcs8(g.t, own)))
}

// issueHostKey makes the key of the ssh server, and the line by which clients know it.
func (g *Gitea) issueHostKey() string {
	g.t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		g.t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		g.t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(g.SSH)
	g.KnownHosts = fmt.Sprintf("[%s]:%s %s", host, port, ssh.MarshalAuthorizedKey(key))
	return g.write("host.key", pemOf("PRIVATE KEY", pkcs8(g.t, private)))
}

func pkcs8(t testing.TB, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func pemOf(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func (g *Gitea) command(ctx context.Context, config string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, g.program, append([]string{"--config", config}, args...)...)
	cmd.Dir = g.dir
	// Nothing of the user's: no proxy, and no configuration of git.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.dir, "TMPDIR=" + g.dir, "USER=" + os.Getenv("USER")}
	return cmd
}

func (g *Gitea) run(config string, args ...string) {
	g.t.Helper()
	if text, err := g.command(g.t.Context(), config, args...).CombinedOutput(); err != nil {
		g.t.Fatalf("gitea %s: %v\n%s", args[0], err, text)
	}
}

// start runs the server, until the test ends, and waits for it.
func (g *Gitea) start(config, log string) {
	g.t.Helper()
	said, err := os.Create(log)
	if err != nil {
		g.t.Fatal(err)
	}
	defer said.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := g.command(ctx, config, "web")
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = said, said, attributes()
	// It ends the git programs that it runs, if it is asked to end.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	if err := cmd.Start(); err != nil {
		cancel()
		g.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }() // it is stopped by a signal
	g.t.Cleanup(func() {
		cancel()
		<-ended
		if g.t.Failed() {
			text, err := os.ReadFile(log)
			g.t.Logf("gitea: %s %v", text, err)
		}
	})
	deadline := time.Now().Add(startTime)
	for {
		status, _, err := g.call(http.MethodGet, "/api/healthz", "", nil)
		if err == nil && status == http.StatusOK {
			return
		}
		select {
		case <-ended:
			g.t.Fatal("gitea has ended")
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			g.t.Fatalf("gitea does not answer: %d, %v", status, err)
		}
	}
}

// Password returns that of all users.
func (g *Gitea) Password() string { return g.password }

// Call asks the API as a user, and decodes the answer where it is wanted.
func (g *Gitea) Call(user, method, path string, body, answer any) {
	g.t.Helper()
	status, text, err := g.call(method, "/api/v1"+path, user, body)
	if err != nil || status/100 != 2 {
		g.t.Fatalf("%s %s: %d %s %v", method, path, status, text, err)
	}
	if answer == nil {
		return
	}
	if err := json.Unmarshal(text, answer); err != nil {
		g.t.Fatalf("%s %s: %v\n%s", method, path, err, text)
	}
}

func (g *Gitea) call(method, path, user string, body any) (status int, text []byte, err error) {
	given, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	req, err := http.NewRequestWithContext(g.t.Context(), method, g.URL+path, bytes.NewReader(given))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if user != "" {
		req.SetBasicAuth(user, g.password)
	}
	res, err := g.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	text, err = io.ReadAll(res.Body)
	return res.StatusCode, text, err
}

// Token creates an access token of a user, with scopes of Gitea.
func (g *Gitea) Token(user, name string, scopes ...string) string {
	g.t.Helper()
	var token struct {
		SHA1 string `json:"sha1"`
	}
	g.Call(user, http.MethodPost, "/users/"+user+"/tokens", map[string]any{"name": name, "scopes": scopes}, &token)
	return token.SHA1
}

// NewRepo creates a private repository of the owner that the reader may read, and returns
// its path in URLs.
func (g *Gitea) NewRepo(name string) string {
	g.t.Helper()
	g.Call(Owner, http.MethodPost, "/user/repos", map[string]any{"name": name, "private": true, "default_branch": "main"}, nil)
	g.Call(Owner, http.MethodPut, "/repos/"+Owner+"/"+name+"/collaborators/"+Reader, map[string]any{"permission": "read"}, nil)
	return "/" + Owner + "/" + name + ".git"
}

// PushArgs are arguments of git that push the branch main to a repository of the owner.
func (g *Gitea) PushArgs(repo string) []string {
	return []string{
		"-c", "http.sslCAInfo=" + g.write("ca.pem", g.CA), "push", "--quiet", "--force",
		strings.Replace(g.URL, "https://", "https://"+Owner+":"+g.password+"@", 1) + repo, "main",
	}
}
