package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The date of what is built is one that others find, too.
func TestOpenFindsTheDate(t *testing.T) {
	clone, folder := t.TempDir(), t.TempDir()
	for _, args := range [][]string{{"init", "--quiet"}, {"commit", "--quiet", "--allow-empty", "--message", "first"}} {
		cmd := exec.Command("git", append([]string{"-C", clone, "-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Env = append(cmd.Environ(), "GIT_COMMITTER_DATE=1767323045 +0545", "GIT_AUTHOR_DATE=1000000000 +0000")
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
	}
	for reason, c := range map[string]struct {
		dir, epoch string
		want, says string
	}{
		"the commit":              {clone, "", "2026-01-02 03:04:05 +0000 UTC", ""},
		"what the user says":      {clone, "1", "1970-01-01 00:00:01 +0000 UTC", ""},
		"no commit":               {folder, "", "1970-01-01 00:00:00 +0000 UTC", ""},
		"no number":               {clone, "today", "", `SOURCE_DATE_EPOCH "today" is not a number of seconds`},
		"before there were dates": {clone, "-1", "", "is not a number of seconds between 1970 and 2107"},
		"after a ZIP ends":        {clone, "4354819200", "", "is not a number of seconds between 1970 and 2107"},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Setenv("SOURCE_DATE_EPOCH", c.epoch)
			t.Setenv("GIT_CEILING_DIRECTORIES", c.dir)
			source, err := Open(t.Context(), c.dir, "v1.2.3", "")
			switch {
			case c.says != "":
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%v, want %q", err, c.says)
				}
			case err != nil || source.Date.String() != c.want:
				t.Errorf("%s (%v), want %s", source.Date, err, c.want)
			}
		})
	}
}

// Both become part of a flag, and must not become two.
func TestOpenRefusesWhatIsNoVersion(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for reason, c := range map[string]struct {
		version, commit string
		valid           bool
	}{
		"a release":                  {"v1.2.3", commit, true},
		"a release with metadata":    {"v1.2.3+build.1", commit, true},
		"what git describe makes":    {"v1.2.3-4-g0123abc-dirty", commit + "-dirty", true},
		"no commit":                  {"dev", "", true},
		"a commit of SHA-256":        {"dev", commit + commit[:24], true},
		"no version":                 {"", commit, false},
		"a flag":                     {"-X", commit, false},
		"two flags":                  {"v1 -X main.sourceCommit=0", commit, false},
		"a quote":                    {"v1'", commit, false},
		"an end of line":             {"v1\n", commit, false},
		"too long":                   {strings.Repeat("v", 129), commit, false},
		"a short commit":             {"v1", "0123abc", false},
		"a commit with a flag":       {"v1", commit + " -s", false},
		"a commit with another mark": {"v1", commit + "-modified", false},
	} {
		source, err := Open(t.Context(), t.TempDir(), c.version, c.commit)
		if (err == nil) != c.valid {
			t.Errorf("%s: %v", reason, err)
		}
		if err == nil && source.Dirty() != strings.HasSuffix(c.commit, "-dirty") {
			t.Errorf("%s: dirty is %t", reason, source.Dirty())
		}
	}
}

// The commit that is written into a program is the one that it is compiled from.
func TestOpenTakesTheCommitThatIsCheckedOut(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		args = append([]string{"-C", dir, "-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"}, args...)
		output, err := exec.Command("git", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		return strings.TrimSpace(string(output))
	}
	git("init", "--quiet")
	git("config", "status.showUntrackedFiles", "no")
	git("commit", "--quiet", "--allow-empty", "--message", "first")
	first := git("rev-parse", "HEAD")
	git("commit", "--quiet", "--allow-empty", "--message", "second")
	second := git("rev-parse", "HEAD")
	for _, step := range []struct {
		reason, dir, commit, says string
		file                      string
	}{
		{reason: "HEAD", dir: dir, commit: second},
		{reason: "no commit", dir: dir},
		{reason: "an earlier commit", dir: dir, commit: first, says: "the commit is given as " + first[:12] + ", and " + second[:12] + " is checked out"},
		{reason: "an earlier commit and more", dir: dir, commit: first + "-dirty", says: "is checked out"},
		{reason: "a file that git does not know", dir: dir, commit: second, file: "unknown.go", says: "the working tree differs from the commit"},
		{reason: "a difference that is named", dir: dir, commit: second + "-dirty"},
		{reason: "source without history", dir: t.TempDir(), commit: first},
		{reason: "source without history, in the clone of something else", dir: filepath.Join(dir, "vendor"), commit: first},
	} {
		if err := os.MkdirAll(step.dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if step.file != "" {
			if err := os.WriteFile(filepath.Join(dir, step.file), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		_, err := Open(t.Context(), step.dir, "v1.2.3", step.commit)
		if (err == nil) != (step.says == "") || err != nil && !strings.Contains(err.Error(), step.says) {
			t.Errorf("%s: %v, want %q", step.reason, err, step.says)
		}
	}
}
