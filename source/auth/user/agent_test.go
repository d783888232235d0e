package user

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/nodepools/nodepools/source"
)

// serveAgent serves an agent with keys on a socket, by the protocol of ssh-agent.
func serveAgent(t *testing.T, keys ...crypto.PrivateKey) string {
	t.Helper()
	keyring := agent.NewKeyring()
	for _, key := range keys {
		if err := keyring.Add(agent.AddedKey{PrivateKey: key}); err != nil {
			t.Fatal(err)
		}
	}
	return serveSocket(t, func(conn net.Conn) { _ = agent.ServeAgent(keyring, conn) })
}

// serveSocket serves each connection to a socket, until the test ends.
func serveSocket(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent") //nolint:usetesting // the path of a socket is short, and that of TempDir may be long
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			stop := context.AfterFunc(t.Context(), func() { _ = conn.Close() })
			serving.Go(func() {
				defer stop()
				serve(conn)
				_ = conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
		_ = os.RemoveAll(dir)
	})
	return socket
}

func newEd25519(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newRSA(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func signerOf(t *testing.T, key crypto.Signer) ssh.Signer {
	t.Helper()
	signer, err := ssh.NewSignerFromSigner(key)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// serveSSH accepts one key, at a server with a host key, and returns its address.
func serveSSH(t *testing.T, host ssh.Signer, accepted ssh.PublicKey) string {
	t.Helper()
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if string(key.Marshal()) != string(accepted.Marshal()) {
			return nil, errors.New("another key")
		}
		return nil, nil
	}}
	config.AddHostKey(host)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if link, _, _, err := ssh.NewServerConn(conn, config); err == nil {
				_ = link.Close()
			}
			_ = conn.Close()
		}
	}()
	return listener.Addr().String()
}

func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestAgent logs in at a server of ssh with the keys of an agent.
func TestAgent(t *testing.T) {
	host, mine, second := signerOf(t, newEd25519(t)), newEd25519(t), newRSA(t)
	other := newEd25519(t)
	for name, c := range map[string]struct {
		reason   string
		agent    []crypto.PrivateKey
		accepted crypto.Signer
		known    ssh.Signer
		want     bool
	}{
		"the key":      {"the server accepts it", []crypto.PrivateKey{mine}, mine, host, true},
		"one of two":   {"each is offered", []crypto.PrivateKey{other, mine}, mine, host, true},
		"RSA":          {"it signs with SHA-2", []crypto.PrivateKey{second}, second, host, true},
		"another key":  {"the server refuses it", []crypto.PrivateKey{other}, mine, host, false},
		"unknown host": {"nothing is signed for it", []crypto.PrivateKey{mine}, mine, signerOf(t, newEd25519(t)), false},
	} {
		t.Run(name, func(t *testing.T) {
			address := serveSSH(t, host, signerOf(t, c.accepted).PublicKey())
			known := write(t, knownhosts.Line([]string{address}, c.known.PublicKey())+"\n")
			login, err := Agent(serveAgent(t, c.agent...), time.Minute, []string{filepath.Join(t.TempDir(), "none"), known})
			if err != nil {
				t.Fatal(err)
			}
			config, err := login.ClientConfig(address)
			if err != nil {
				t.Fatal(err)
			}
			client, err := ssh.Dial("tcp", address, config)
			if err == nil {
				_ = client.Close()
			}
			if (err == nil) != c.want {
				t.Errorf("%s: got %v", c.reason, err)
			}
		})
	}
}

func TestAgentInTrouble(t *testing.T) {
	host := signerOf(t, newEd25519(t))
	address := serveSSH(t, host, host.PublicKey())
	known := []string{write(t, knownhosts.Line([]string{address}, host.PublicKey())+"\n")}
	silent := serveSocket(t, func(net.Conn) { <-t.Context().Done() })
	for name, c := range map[string]struct {
		reason, socket string
		known          []string
		text           string
	}{
		"no agent":      {"the variable is not set", "", known, "there is no ssh agent: SSH_AUTH_SOCK is not set"},
		"agent is gone": {"its socket is left over", filepath.Join(t.TempDir(), "gone"), known, "the ssh agent does not answer"},
		"no key":        {"nothing to log in with", serveAgent(t), known, "the ssh agent has no key"},
		"hangs":         {"it never answers", silent, known, "the ssh agent does not list its keys"},
		"no host keys":  {"no server could be distinguished from another", serveAgent(t, newEd25519(t)), nil, "no host key is known to ssh on this machine"},
		"garbage":       {"a file that is none", serveAgent(t, newEd25519(t)), []string{write(t, "x y z\n")}, "known_hosts has a line that cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			login, err := Agent(c.socket, 100*time.Millisecond, c.known)
			if err == nil {
				config, failed := login.ClientConfig(address)
				if failed != nil {
					t.Fatal(failed)
				}
				_, err = ssh.Dial("tcp", address, config)
			}
			if !errors.Is(err, source.ErrCredential) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s: got %v, want %q", c.reason, err, c.text)
			}
		})
	}
}
