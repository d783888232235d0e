package git

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/sources"
)

// sshd is OpenSSH's server with one user key, and both its host keys.
type sshd struct {
	address, known string
}

// serveSSHD starts OpenSSH's server as the current user, which takes keys but for one that
// is revoked. It is not a part of Go, so
// where the machine does not have it the test says that it was skipped.
func serveSSHD(t *testing.T, revoked ssh.PublicKey, authorized ...ssh.PublicKey) *sshd {
	t.Helper()
	program, err := exec.LookPath("sshd")
	if err != nil {
		program = "/usr/sbin/sshd"
	}
	if _, err := os.Stat(program); err != nil {
		t.Skip("SKIPPED: there is no sshd on this machine (Debian: openssh-server); the same is tested against a server in Go by TestKnownHosts")
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	s := &sshd{address: free(t)}
	var hosts strings.Builder
	for name, key := range map[string]any{"rsa": rsaKey(t), "ecdsa": ecdsaKey(t)} {
		signer, text := loginKey(t, key, "")
		fmt.Fprintf(&hosts, "HostKey %s\n", write(name, text))
		host, port, _ := net.SplitHostPort(s.address)
		s.known += fmt.Sprintf("[%s]:%s %s", host, port, ssh.MarshalAuthorizedKey(signer.PublicKey()))
	}
	var keys strings.Builder
	for _, key := range authorized {
		keys.Write(ssh.MarshalAuthorizedKey(key))
	}
	config := write("sshd_config", fmt.Sprintf("ListenAddress %s\n%sAuthorizedKeysFile %s\nRevokedKeys %s\nStrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\nLogLevel ERROR\n",
		s.address, hosts.String(), write("authorized_keys", keys.String()), write("revoked_keys", string(ssh.MarshalAuthorizedKey(revoked)))))
	separate(t)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "-D", "-e", "-f", config)
	said, err := os.Create(filepath.Join(dir, "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Logf("sshd: %s", contentOf(said.Name()))
		}
	})
	awaitListener(t, s.address, said.Name())
	return s
}

// separate makes the folder that sshd demands of root, where its service has not made it
// yet, and removes it again.
func separate(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	const folder = "/run/sshd"
	switch err := os.Mkdir(folder, 0o755); { //nolint:gosec // others may look into it, as sshd wants it
	case errors.Is(err, fs.ErrExist):
	case err != nil:
		t.Fatal(err)
	default:
		t.Cleanup(func() {
			if err := os.Remove(folder); err != nil {
				t.Error(err)
			}
		})
	}
}

// free is an address that nobody listens at.
func free(t *testing.T) string {
	t.Helper()
	listener := listen(t)
	defer listener.Close()
	return listener.Addr().String()
}

func awaitListener(t *testing.T, address, said string) {
	t.Helper()
	for range 200 {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Fatalf("sshd does not listen at %s: %s", address, contentOf(said))
}

func contentOf(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// TestOpenSSH reads a repository from OpenSSH's server with keys of each kind.
func TestOpenSSH(t *testing.T) {
	me, err := exec.Command("id", "-un").Output()
	if err != nil {
		t.Fatal(err)
	}
	user := strings.TrimSpace(string(me))
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a"})
	rsaLogin, rsaText := loginKey(t, rsaKey(t), "")
	ecdsaLogin, ecdsaText := loginKey(t, ecdsaKey(t), canary)
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	edLogin, edText := loginKey(t, edwards, "")
	revokedLogin, revokedText := loginKey(t, ecdsaKey(t), "")
	_, strangerText := loginKey(t, ecdsaKey(t), "")
	s := serveSSHD(t, revokedLogin.PublicKey(), rsaLogin.PublicKey(), ecdsaLogin.PublicKey(), edLogin.PublicKey(), revokedLogin.PublicKey())
	other := strings.SplitN(s.known, " ", 2)[0] + " " + string(ssh.MarshalAuthorizedKey(ecdsaLogin.PublicKey()))
	lines := strings.SplitAfter(strings.TrimSuffix(s.known, "\n"), "\n")
	for name, c := range map[string]struct {
		data map[string]string
		want error
	}{
		"key of RSA":            {map[string]string{"identity": rsaText, "known_hosts": s.known}, nil},
		"key of ed25519":        {map[string]string{"identity": edText, "known_hosts": s.known}, nil},
		"key with a passphrase": {map[string]string{"identity": ecdsaText, "password": canary, "known_hosts": s.known}, nil},
		"one host key known":    {map[string]string{"identity": rsaText, "known_hosts": lines[0]}, nil},
		"the other one known":   {map[string]string{"identity": rsaText, "known_hosts": lines[1]}, nil},
		"key that was revoked":  {map[string]string{"identity": revokedText, "known_hosts": s.known}, source.ErrUnauthorized},
		"changed host key":      {map[string]string{"identity": rsaText, "known_hosts": strings.SplitN(lines[0], " ", 2)[0] + " " + string(ssh.MarshalAuthorizedKey(edLogin.PublicKey()))}, source.ErrHostKey},
		"host key of another":   {map[string]string{"identity": rsaText, "known_hosts": other}, source.ErrHostKey},
		"revoked host keys":     {map[string]string{"identity": rsaText, "known_hosts": "@revoked " + lines[0] + "@revoked " + lines[1] + "\n" + s.known}, source.ErrHostKey},
		"key of a stranger":     {map[string]string{"identity": strangerText, "known_hosts": s.known}, source.ErrUnauthorized},
		"unknown host":          {map[string]string{"identity": rsaText, "known_hosts": "git.example.com " + strings.SplitN(lines[0], " ", 2)[1]}, source.ErrHostKey},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := both(t.Context(), withSecret(t, "ssh://"+user+"@"+s.address+r.Dir, c.data))
			if c.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			sources.WantError(t, err, c.want)
			wantNoCanary(t, err)
		})
	}
}
