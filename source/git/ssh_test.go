package git

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	gitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"golang.org/x/crypto/ssh"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/sources"
)

func TestSSHTrust(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a"})
	s := serveSSH(t)
	t.Setenv("SSH_KNOWN_HOSTS", filepath.Join(t.TempDir(), "none"))
	with := func(login ssh.Signer, callback ssh.HostKeyCallback) SSHAuth {
		return goGit{&gitssh.PublicKeys{Signer: login, HostKeyCallbackHelper: gitssh.HostKeyCallbackHelper{HostKeyCallback: callback}}}
	}
	known, other := ssh.FixedHostKey(s.host.PublicKey()), ssh.FixedHostKey(newSigner(t).PublicKey())
	cases := map[string]struct {
		reason string
		auth   SSHAuth
		http   HTTPAuth
		want   error
	}{
		"known":          {"the key that is expected", with(s.login, known), nil, nil},
		"no credential":  {"fails closed", nil, nil, source.ErrHostKey},
		"no known hosts": {"fails closed, and does not accept any key", with(s.login, nil), nil, source.ErrHostKey},
		"other host key": {"somebody else answers", with(s.login, other), nil, source.ErrHostKey},
		"other login":    {"the server does not know us", with(newSigner(t), known), nil, source.ErrUnauthorized},
		"for https":      {"of another kind", nil, &githttp.BasicAuth{Password: canary}, source.ErrInvalid},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := both(t.Context(), &Repository{URL: s.repoURL(r), SSHAuth: c.auth, HTTPAuth: c.http})
			if c.want == nil {
				if err != nil {
					t.Errorf("%s: %v", c.reason, err)
				}
				return
			}
			sources.WantError(t, err, c.want)
			wantNoCanary(t, err)
		})
	}
}

func TestSSHRepository(t *testing.T) {
	s := serveSSH(t)
	cases := map[string]struct {
		reason string
		path   string
		want   error
	}{
		"missing": {"the server says so on standard error", "/nope/" + canary, source.ErrRepositoryMissing},
		"empty":   {"a repository without a commit", sources.NewRepo(t).Dir, source.ErrEmptyRepository},
		"SHA-256": {"said as such", sha256Repo(t).Dir, source.ErrUnsupported},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := (&Repository{URL: "ssh://git@" + s.address + c.path, SSHAuth: s.auth()}).Head(t.Context())
			sources.WantError(t, err, c.want)
			if strings.Contains(err.Error(), "fatal") {
				t.Errorf("the server's words are in %v", err)
			}
		})
	}
}

// Servers refuse on standard error, each in its own words.
func TestSSHRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		out, words string
		want       error
	}{
		"GitHub":                {"", "ERROR: Repository not found.\n", source.ErrRepositoryMissing},
		"Gitea, no repository":  {"\n", "error:\nerror: Cannot find repository: o/r\nerror:\n", source.ErrRepositoryMissing},
		"Gitea, no right":       {"\n", "error:\nerror: User: 3:u with Key: 3:k is not authorized to read o/r.\nerror:\n", source.ErrUnauthorized},
		"an empty line alone":   {"\n", "", source.ErrUnreachable},
		"two empty lines":       {"\n\n", "", source.ErrServer},
		"a welcome of a shell":  {"\nWelcome\n", "", source.ErrServer},
		"words that say little": {"", "fatal: no\n", source.ErrServer},
	} {
		t.Run(name, func(t *testing.T) {
			r := sshThat(nil, says(true, func(channel ssh.Channel, _ string) {
				_, _ = io.WriteString(channel, c.out)
				_, _ = io.WriteString(channel.Stderr(), c.words)
				_, _ = channel.SendRequest("exit-status", false, []byte{0, 0, 0, 1})
			}))(t, canary)
			_, err := both(t.Context(), r)
			sources.WantError(t, err, c.want)
		})
	}
}

// The server may use a shell to take the path apart.
func TestShellQuote(t *testing.T) {
	for path, want := range map[string]string{
		"/a/b.git":        `'/a/b.git'`,
		"/it's":           `'/it'\''s'`,
		"/a'; rm -rf / #": `'/a'\''; rm -rf / #'`,
		"/wow!":           `'/wow'\!''`,
	} {
		if got := shellQuote(path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}
