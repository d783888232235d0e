package git

import (
	"bufio"
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/nodepools/nodepools/source"
)

// dialSSH runs git-upload-pack on the server. The connection is closed when ctx
// ends, which ends the handshake, the login and everything after it.
func (t *target) dialSSH(ctx context.Context) (server, error) {
	config, verified, err := t.sshConfig()
	if err != nil {
		return nil, err
	}
	conn, err := t.dialServer(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	link, channels, requests, err := ssh.NewClientConn(conn, t.address.dialAddress(), config)
	if err != nil {
		stop()
		_ = conn.Close()
		return nil, t.handshake(err, *verified)
	}
	client := ssh.NewClient(link, channels, requests)
	end := func() {
		stop()
		_ = client.Close() // it may have gone already
		_ = client.Wait()  // reports that it was closed
	}
	s, err := t.session(client, end)
	if err != nil {
		end()
		return nil, err
	}
	return s, nil
}

func (t *target) session(client *ssh.Client, end func()) (*stream, error) {
	session, err := client.NewSession()
	if err != nil {
		return nil, err
	}
	in, err := session.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := session.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr := &stderrText{}
	session.Stderr = stderr
	if err := requestVersion2(session); err != nil {
		return nil, err
	}
	if err := session.Start(service + " " + shellQuote(t.address.path)); err != nil {
		return nil, err
	}
	awaitStderr := func() {
		late := time.AfterFunc(gracePeriod, func() { _ = client.Close() })
		defer late.Stop()
		_ = session.Wait() // the exit code says nothing that stderr does not
	}
	return &stream{target: t, in: in, out: bufio.NewReader(t.counted(out)), stderr: stderr, end: end, awaitStderr: awaitStderr}, nil
}

// requestVersion2 sets a variable of the program. As with git, no answer is asked for: a
// server that refuses it speaks an earlier version.
func requestVersion2(session *ssh.Session) error {
	_, err := session.SendRequest("env", false, ssh.Marshal(struct{ Name, Value string }{"GIT_PROTOCOL", version2}))
	return err
}

// trust is how far checking a host key came.
type trust int

const (
	unseen trust = iota
	refused
	accepted
)

// hostKey is what was found of the host key, and why it was refused where the
// credential says so.
type hostKey struct {
	trust trust
	why   *source.Error
}

// defaultUser is whom servers of Git expect where the URL names nobody.
const defaultUser = "git"

// sshConfig takes login and host keys from SSHAuth. There is no way to switch the
// check of host keys off by leaving something out.
func (t *target) sshConfig() (*ssh.ClientConfig, *hostKey, error) {
	switch {
	case t.SSHAuth == nil && t.HTTPAuth == nil:
		return nil, nil, t.fail(source.ErrHostKey, "ssh needs a credential and the server's host key, and there are none")
	case t.SSHAuth == nil:
		return nil, nil, t.fail(source.ErrInvalid, "the credential is not one for ssh")
	}
	given, err := t.SSHAuth.ClientConfig(t.address.dialAddress())
	if err != nil || given.HostKeyCallback == nil {
		return nil, nil, t.fail(source.ErrHostKey, "there are no known host keys")
	}
	config, verified := *given, &hostKey{}
	if config.User == "" {
		config.User = t.address.user
	}
	if config.User == "" {
		config.User = defaultUser
	}
	config.HostKeyCallback = func(host string, remote net.Addr, key ssh.PublicKey) error {
		err := given.HostKeyCallback(host, remote, key)
		if verified.trust = accepted; err != nil {
			verified.trust = refused
			verified.why, _ = errors.AsType[*source.Error](err)
		}
		return err
	}
	return &config, verified, nil
}

// handshake explains why there is no connection. golang.org/x/crypto/ssh has
// no type for a refused login, only a text, of its own.
func (t *target) handshake(err error, verified hostKey) error {
	switch {
	case verified.why != nil && errors.Is(verified.why, source.ErrHostKey):
		return t.fail(source.ErrHostKey, verified.why.Error()).WithHint(verified.why.Hint() + " of " + t.Login.named())
	case errors.Is(err, source.ErrCredential): // there is no key to offer
		why, _ := errors.AsType[*source.Error](err)
		return t.fail(source.ErrCredential, why.Error()).WithHint(why.Hint())
	case verified.trust == refused:
		return t.fail(source.ErrHostKey, "the server's host key is not the one that is known")
	case t.network(err) != nil:
		return err
	case verified.trust == accepted && strings.Contains(err.Error(), "unable to authenticate"):
		return t.fail(source.ErrUnauthorized, "the server does not accept the key or password")
	case strings.Contains(err.Error(), "no common algorithm for host key"):
		return t.fail(source.ErrHostKey, "the server has no host key of a kind that is known")
	case strings.Contains(err.Error(), "no common algorithm"):
		return t.fail(source.ErrUnsupported, "the server offers no algorithm for ssh that is safe")
	}
	return t.fail(source.ErrUnreachable, "the ssh handshake failed")
}

// shellQuote makes one word of a path for the shell of the server, csh
// included, which looks for ! inside quotes.
func shellQuote(path string) string {
	return "'" + strings.NewReplacer(`'`, `'\''`, `!`, `'\!'`).Replace(path) + "'"
}
