package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nodepools/nodepools/apply/logging"
	"github.com/nodepools/nodepools/testdata/secrets"
)

// placement is where a credential for the cluster can be configured. A new one is a
// line in the list below.
type placement struct {
	reason string
	// cluster and user are what the kubeconfig file says of them, env what the
	// environment does; %s stands for the address of the server.
	cluster, user string
	env           []string
}

// places of a secret, at a server that says back everything that it is sent.
func places(secret, folder string) map[string]placement {
	const server = `server: "https://%s", insecure-skip-tls-verify: true`
	closed := "127.0.0.1:1"
	quoted := url.QueryEscape(secret)
	plugins := 0
	plugin := func(output string, exit int) string {
		plugins++
		path := filepath.Join(folder, fmt.Sprint("plugin-", plugins))
		script := fmt.Sprintf("#!/bin/sh\ncat <<'END'\n%s\nEND\nexit %d\n", output, exit)
		if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
			panic(err)
		}
		return `exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: "` + path + `", args: ["--password", "` + secret + `"], env: [{name: SECRET, value: "` + secret + `"}]}`
	}
	inBase64 := base64.StdEncoding.EncodeToString([]byte(secret))
	return map[string]placement{
		"token":                    {reason: "refused", cluster: server, user: "token: " + secret},
		"token, nobody there":      {reason: "no connection", cluster: `server: "https://` + closed + `"`, user: "token: " + secret},
		"token, wrong authority":   {reason: "the certificate is not trusted", cluster: `server: "https://%s"`, user: "token: " + secret},
		"token, another name":      {reason: "the certificate is for others, whom the error names", cluster: `server: "https://%s", tls-server-name: other.example.com, certificate-authority-data: AUTHORITY`, user: "token: " + secret},
		"token over http":          {reason: "the server speaks TLS", cluster: `server: "http://%s"`, user: "token: " + secret},
		"token with a line break":  {reason: "no header takes it", cluster: server, user: `token: "` + secret + `\n"`},
		"token that is an alias":   {reason: "it begins with *", cluster: server, user: "token: *" + strings.NewReplacer("+", "", "=", "").Replace(secret)},
		"token that is no text":    {reason: "the decoder says so", cluster: server, user: "token: {a: " + secret + "}"},
		"token without a colon":    {reason: "the file is no YAML", cluster: server, user: "token " + secret + ": :"},
		"password":                 {reason: "refused", cluster: server, user: "username: me, password: " + secret},
		"key that is no base64":    {reason: "the decoder says so", cluster: server, user: "client-certificate-data: eA==, client-key-data: " + secret + "!"},
		"key that is no key":       {reason: "the parser says so", cluster: server, user: "client-certificate-data: " + inBase64 + ", client-key-data: " + inBase64},
		"authority that is none":   {reason: "somebody gave the key instead", cluster: `server: "https://%s", certificate-authority-data: ` + inBase64, user: "token: x"},
		"address":                  {reason: "with a password, refused", cluster: `server: "https://me:` + quoted + `@%s", insecure-skip-tls-verify: true`, user: "{}"},
		"user in the address":      {reason: "a token", cluster: `server: "https://` + quoted + `@%s", insecure-skip-tls-verify: true`, user: "{}"},
		"address, nobody there":    {reason: "with a password", cluster: `server: "https://me:` + quoted + `@` + closed + `"`, user: "{}"},
		"address, no port":         {reason: "the parser repeats it", cluster: `server: "https://me:` + quoted + `@localhost:port"`, user: "{}"},
		"address, no escape":       {reason: "the parser repeats it", cluster: `server: "https://me:` + quoted + `@localhost/%zz"`, user: "{}"},
		"address of a host alone":  {reason: "it would be read as part of the host", cluster: `server: "me:` + quoted + `@` + closed + `"`, user: "{}"},
		"address without a scheme": {reason: "the library repeats it", cluster: `server: "me:` + quoted + `@localhost/a"`, user: "{}"},
		"proxy, nobody there":      {reason: "with a password", cluster: server + `, proxy-url: "http://me:` + quoted + `@` + closed + `"`, user: "token: x"},
		"proxy, no port":           {reason: "the parser repeats it", cluster: server + `, proxy-url: "http://me:` + quoted + `@localhost:port"`, user: "token: x"},
		"proxy, another kind":      {reason: "the library repeats it", cluster: server + `, proxy-url: "ftp://me:` + quoted + `@localhost"`, user: "token: x"},
		"proxy of the environment": {reason: "it is no URL", cluster: `server: "https://example.invalid"`, user: "token: x", env: []string{"HTTPS_PROXY=http://me:" + quoted + "%zz@localhost"}},
		"proxy of the environment, nobody there": {reason: "with a password", cluster: `server: "https://example.invalid"`, user: "token: x",
			env: []string{"HTTPS_PROXY=http://me:" + quoted + "@" + closed}},
		"plugin":               {reason: "its token is refused", cluster: server, user: plugin(`{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "`+secret+`"}}`, 0)},
		"plugin without kind":  {reason: "the library repeats what it printed", cluster: server, user: plugin(`{"token": "`+secret+`"}`, 0)},
		"plugin of no version": {reason: "the library repeats what it printed", cluster: server, user: plugin(`{"kind": "ExecCredential", "status": {"token": "`+secret+`"}}`, 0)},
		"plugin with a word":   {reason: "the token alone", cluster: server, user: plugin(secret, 0)},
		"plugin that fails":    {reason: "after it printed the token", cluster: server, user: plugin(secret, 1)},
	}
}

