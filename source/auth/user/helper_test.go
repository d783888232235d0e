package user

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodepools/nodepools/source"
)

// configure gives git a credential helper, a line of shell that sees the host and the
// path that git asks about, in the configuration of the user.
func configure(t *testing.T, helper string) (home string) {
	t.Helper()
	home = t.TempDir()
	config := "[credential]\n\tuseHttpPath = true\n\thelper = \"!f() { test \\\"$1\\\" = get || exit 0; " + helper + "; }; f\"\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	return home
}

func TestHelper(t *testing.T) {
	const url = "https://git.example.com:8443/platform/pools.git"
	for name, c := range map[string]struct {
		reason, helper, url string
		want, text          string // the header, or the error
	}{
		"a login":         {"as git would use it", "echo username=u; echo password=s3cr3t", url, "u s3cr3t", ""},
		"by host":         {"git is asked for the host, with its port, and the path", "cat | tr '\\\\n' ',' >asked; echo username=u; echo password=p", url, "u p", ""},
		"nothing known":   {"and nobody is asked", "true", url, "", "git's credential helper knows no login for https://git.example.com:8443"},
		"no password":     {"a user name is no login", "echo username=u", url, "", "git's credential helper knows no login for https://git.example.com:8443"},
		"fails":           {"what it prints is not repeated", "echo s3cr3t >&2; exit 1", url, "", "git's credential helper knows no login for https://git.example.com:8443"},
		"prints much":     {"no memory is filled", "head -c 1000000 /dev/zero | tr '\\\\0' x", url, "", "git's credential helper knows no login for https://git.example.com:8443"},
		"http":            {"it would be sent in the clear", "echo username=u; echo password=p", "http://git.example.com/a", "", "git's credential helper is for URLs of https"},
		"line in escapes": {"git would read it as a line of its own", "echo username=u; echo password=p", "https://git.example.com/x%0ahost=other.example.com%0apath=", "", "the URL has an escaped character that git's credential helper is not asked with"},
		"another host":    {"a credential is for the host that was asked about", "echo host=other.example.com; echo username=u; echo password=p", url, "", "git's credential helper knows no login for https://git.example.com:8443"},
		"line break":      {"it would be a line of its own", "echo username=u; echo password=p", "https://git.example.com\nhost=other/a", "", "git's credential helper is for URLs of https"},
	} {
		t.Run(name, func(t *testing.T) {
			home := configure(t, c.helper)
			t.Setenv("SSH_ASKPASS", "/bin/echo")
			t.Setenv("GIT_ASKPASS", "/bin/echo")
			credential, err := Helper(t.Context(), home, c.url)
			if c.text != "" {
				if !errors.Is(err, source.ErrCredential) || err.Error() != c.text {
					t.Errorf("%s: got %v, want %q", c.reason, err, c.text)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", c.reason, err)
			}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url, nil)
			if err != nil {
				t.Fatal(err)
			}
			credential.SetAuth(request)
			if username, password, _ := request.BasicAuth(); username+" "+password != c.want {
				t.Errorf("%s: logs in as %q %q, want %q", c.reason, username, password, c.want)
			}
			if name == "by host" {
				asked, err := os.ReadFile(filepath.Join(home, "asked"))
				if err != nil || !strings.Contains(string(asked), "host=git.example.com:8443") || !strings.Contains(string(asked), "path=platform/pools.git") {
					t.Errorf("%s: it was asked for %q, %v", c.reason, asked, err)
				}
			}
		})
	}
}

// A helper that waits for somebody is given up with the context, and so is git.
func TestHelperThatHangs(t *testing.T) {
	home := configure(t, "exec sleep 5")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := Helper(ctx, home, "https://git.example.com/a"); !errors.Is(err, source.ErrCredential) || err.Error() != "git's credential helper did not answer in time" {
		t.Errorf("got %v", err)
	}
}

// What a clone configures does not run: it may come from somebody else.
func TestConfigurationOfACloneIsIgnored(t *testing.T) {
	home := configure(t, "true")
	clone := t.TempDir()
	t.Setenv("GIT_DIR", filepath.Join(clone, ".git"))
	if err := os.MkdirAll(filepath.Join(clone, ".git", "objects"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		".git/HEAD":   "ref: refs/heads/main\n",
		".git/config": "[core]\n\trepositoryformatversion = 0\n[credential]\n\thelper = \"!touch ran; echo username=u; echo password=p\"\n",
	} {
		if err := os.WriteFile(filepath.Join(clone, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(clone)
	if _, err := Helper(t.Context(), home, "https://git.example.com/a"); !errors.Is(err, source.ErrCredential) {
		t.Errorf("got %v, want that nothing is known", err)
	}
	for _, folder := range []string{clone, home} {
		if _, err := os.Stat(filepath.Join(folder, "ran")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the helper of the clone has run in %s: %v", folder, err)
		}
	}
}
