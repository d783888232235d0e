package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// container is the image, unpacked, with nothing else to be seen from within.
type container struct{ dir string }

func newContainer(t *testing.T) container {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("NOT TESTED: a chroot needs root")
	}
	c := container{t.TempDir()}
	// Folders of tests are closed to other users.
	for dir := c.dir; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) { //nolint:usetesting // the folder that all of those are in
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	unpack(t, hostImage(t), c.dir)
	return c
}

// run runs the program as Kubernetes would: without root, by number.
func (c container) run(t *testing.T, env []string, args ...string) (stdout, stderr string, exit int) {
	t.Helper()
	var out, err strings.Builder
	cmd := exec.CommandContext(t.Context(), "/usr/local/bin/nodepools", args...)
	cmd.Dir, cmd.Env = "/", append(env, "PATH=/usr/local/bin")
	cmd.Stdout, cmd.Stderr = &out, &err
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: c.dir, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	var failed *exec.ExitError
	if problem := cmd.Run(); problem != nil && !errors.As(problem, &failed) {
		t.Fatal(problem)
	}
	return out.String(), err.String(), cmd.ProcessState.ExitCode()
}

// mount puts what an administrator would mount into the container.
func (c container) mount(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(filepath.Join(c.dir, to), os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// The image works without root, without a shell and with no file but its own.
func TestImageRunsWithoutRoot(t *testing.T) {
	c := newContainer(t)
	out, log, exit := c.run(t, nil, "version")
	if want := "nodepools " + testVersion + "\ncommit    " + testCommit + "\n"; exit != 0 || !strings.HasPrefix(out, want) {
		t.Errorf("version exits with %d:\n%s%s", exit, out, log)
	}
	c.mount(t, filepath.Join(root(t), "examples"), "examples")
	if out, log, exit := c.run(t, nil, "validate", "/examples/quickstart"); exit != 0 || !strings.Contains(log, " are valid") {
		t.Errorf("validate exits with %d:\n%s%s", exit, out, log)
	}
	out, log, exit = c.run(t, nil, "diff", "/examples/adopt", "--inventory", "/examples/adopt/cluster.inventory")
	if exit != 1 || !strings.Contains(out, "NodePool") {
		t.Errorf("diff exits with %d:\n%s%s", exit, out, log)
	}
	// What it may write is /tmp, and nothing else.
	if out, log, exit := c.run(t, nil, "render", "/examples/quickstart", "--output-file", "/tmp/classes.yaml"); exit != 0 {
		t.Errorf("render to /tmp exits with %d:\n%s%s", exit, out, log)
	}
	for _, file := range []string{"/classes.yaml", "/home/nonroot/classes.yaml", "/etc/ssl/certs/classes.crt"} {
		if _, _, exit := c.run(t, nil, "render", "/examples/quickstart", "--output-file", file); exit == 0 {
			t.Errorf("it has written %s", file)
		}
	}
}

// The authorities in the image are those that the module lists, and each is one.
func TestImageTrustsAuthorities(t *testing.T) {
	_, images := theImage(t).images(t)
	_, contents := entries(t, images["linux/amd64"])
	rest := contents["etc/ssl/certs/ca-certificates.crt"]
	pool, count := x509.NewCertPool(), 0
	var last *x509.Certificate
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if !certificate.IsCA && certificate.Version >= 3 {
			t.Errorf("%s is no authority", certificate.Subject)
		}
		pool.AddCert(certificate)
		last = certificate
		count++
	}
	if count < 100 || len(rest) > 0 {
		t.Errorf("%d authorities, and %d bytes that are none", count, len(rest))
	}
	if _, err := last.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}, CurrentTime: last.NotBefore.Add(time.Hour)}); err != nil {
		t.Error(err)
	}
}

// An authority of one's own is mounted beside those of the image, or named in place of
// them, and its servers are trusted; without that they are not.
func TestImageTakesAnAuthority(t *testing.T) {
	c := newContainer(t)
	asked := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		http.Error(w, "no API server", http.StatusTeapot)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("kubeconfig", `apiVersion: v1
kind: Config
current-context: test
contexts: [{name: test, context: {cluster: test, user: test}}]
clusters: [{name: test, cluster: {server: "`+server.URL+`"}}]
users: [{name: test, user: {}}]
`)
	ask := func(env ...string) string {
		t.Helper()
		_, log, exit := c.run(t, env, "inventory", "--kubeconfig", "/kubeconfig")
		if exit == 0 {
			t.Fatalf("an inventory of what is no cluster:\n%s", log)
		}
		return log
	}
	if log := ask(); !strings.Contains(log, "certificate") || asked != 0 {
		t.Errorf("a server whose authority is unknown was asked %d times:\n%s", asked, log)
	}
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	write("authority.pem", authority)
	if log := ask("SSL_CERT_FILE=/authority.pem"); asked == 0 {
		t.Errorf("SSL_CERT_FILE has no effect:\n%s", log)
	}
	asked = 0
	write("etc/ssl/certs/company.crt", authority)
	if log := ask(); asked == 0 {
		t.Errorf("a file in /etc/ssl/certs has no effect:\n%s", log)
	}
}
