// Package program compiles nodepools so that the same commit gives the same bytes,
// on whatever machine and in whatever folder. Start with [Source.Compile].
package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Source is what a program is compiled from.
type Source struct {
	// Dir is the root of the repository.
	Dir string
	// Version is what the program calls itself.
	Version string
	// Commit is empty where it is not known, and ends in -dirty where the working
	// tree differs from it.
	Commit string
	// Date of what is built: that of the commit, and of nothing else on this machine.
	Date time.Time
}

var (
	// Both become part of a flag of the linker, which takes blanks and quotes as its own.
	validVersion = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$`)
	validCommit  = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?(-dirty)?$`)
)

// Open returns the source in a folder. The date is that of SOURCE_DATE_EPOCH, or else
// of the commit that is checked out, or else the beginning of 1970.
func Open(ctx context.Context, dir, version, commit string) (Source, error) {
	s := Source{Dir: dir, Version: version, Commit: commit}
	if !validVersion.MatchString(version) {
		return s, fmt.Errorf("version %q is not valid: letters, digits and ._+- are, up to 128 of them\nname one as in VERSION=v1.2.3", version)
	}
	if commit != "" && !validCommit.MatchString(commit) {
		return s, fmt.Errorf("commit %q is not valid\nname it in full, as git rev-parse HEAD prints it", commit)
	}
	if err := s.checkHead(ctx); err != nil {
		return s, err
	}
	var err error
	s.Date, err = date(ctx, dir)
	return s, err
}

// checkHead refuses a commit that is not the one that is checked out, and one that
// leaves out that the working tree differs from it. A folder that is not itself a clone
// is taken as it is described: the clone around it is of something else.
func (s Source) checkHead(ctx context.Context) error {
	if s.Commit == "" {
		return nil
	}
	prefix, err := git(ctx, s.Dir, "rev-parse", "--show-prefix")
	if err != nil || prefix != "" {
		return ctx.Err()
	}
	head, err := git(ctx, s.Dir, "rev-parse", "--verify", "--quiet", "HEAD")
	if err != nil {
		return ctx.Err() // there is no commit yet
	}
	if commit := strings.TrimSuffix(s.Commit, dirtyMark); commit != head {
		return fmt.Errorf("the commit is given as %.12s, and %.12s is checked out\nleave COMMIT out, or check out the commit that it names", commit, head)
	}
	if s.Dirty() {
		return nil
	}
	changed, err := git(ctx, s.Dir, "status", "--porcelain", "--untracked-files=all")
	if err != nil {
		return fmt.Errorf("cannot compare the working tree with its commit: %w", err)
	}
	if changed != "" {
		return fmt.Errorf("the working tree differs from the commit %.12s, which is given without %s\ncommit or remove what git status shows, or leave COMMIT out", head, dirtyMark)
	}
	return nil
}

// dirtyMark is at the end of a commit that the working tree differs from.
const dirtyMark = "-dirty"

// Dirty reports whether the working tree differs from the commit.
func (s Source) Dirty() bool { return strings.HasSuffix(s.Commit, dirtyMark) }

// date follows https://reproducible-builds.org/docs/source-date-epoch/.
func date(ctx context.Context, dir string) (time.Time, error) {
	text, given := os.LookupEnv("SOURCE_DATE_EPOCH")
	if !given || text == "" {
		var err error
		if text, err = git(ctx, dir, "log", "-1", "--format=%ct"); err != nil {
			return time.Unix(0, 0).UTC(), ctx.Err()
		}
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	// A ZIP archive holds no year after 2107, and RFC 3339 none after 9999.
	if err != nil || seconds < 0 || seconds >= maxDate {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH %q is not a number of seconds between 1970 and 2107", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

const maxDate = 4354819200 // 2108-01-01

// TagElsewhere returns the commit of the tag that is called as the version, if that is
// not the commit of the source, and else nothing.
func (s Source) TagElsewhere(ctx context.Context) (string, error) {
	commit, err := git(ctx, s.Dir, "rev-parse", "--verify", "--quiet", "refs/tags/"+s.Version+"^{commit}")
	if err != nil {
		return "", ctx.Err() // there is no such tag, or no git
	}
	if s.Commit == commit {
		return "", nil
	}
	return commit, nil
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		return "", errors.Join(err, errors.New(strings.TrimSpace(stderr.String())))
	}
	return strings.TrimSpace(string(output)), nil
}
