package user

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/auth"
)

// AgentVariable names the socket of the agent in the environment.
const AgentVariable = "SSH_AUTH_SOCK"

// maxKnownHosts bounds a file of host keys. One of 10,000 hosts has some 2 MiB.
const maxKnownHosts = 8 << 20

// KnownHosts are the files in which ssh keeps host keys, for a home folder.
func KnownHosts(home string) []string {
	return []string{
		filepath.Join(home, ".ssh", "known_hosts"), filepath.Join(home, ".ssh", "known_hosts2"),
		"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2",
	}
}

// Agent returns a login with the keys of the agent that listens on a socket, for servers
// whose host keys are in the files. Files that do not exist have none. The agent is asked
// when a server wants a key, and has to answer before the timeout, which is that of a
// fetch: it may wait for the user to touch a key.
//
// Errors are a source.ErrCredential.
func Agent(socket string, timeout time.Duration, knownHosts []string) (*auth.SSH, error) {
	if socket == "" {
		return nil, refuse("there is no ssh agent: "+AgentVariable+" is not set", "start one and add a key: eval \"$(ssh-agent)\" && ssh-add")
	}
	known, err := readAll(knownHosts)
	if err != nil {
		return nil, err
	}
	return auth.NewSSH("", known, func() ([]ssh.Signer, error) { return signers(socket, timeout) })
}

// signers returns the keys of the agent. The connection ends with the timeout, as the
// keys sign by it for as long as the login takes.
func signers(socket string, timeout time.Duration) ([]ssh.Signer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		cancel()
		return nil, refuse("the ssh agent does not answer", "check "+AgentVariable+", and that ssh-add -l lists a key")
	}
	context.AfterFunc(ctx, func() {
		cancel()
		_ = conn.Close()
	})
	keys, err := agent.NewClient(conn).Signers()
	switch {
	case err != nil:
		return nil, refuse("the ssh agent does not list its keys", "check that ssh-add -l lists a key")
	case len(keys) == 0:
		return nil, refuse("the ssh agent has no key", "add one with ssh-add")
	}
	return keys, nil
}

// readAll reads the files that exist.
func readAll(files []string) ([]byte, error) {
	var all bytes.Buffer
	for _, name := range files {
		file, err := os.Open(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, refuse("host keys cannot be read: "+err.Error(), "")
		}
		n, err := io.Copy(&all, io.LimitReader(file, maxKnownHosts+1))
		if closed := file.Close(); err != nil || closed != nil {
			return nil, refuse("host keys cannot be read from "+name, "")
		}
		if n > maxKnownHosts {
			return nil, refuse("there are too many host keys in "+name, "")
		}
		all.WriteByte('\n')
	}
	if len(bytes.TrimSpace(all.Bytes())) == 0 {
		return nil, refuse("no host key is known to ssh on this machine", "connect once with ssh, and compare the fingerprint with what the server's administrator publishes")
	}
	return all.Bytes(), nil
}

func refuse(text, hint string) *source.Error {
	err := source.NewError(source.ErrCredential, "", text)
	if hint == "" {
		return err
	}
	return err.WithHint(hint)
}