// I10: whatever stands in the way of a command, what it prints holds no
// credential. The plugin's own standard error is the plugin's.
func TestSecrets(t *testing.T) {
	refusing := newRefusing(t)
	pools := filepath.Join(t.TempDir(), "pools")
	write(t, filepath.Join(pools, "gpu.yaml"), "apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nmetadata: {name: gpu}\nspec: {}\n")
	for name := range places("", t.TempDir()) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secret, folder := secrets.Of("kubeconfig "+name), t.TempDir()
			p := places(secret, folder)[name]
			file := filepath.Join(folder, "config")
			write(t, file, refusing.kubeconfig(p))
			for _, command := range [][]string{
				{"diff", pools},
				{"render", pools},
				{"run", "--metrics-bind-address=0", "--health-probe-bind-address=0", "--log-level=debug"},
			} {
				out, err := program(t, p.env, append(command, "--kubeconfig", file)...)
				if err == nil {
					t.Errorf("%s is done, though %s: this proves nothing\n%s", command[0], p.reason, out)
				}
				if found := secrets.Find(out, secret); found != "" {
					t.Errorf("%s (%s): the secret is leaked, %s, in:\n%s", command[0], p.reason, found, out)
				}
				wantPlain(t, out)
			}
		})
	}
}

// wantPlain fails when what a server said breaks out of its line.
func wantPlain(t *testing.T, out string) {
	t.Helper()
	for line := range strings.Lines(out) {
		if forged := secrets.Forgery(strings.TrimSuffix(line, "\n")); forged != "" {
			t.Errorf("a line that is not plain: %s", forged)
		}
		if strings.HasPrefix(line, "level=error msg=forged") {
			t.Errorf("a server has written a line of its own:\n%s", out)
		}
	}
}

