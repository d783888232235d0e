package local

import (
	"bytes"
	"cmp"
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/poolfile"
)

// WorkTree reads a folder of the working tree as it stands, with what is not
// committed, not tracked or ignored. It refuses what a commit of it would have
// refused, links and submodules, and files that git has written in another form than
// the commit has them: a commit of the working tree would be another one than it
// seems.
//
// Errors: those of [Directory], source.ErrInvalid, source.ErrPathNotFolder,
// source.ErrConverted, and source.ErrIncomplete for files of the folder that git leaves
// out: they would look deleted.
func (r *Repository) WorkTree(ctx context.Context, folder string) (*source.Snapshot, error) {
	if r.root == "" {
		return nil, r.bare()
	}
	clean, err := source.CleanPath(folder)
	if err != nil {
		return nil, err
	}
	w := &walker{Collector: poolfile.NewCollector("working tree", r.limits), nested: true}
	there, err := readIndex(r.indexed, clean, r.limits.Entries)
	if err != nil {
		return nil, err
	}
	if err := w.checkFolders(r.root, clean); err != nil {
		return nil, cmp.Or(leftOut(w.Collector, clean, there), err)
	}
	if err := w.directory(filepath.Join(r.root, filepath.FromSlash(clean))); err != nil {
		return nil, err
	}
	files, err := w.Done()
	if err != nil {
		return nil, cmp.Or(leftOut(w.Collector, clean, there), err)
	}
	if err := ctx.Err(); err != nil {
		return nil, r.explain(ctx, w.Subject(), err)
	}
	untracked, err := r.compare(w.Collector, clean, there)
	if err != nil {
		return nil, err
	}
	return &source.Snapshot{Files: files, Untracked: untracked}, nil
}

// readCommit is what to do where files on disk are not those of a commit, with the flag of
// each command.
const readCommit = "compare the commit instead: --head HEAD, or validate --revision HEAD"

// collected is the file or folder that a collector has by that name; nil for none.
func collected(c *poolfile.Collector, name string) fs.FileInfo {
	info, err := c.Files().Stat(name)
	if err != nil {
		return nil
	}
	return info
}

// leftOut is the error of entries of the index that take no file to be wrong: submodules,
// and what git leaves out of the working tree; nil where there are none.
func leftOut(c *poolfile.Collector, folder string, there []staged) error {
	for _, e := range there {
		name, below := inFolder(e.name, folder)
		switch {
		case e.mode == filemode.Submodule && !below:
			return source.NewError(source.ErrPathNotFolder, c.Subject(), source.Quote(e.name)+" is a submodule, not a folder")
		case e.mode == filemode.Submodule:
			return c.RefuseSubmodule(name, "is a submodule")
		case e.hidden && strings.HasSuffix(e.name, "/"), e.hidden && below && poolfile.Is(name) && collected(c, name) == nil:
			return source.NewError(source.ErrIncomplete, c.Subject(), source.Quote(strings.TrimSuffix(name, "/"))+" is in Git, and left out of the working tree").
				WithHint(readCommit + "; or turn off what leaves it out: git sparse-checkout disable, git update-index --no-skip-worktree")
		}
	}
	return nil
}

// inFolder is the name of an entry from the folder, and false where it is not in it.
func inFolder(name, folder string) (string, bool) {
	if folder == "." {
		return name, true
	}
	inside, below := strings.CutPrefix(name, folder+"/")
	if !below {
		inside = name
	}
	return inside, below
}

// compare holds the files of a folder against the index, and returns the YAML files
// that git does not track. A file that was edited is one of the working tree; one that
// git takes for unchanged has to be what git has of it, to the byte.
func (r *Repository) compare(c *poolfile.Collector, folder string, there []staged) (untracked []string, err error) {
	if err := leftOut(c, folder, there); err != nil {
		return nil, err
	}
	given, err := r.readAttributes(folder, c.Files())
	if err != nil {
		return nil, err
	}
	tracked, folded := map[string]bool{}, map[string]string{}
	for _, e := range there {
		name, below := inFolder(e.name, folder)
		if !below || !poolfile.Is(name) {
			continue
		}
		tracked[name] = true
		if err := r.entry(c, given, e, name); err != nil {
			return nil, err
		}
		low := strings.ToLower(name)
		if twin, twice := folded[low]; twice && twin != name && (collected(c, name) == nil || collected(c, twin) == nil) {
			return nil, c.Refuse(name, "and "+source.Quote(twin)+" are two files in Git, of which this file system keeps one").
				WithHint("rename one of them; or " + readCommit)
		}
		folded[low] = name
	}
	err = fs.WalkDir(c.Files(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || tracked[name] || !poolfile.Is(name) {
			return err
		}
		if conversion := given.converts(path.Join(folder, name)); conversion != "" {
			return converted(c, name, "has the attribute "+conversion+": git keeps other bytes than these of it")
		}
		untracked = append(untracked, name)
		return nil
	})
	slices.Sort(untracked)
	return untracked, err
}

// entry holds one file against the index.
func (r *Repository) entry(c *poolfile.Collector, given *attributes, e staged, name string) error {
	found := collected(c, name)
	switch {
	case found == nil || e.unmerged: // deleted; or being written
		return nil
	case e.mode == filemode.Symlink:
		return c.Refuse(name, "is a symbolic link in Git, which is never followed").
			WithHint("put the file itself in its place")
	case found.IsDir():
		return nil
	}
	data, err := fs.ReadFile(c.Files(), name)
	switch {
	case err != nil:
		return err
	case sameInGit(data, e.hash):
		return nil
	case e.hidden:
		return converted(c, name, "differs from what Git has of it, and git is configured to ignore it (assume-unchanged or skip-worktree)")
	case r.unchanged(e):
		return converted(c, name, "differs from what Git has of it, and git takes it for unchanged")
	}
	if conversion := given.converts(e.name); conversion != "" {
		return converted(c, name, "differs from what Git has of it, and has the attribute "+conversion)
	}
	return nil
}

// sameInGit reports whether a file is the blob with that hash. Line endings that git
// has written in the way of this machine make no difference in YAML.
func sameInGit(data []byte, hash plumbing.Hash) bool {
	return plumbing.ComputeHash(plumbing.BlobObject, data) == hash ||
		bytes.Contains(data, []byte("\r\n")) && plumbing.ComputeHash(plumbing.BlobObject, bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))) == hash
}

// unchanged reports whether git would take a file for the one that it has: it goes by
// the size and the time.
func (r *Repository) unchanged(e staged) bool {
	info, err := os.Lstat(filepath.Join(r.root, filepath.FromSlash(e.name)))
	if err != nil || uint32(info.Size()) != e.size {
		return false
	}
	when := time.Unix(int64(e.seconds), int64(e.nanoseconds))
	return info.ModTime().Equal(when) || e.nanoseconds == 0 && info.ModTime().Unix() == int64(e.seconds)
}

func converted(c *poolfile.Collector, name, why string) *source.Error {
	return source.NewError(source.ErrConverted, c.Subject(), source.Quote(name)+" "+why)
}
