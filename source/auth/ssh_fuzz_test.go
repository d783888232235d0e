package auth

import (
	"errors"
	"net"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/nodepools/nodepools/source"
)

// FuzzKnownHosts: no known_hosts makes the reading panic, and none without the key of
// the server, or an authority, has it accepted.
func FuzzKnownHosts(f *testing.F) {
	stranger := mustPublic(f, ed25519Key(f))
	for _, seed := range []string{
		"", "* ssh-ed25519 AAAA", "[a]:22,b ssh-rsa AAAAB3NzaC1yc2E=\n", "|1|F1E1KeoE/eEWhi10WpGv4OdiO6Y=|3988QV0VE8wmZL7suNrYQLITLCg= ssh-ed25519 AAAA",
		"@revoked * ssh-ed25519 AAAA\n@cert-authority *.example.com ssh-ed25519 AAAA", "# x\r\n\r\n!a,* ssh-ed25519 AAAA", "@other a b c", "a\x00b ssh-ed25519 AAAA",
		"git.example.com " + string(ssh.MarshalAuthorizedKey(mustPublic(f, ed25519Key(f)))),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		known, err := parseKnownHosts(text)
		if err != nil {
			if !errors.Is(err, source.ErrCredential) {
				t.Errorf("%v", err)
			}
			return
		}
		config, err := (&SSH{known: known}).ClientConfig("git.example.com:22")
		if err != nil {
			t.Fatal(err)
		}
		if config.HostKeyCallback("git.example.com:22", &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 22}, stranger) == nil {
			t.Errorf("a key that nobody knows is accepted by %q", text)
		}
	})
}