// program runs nodepools as a process of its own and returns all that it prints.
func program(t *testing.T, env []string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "nodepools", args...)
	cmd.Env = append(os.Environ(), append([]string{"KUBECONFIG="}, env...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// refusingServer is an API server that refuses everything, in words that hold
// all that it was sent. No real one does; a proxy before it may.
type refusingServer struct {
	*httptest.Server
	// admits lets the first question through, for which run asks.
	admits  bool
	refused atomic.Int64
}

func newRefusing(t *testing.T) *refusingServer {
	s := &refusingServer{}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *refusingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sent := r.Header.Get("Authorization")
	if _, password, basic := r.BasicAuth(); basic {
		sent += " " + password
	}
	w.Header().Set("Content-Type", "application/json")
	if s.admits && strings.HasSuffix(r.URL.Path, "/nodes.lailin.xyz/v1") {
		fmt.Fprint(w, `{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "nodes.lailin.xyz/v1", "resources": [
			{"name": "nodepools", "kind": "NodePool", "verbs": ["list"]}, {"name": "nodepoolsources", "kind": "NodePoolSource", "verbs": ["list"]}]}`)
		return
	}
	n := s.refused.Add(1)
	w.Header().Set("WWW-Authenticate", sent)
	w.Header().Set("Warning", `299 - "`+"\u202e"+`you sent something"`)
	code := http.StatusUnauthorized
	if s.admits { // then there will be many requests
		code = []int{401, 403, 0, 500, 503, 418}[n%6]
		if strings.Contains(r.URL.Path, "/leases/") {
			code = 403 // run works without a lease that it may not have, and ends at other failures
		}
		if code == 403 || code == 500 {
			w.Header().Set("Content-Type", "text/html")
		}
	}
	if code == 0 { // no HTTP at all: the error has the URL
		if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
			_, _ = io.WriteString(conn, "nonsense\r\n\r\n")
			conn.Close()
		}
		return
	}
	w.WriteHeader(code)
	message := fmt.Sprintf("you sent %s \\u001b[31m\\u202e\\u009b2J\\nlevel=error msg=forged", strings.ReplaceAll(sent, `"`, ""))
	fmt.Fprintf(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "%s", "reason": "Unauthorized", "code": %d}`, message, code)
}

func (s *refusingServer) kubeconfig(p placement) string {
	address := strings.TrimPrefix(s.URL, "https://")
	cluster := p.cluster
	cluster = strings.ReplaceAll(cluster, "%s", address)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	cluster = strings.ReplaceAll(cluster, "AUTHORITY", base64.StdEncoding.EncodeToString(authority))
	user := p.user
	if user != "{}" {
		user = "{" + user + "}"
	}
	return "apiVersion: v1\nkind: Config\ncurrent-context: here\ncontexts: [{name: here, context: {cluster: here, user: me}}]\n" +
		"clusters: [{name: here, cluster: {" + cluster + "}}]\nusers: [{name: me, user: " + user + "}]\n"
}

// A controller that is at work logs the failures of its requests, at every level
// and in both formats, without a credential and in plain lines.
func TestSecretsInLog(t *testing.T) {
	for _, format := range logging.Formats() {
		for name, p := range map[string]placement{
			"token":    {cluster: `server: "https://%s"`, user: "token: SECRET"},
			"password": {cluster: `server: "https://%s"`, user: "username: me, password: SECRET"},
			"address":  {cluster: `server: "https://SECRET@%s"`, user: "{}"},
		} {
			t.Run(format+" "+name, func(t *testing.T) {
				t.Parallel()
				secret := secrets.Of("log " + format + name)
				refusing := newRefusing(t)
				refusing.admits = true
				file := filepath.Join(t.TempDir(), "config")
				p.cluster = strings.ReplaceAll(p.cluster, "SECRET", url.QueryEscape(secret)) + ", insecure-skip-tls-verify: true"
				p.user = strings.ReplaceAll(p.user, "SECRET", secret)
				write(t, file, refusing.kubeconfig(p))
				out := &transcript{}
				cmd := exec.Command("nodepools", "run", "--kubeconfig", file, "--metrics-bind-address=0", "--health-probe-bind-address=0", "--log-level=debug", "--log-format="+format)
				cmd.Stdout, cmd.Stderr = out, out
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() { ended <- cmd.Wait() }()
				deadline := time.After(time.Minute)
			waiting:
				for refusing.refused.Load() < 6 || !strings.Contains(out.String(), "malformed") && !strings.Contains(out.String(), "you sent B") {
					select {
					case err := <-ended:
						ended <- err
						break waiting
					case <-deadline:
						t.Errorf("nothing was logged of what the server says after %d refusals:\n%s", refusing.refused.Load(), out.String())
						break waiting
					case <-time.After(20 * time.Millisecond):
					}
				}
				_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
				if err := <-ended; err != nil {
					t.Errorf("the program ended with %v:\n%s", err, out.String())
				}
				if found := secrets.Find(out.String(), secret); found != "" {
					t.Errorf("the secret is logged, %s, in:\n%s", found, out.String())
				}
				wantPlain(t, out.String())
			})
		}
	}
}

// transcript collects what a process prints.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *transcript) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *transcript) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// A server that speaks before it is asked makes net/http log its words.
func TestStandardLog(t *testing.T) {
	secret := secrets.Of("standard log")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, secret+"\r\n")
			_, _ = io.Copy(io.Discard, conn)
			conn.Close()
		}
	}()
	out := &transcript{}
	before := log.Writer()
	log.SetOutput(standardLog{out})
	defer log.SetOutput(before)
	log.Print("something \x1b[31melse")
	log.Printf("Unsolicited response received on idle HTTP channel starting with %q; err=%v", secret, io.EOF)
	for range 50 { // whether it is heard before the question is a matter of luck
		if response, err := http.Get("http://" + listener.Addr().String()); err == nil {
			response.Body.Close()
		}
	}
	if found := secrets.Find(out.String(), secret); found != "" {
		t.Errorf("the server's words are logged, %s: %s", found, out.String())
	}
	if !strings.Contains(out.String(), `something \x1b[31melse`) {
		t.Errorf("what else is logged is not there, or not plain: %q", out.String())
	}
}
