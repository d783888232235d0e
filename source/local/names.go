package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nodepools/nodepools/source"
)

// Name is a branch or a tag of a repository on this machine.
type Name struct {
	// Full is the whole name: "refs/heads/main", "refs/remotes/origin/main".
	Full string
	// Short is what [Repository.Resolve] takes for it: "main", "origin/main"; the full name
	// where anything else is called that, too.
	Short string
}

// Kind is what a name is of: "branch", "remote branch" or "tag".
func (n Name) Kind() string {
	switch full := plumbing.ReferenceName(n.Full); {
	case full.IsTag():
		return "tag"
	case full.IsRemote():
		return "remote branch"
	default:
		return "branch"
	}
}

// AtRemote is what the remote calls the branch or the tag: "main" for origin/main. It is
// empty for a branch of this machine alone.
func (n Name) AtRemote() string {
	switch full := plumbing.ReferenceName(n.Full); {
	case full.IsTag():
		return strings.TrimPrefix(n.Full, "refs/tags/")
	case full.IsRemote():
		_, branch, _ := strings.Cut(strings.TrimPrefix(n.Full, "refs/remotes/"), "/")
		return branch
	default:
		return ""
	}
}

// maxNames bounds how many branches and tags are listed.
const maxNames = 100_000

// Names lists branches, those of remotes, and tags, sorted by their full names. Whether
// there is a commit behind each is not checked.
//
// Errors: source.ErrUnreadable, source.ErrTooLarge, source.ErrCanceled.
func (r *Repository) Names(ctx context.Context) ([]Name, error) {
	known, err := r.packedNames()
	if err == nil {
		err = r.looseNames(ctx, known)
	}
	if ctx.Err() != nil {
		return nil, source.NewError(source.ErrCanceled, "", "canceled").WithCause(context.Canceled)
	}
	if err != nil {
		return nil, unreadableFile(err)
	}
	var names []Name
	for full := range known {
		if name := plumbing.ReferenceName(full); !name.IsRemote() || path.Base(full) != "HEAD" {
			names = append(names, Name{Full: full, Short: shortName(full, known)})
		}
	}
	slices.SortFunc(names, func(a, b Name) int { return strings.Compare(a.Full, b.Full) })
	return names, nil
}

// named are the folders of branches and tags.
var named = []string{"refs/heads/", "refs/remotes/", "refs/tags/"}

// noteName adds a name, unless it is of something else, or no name that can be shown.
func noteName(known map[string]bool, full string) {
	isNamed := slices.ContainsFunc(named, func(folder string) bool { return strings.HasPrefix(full, folder) })
	if isNamed && len(known) < maxNames && source.ValidName(full) && !strings.HasSuffix(full, ".lock") {
		known[full] = true
	}
}

// packedNames reads the names in the one file that has most of them.
func (r *Repository) packedNames() (map[string]bool, error) {
	known := map[string]bool{}
	data, err := readRegular(filepath.Join(r.common, "packed-refs"), maxListBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	for line := range strings.Lines(string(data)) {
		if _, full, isName := strings.Cut(strings.TrimSuffix(line, "\n"), " "); isName {
			noteName(known, full)
		}
	}
	return known, err
}

// looseNames adds the names that have files of their own.
func (r *Repository) looseNames(ctx context.Context, known map[string]bool) error {
	for _, folder := range named {
		err := filepath.WalkDir(filepath.Join(r.common, filepath.FromSlash(folder)), func(name string, entry fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil // gone meanwhile, or never there
			case err != nil:
				return err
			case entry.Type().IsRegular():
				full, err := filepath.Rel(r.common, name)
				if err != nil {
					return err
				}
				noteName(known, filepath.ToSlash(full))
			}
			return ctx.Err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// shortName is the name without its folder, where by the rules of git that is the name
// of nothing else.
func shortName(full string, known map[string]bool) string {
	_, short, _ := strings.Cut(strings.TrimPrefix(full, "refs/"), "/")
	if strings.HasSuffix(short, "HEAD") || strings.HasPrefix(short, "refs/") {
		return full
	}
	for _, rule := range plumbing.RefRevParseRules {
		if other := fmt.Sprintf(rule, short); other != full && known[other] {
			return full
		}
	}
	return short
}
