package user

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/nodepools/nodepools/source/auth"
)

// maxAnswer bounds what git prints: a user name and a password.
const maxAnswer = 64 << 10

// Helper returns what git's credential helper knows for a URL of https. git runs in the
// folder, by the configuration of the system and of the user: name the home folder, as
// the configuration of a clone may come from somebody else. Nobody is asked for a
// password, and nothing is stored or forgotten.
//
// Errors are a source.ErrCredential.
func Helper(ctx context.Context, folder, rawURL string) (*auth.Credential, error) {
	at, err := url.Parse(rawURL)
	if err != nil || at.Scheme != "https" || at.Host == "" {
		return nil, refuse("git's credential helper is for URLs of https", "")
	}
	path := strings.TrimPrefix(at.Path, "/")
	if strings.ContainsFunc(at.Host+path, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
		// Decoded, a %0a would begin another line of the request, such as host=.
		return nil, refuse("the URL has an escaped character that git's credential helper is not asked with", "")
	}
	answer := &bounded{left: maxAnswer}
	git := exec.CommandContext(ctx, "git", "-c", "core.askPass=", "credential", "fill")
	git.Dir = folder
	git.Env = unattended(os.Environ())
	git.Stdin = strings.NewReader("protocol=https\nhost=" + at.Host + "\npath=" + path + "\n\n")
	git.Stdout = answer
	git.WaitDelay = time.Second // a helper that git has started may live on
	err = git.Run()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, refuse("there is no git program, which asks the credential helper", "install git")
	case ctx.Err() != nil:
		return nil, refuse("git's credential helper did not answer in time", "")
	case err != nil:
		return nil, unknown(at)
	}
	said := map[string][]byte{}
	for line := range strings.Lines(answer.text.String()) {
		if key, value, found := strings.Cut(strings.TrimSuffix(line, "\n"), "="); found {
			said[key] = []byte(value)
		}
	}
	if len(said["password"]) == 0 || string(said["protocol"]) != "https" || string(said["host"]) != at.Host {
		return nil, unknown(at)
	}
	return auth.Parse(map[string][]byte{auth.Username: said["username"], auth.Password: said["password"]})
}

func unknown(at *url.URL) error {
	return refuse("git's credential helper knows no login for "+at.Scheme+"://"+at.Host, "clone a repository from there once with git, with a helper that keeps what you type")
}

// unattended keeps git and its helpers from asking the user: a prompt would stand in the
// middle of what a command prints, or wait where nobody is. What a git hook has set would
// name another repository.
func unattended(environment []string) []string {
	var kept []string
	for _, variable := range environment {
		name, _, _ := strings.Cut(variable, "=")
		if name == "GIT_DIR" || name == "GIT_WORK_TREE" || strings.HasSuffix(name, "_ASKPASS") {
			continue
		}
		kept = append(kept, variable)
	}
	return append(kept, "GIT_TERMINAL_PROMPT=0", "GCM_INTERACTIVE=never")
}

// bounded keeps the beginning of a text, and refuses what is longer.
type bounded struct {
	text bytes.Buffer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errors.New("the answer is too long")
	}
	return b.text.Write(p)
}
