package artifacts

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/cmd/publish/program"
)

// What is released can be built again by whoever has its commit.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		args = append([]string{"-C", dir, "-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false"}, args...)
		output, err := exec.Command("git", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		return strings.TrimSpace(string(output))
	}
	git("init", "--quiet")
	git("commit", "--quiet", "--allow-empty", "--message", "first")
	git("tag", "--annotate", "--message", "a release", "v1.0.0")
	first := git("rev-parse", "HEAD")
	git("commit", "--quiet", "--allow-empty", "--message", "second")
	second := git("rev-parse", "HEAD")
	for reason, c := range map[string]struct{ version, commit, says string }{
		"the commit of the tag":       {"v1.0.0", first, ""},
		"no tag yet":                  {"v1.1.0-rc.1", second, ""},
		"the tag of another commit":   {"v1.0.0", second, "v1.0.0 is the tag of another commit, " + first[:12]},
		"the working tree of the tag": {"v1.0.0", first + "-dirty", "the working tree differs from its commit"},
		"no commit":                   {"v1.0.0", "", "the commit is not known"},
		"what git describe makes":     {"v1.0.0-1-g0123abc", second, "is not the version of a release"},
		"a branch":                    {"main", second, "is not the version of a release"},
		"zeros before a number":       {"v1.02.0", second, "is not the version of a release"},
	} {
		err := Check(t.Context(), program.Source{Dir: dir, Version: c.version, Commit: c.commit})
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", reason, err, c.says)
		}
	}
}
