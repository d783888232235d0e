package git

import (
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/secrets"
)

// sshThat is an SSH server which lets everybody in and serves by a function.
func sshThat(configure func(*ssh.ServerConfig, string), serve func(ssh.NewChannel, string)) func(*testing.T, string) *Repository {
	return func(t *testing.T, secret string) *Repository {
		s := serveSSH(t) // for its keys
		config := &ssh.ServerConfig{NoClientAuth: true}
		config.AddHostKey(s.host)
		if configure != nil {
			configure(config, secret)
		}
		address := accept(t, func(conn net.Conn) {
			_, channels, requests, err := ssh.NewServerConn(conn, config)
			if err != nil {
				return
			}
			go ssh.DiscardRequests(requests)
			for offered := range channels {
				serve(offered, secret)
			}
		})
		return &Repository{URL: "ssh://git@" + address + "/repo", SSHAuth: s.auth(), Timeout: 5 * time.Second}
	}
}

// says accepts a session, answers the request for a program, and leaves.
func says(accept bool, parting func(ssh.Channel, string)) func(ssh.NewChannel, string) {
	return func(offered ssh.NewChannel, secret string) {
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		go func() {
			defer channel.Close()
			for request := range requests {
				if request.Type == "exec" {
					_ = request.Reply(accept, []byte(secret))
					parting(channel, secret)
					return
				}
			}
		}()
	}
}

func silent(ssh.Channel, string) {}

var placesInSSH = []place{
	{"greeting", "before the protocol begins", func(t *testing.T, secret string) *Repository {
		return &Repository{URL: "ssh://git@" + mute(t, secret+"\r\nSSH-1.0-"+secret+"\r\n") + "/repo", SSHAuth: serveSSH(t).auth(), Timeout: 500 * time.Millisecond}
	}, source.ErrTimeout},
	{"banner", "before the login", sshThat(func(c *ssh.ServerConfig, secret string) {
		c.NoClientAuth = false
		c.PasswordCallback = func(ssh.ConnMetadata, []byte) (*ssh.Permissions, error) { return nil, io.EOF }
		c.BannerCallback = func(ssh.ConnMetadata) string { return secrets.Hostile(secret) }
	}, nil), source.ErrUnauthorized},
	{"no session", "the refusal has a message", sshThat(nil, func(offered ssh.NewChannel, secret string) {
		_ = offered.Reject(ssh.Prohibited, secrets.Hostile(secret))
	}), source.ErrServer},
	{"no program", "the refusal has content", sshThat(nil, says(false, silent)), source.ErrServer},
	{"standard error", "what the program prints", sshThat(nil, says(true, func(c ssh.Channel, secret string) {
		_, _ = io.WriteString(c.Stderr(), "fatal: "+secrets.Hostile(secret)+"\n")
		_, _ = c.SendRequest("exit-status", false, []byte{0, 0, 0, 128})
	})), source.ErrServer},
	{"standard output", "what the shell prints before the program", sshThat(nil, says(true, func(c ssh.Channel, secret string) {
		_, _ = io.WriteString(c, "Welcome, "+secret+"\n")
	})), source.ErrServer},
	{"signal", "how the program ended", sshThat(nil, says(true, func(c ssh.Channel, secret string) {
		_, _ = c.SendRequest("exit-signal", false, ssh.Marshal(struct {
			Signal     string
			CoreDumped bool
			Error      string
			Language   string
		}{secret, false, secret, secret}))
	})), source.ErrUnreachable},
}
