package auth

import (
	"bytes"
	"errors"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"

	"github.com/nodepools/nodepools/source"
)

// SSH is a login by ssh, and the host keys of its server.
type SSH struct {
	signers func() ([]ssh.Signer, error)
	user    string
	known   *knownhosts.HostKeyDB
}

// NewSSH returns a login with the keys that signers returns, which is called when a
// server asks for one, and the host keys of a text in the form of known_hosts. Keys of
// kinds that are not safe are left out. An empty user is that of the URL.
func NewSSH(user string, knownHosts []byte, signers func() ([]ssh.Signer, error)) (*SSH, error) {
	known, err := parseKnownHosts(knownHosts)
	if err != nil {
		return nil, err
	}
	return &SSH{user: user, known: known, signers: func() ([]ssh.Signer, error) {
		all, err := signers()
		var safe []ssh.Signer
		for _, signer := range all {
			if restricted, err := restrict(signer); err == nil {
				safe = append(safe, restricted)
			}
		}
		return safe, err
	}}, nil
}

// String keeps a key out of whatever prints one.
func (s *SSH) String() string { return "ssh key" }

// GoString is String, for %#v.
func (s *SSH) GoString() string { return s.String() }

func (c *Credential) readSSH(data map[string][]byte) error {
	if data[Identity] == nil {
		if data[KnownHosts] != nil && (c.HTTP() || c.App != nil) {
			return nil // a Secret may serve several sources
		} else if data[KnownHosts] != nil {
			return missing(Identity, "the private key of ssh")
		}
		return nil
	}
	if data[KnownHosts] == nil {
		return missing(KnownHosts, "the host keys of the server, from a place that you trust")
	}
	signer, err := parseIdentity(data[Identity], line(data[Password]))
	if err != nil {
		return err
	}
	c.SSH, err = NewSSH(line(data[Username]), data[KnownHosts], func() ([]ssh.Signer, error) { return []ssh.Signer{signer}, nil })
	return err
}

// parseIdentity reads a private key.
func parseIdentity(pem []byte, passphrase string) (ssh.Signer, error) {
	signer, err := ssh.ParsePrivateKey(pem)
	if wants := (*ssh.PassphraseMissingError)(nil); errors.As(err, &wants) {
		if passphrase == "" {
			return nil, invalid(Identity + " is encrypted").WithHint("add its passphrase as the key " + Password)
		}
		if signer, err = ssh.ParsePrivateKeyWithPassphrase(pem, []byte(passphrase)); err != nil {
			return nil, invalid(Password + " is not the passphrase of " + Identity)
		}
	}
	if err != nil {
		return nil, invalid(Identity + " is no private key in the form of OpenSSH or PEM")
	}
	return restrict(signer)
}

// restrict refuses a key of a kind that is not safe. A key of RSA signs with SHA-2
// alone: SHA-1 is what ssh-rsa stands for.
func restrict(signer ssh.Signer) (ssh.Signer, error) {
	switch signer.PublicKey().Type() {
	case ssh.KeyAlgoRSA:
		algorithms, is := signer.(ssh.AlgorithmSigner)
		if !is {
			return nil, invalid(Identity + " cannot sign with SHA-2")
		}
		restricted, err := ssh.NewSignerWithAlgorithms(algorithms, []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256})
		if err != nil {
			return nil, invalid(Identity + " cannot sign with SHA-2")
		}
		return restricted, nil
	case ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256:
		return signer, nil
	}
	return nil, invalid(Identity + " is of a kind that is not safe").WithHint("make a key of ed25519")
}

// ClientConfig says how to log in at an address, host and port, and which host keys
// are the server's.
func (s *SSH) ClientConfig(address string) (*ssh.ClientConfig, error) {
	return &ssh.ClientConfig{
		User: s.user,
		Auth: []ssh.AuthMethod{ssh.PublicKeysCallback(s.signers)},
		// Only what is known is asked for: a server with several keys would else
		// present one that is not.
		HostKeyAlgorithms: slices.DeleteFunc(s.known.HostKeyAlgorithms(address), func(algorithm string) bool {
			return !slices.Contains(ssh.SupportedAlgorithms().HostKeys, algorithm)
		}),
		HostKeyCallback: func(host string, remote net.Addr, key ssh.PublicKey) error {
			return hostKeyError(s.known.HostKeyCallback()(host, remote, key), key)
		},
	}, nil
}

// hostKeyError explains why a host key is not accepted, with the fingerprint that the
// server presented.
func hostKeyError(err error, key ssh.PublicKey) error {
	if err == nil {
		return nil
	}
	presented := ssh.FingerprintSHA256(key)
	var revoked *xknownhosts.RevokedError
	text := "the server's host key is not known"
	switch {
	case errors.As(err, &revoked):
		text = "the server's host key is revoked"
	case knownhosts.IsHostKeyChanged(err):
		text = "the server has another host key than the one that is known: somebody may be in between"
	}
	return source.NewError(source.ErrHostKey, "", text+" ("+key.Type()+" "+presented+")").
		WithHint("compare the fingerprint with what the server's administrator publishes, and then correct " + KnownHosts)
}

// parseKnownHosts reads known_hosts. The library reads files; what is in this one is
// public.
func parseKnownHosts(text []byte) (known *knownhosts.HostKeyDB, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, invalid(KnownHosts + " is empty")
	}
	file, err := os.CreateTemp("", "known_hosts-")
	if err != nil {
		return nil, source.NewError(source.ErrTemporary, "", KnownHosts+" cannot be read: no temporary file")
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.WriteString(strings.ReplaceAll(string(text), "\r\n", "\n"))
	if closed := file.Close(); err != nil || closed != nil {
		return nil, source.NewError(source.ErrTemporary, "", KnownHosts+" cannot be read: no temporary file")
	}
	if known, err = knownhosts.NewDB(file.Name()); err != nil {
		return nil, invalid(KnownHosts + " has a line that cannot be read")
	}
	return known, nil
}
