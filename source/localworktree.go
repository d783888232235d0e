package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// WorkTree reads a folder of the working tree as it stands, with what is not
// committed, not tracked or ignored. It refuses what a commit of it would have
// refused, links and submodules, and files that git has written in another form than
// the commit has them: a commit of the working tree would be another one than it
// seems.
//
// Errors: those of [Directory], ErrInvalid, ErrPathNotFolder, ErrConverted, and
// ErrIncomplete for files of the folder that git leaves out: they would look deleted.
func (l *Local) WorkTree(ctx context.Context, folder string) (*Snapshot, error) {
	if l.root == "" {
		return nil, l.bare()
	}
	clean, err := cleanPath(folder)
	if err != nil {
		return nil, err
	}
	c := newCollector("working tree", l.limits)
	c.nested = true
	there, err := readIndex(l.indexed, clean, l.limits.entries)
	if err != nil {
		return nil, err
	}
	if err := c.passes(l.root, clean); err != nil {
		return nil, cmp.Or(c.left(clean, there), err)
	}
	if err := c.directory(filepath.Join(l.root, filepath.FromSlash(clean))); err != nil {
		return nil, err
	}
	files, err := c.done()
	if err != nil {
		return nil, cmp.Or(c.left(clean, there), err)
	}
	if err := ctx.Err(); err != nil {
		return nil, l.explain(ctx, c.subject, err)
	}
	untracked, err := l.compare(c, clean, there)
	if err != nil {
		return nil, err
	}
	return &Snapshot{Files: files, Untracked: untracked}, nil
}

// Checkout takes the files of a folder on this machine, or one file, as [Directory]
// does. Where they are in a working tree of Git, it refuses what [Local.WorkTree]
// refuses of them. What is in the folder and not in Git is taken.
//
// A repository with hashes of another kind than SHA-1, which no source can follow, is
// not looked at.
//
// Errors: those of [Directory], ErrConverted, ErrIncomplete, and those of [OpenLocal].
func Checkout(name string) (*Snapshot, error) {
	c := newCollector(name, defaultLimits())
	snapshot, err := c.take(name)
	if errors.Is(err, ErrPathMissing) {
		return nil, err
	}
	l, folder, failed := around(name)
	if l == nil {
		return snapshot, cmp.Or(err, failed)
	}
	there, failed := readIndex(l.indexed, folder, l.limits.entries)
	if failed != nil {
		return nil, failed
	}
	if info, failed := os.Stat(name); failed == nil && !info.IsDir() {
		there = slices.DeleteFunc(there, func(e staged) bool { return e.name != folder })
		c = c.renamed(filepath.Base(name), path.Base(folder))
		folder = path.Dir(folder)
	}
	if err != nil {
		return nil, cmp.Or(c.left(folder, there), err)
	}
	snapshot.Untracked, err = l.compare(c, folder, there)
	if err != nil {
		return nil, err
	}
	return snapshot, nil
}

// renamed has one file by another name: that of the file which a link leads to.
func (c *collector) renamed(from, to string) *collector {
	other := newCollector(c.subject, c.limits)
	if n := c.files.nodes[from]; n != nil {
		other.files.nodes[to] = n
	}
	return other
}

// around finds the working tree that a file or folder is in, and where it is in there;
// nil where it is in none. Neither objects nor refs are read.
func around(name string) (*Local, string, error) {
	full, err := filepath.Abs(name)
	if err != nil {
		return nil, "", nil
	}
	full = resolved(full)
	found, err := discover(full)
	if errors.Is(err, ErrRepositoryMissing) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	l := &Local{root: found.root, common: found.common, indexed: filepath.Join(found.git, "index"), limits: defaultLimits()}
	err = l.readConfig(found)
	if unsupported := errors.Is(err, ErrUnsupported); err != nil && !unsupported {
		return nil, "", err
	} else if l.root == "" || unsupported && l.sha256 {
		return nil, "", nil
	}
	folder, err := l.Folder(full)
	if errors.Is(err, ErrInvalid) {
		return nil, "", nil // the working tree lies elsewhere
	}
	return l, folder, err
}

// left is the error of entries of the index that take no file to be wrong: submodules,
// and what git leaves out of the working tree; nil where there are none.
func (c *collector) left(folder string, there []staged) error {
	for _, e := range there {
		name, below := inFolder(e.name, folder)
		switch {
		case e.mode == filemode.Submodule && !below:
			return failure(ErrPathNotFolder, c.subject, quote(e.name)+" is a submodule, not a folder")
		case e.mode == filemode.Submodule:
			return c.refuse(name, "is a submodule, which is never fetched").
				withHint("put the pool files into this repository, or set path to a folder without submodules")
		case e.hidden && strings.HasSuffix(e.name, "/"), e.hidden && below && isPoolFile(name) && c.files.nodes[name] == nil:
			return failure(ErrIncomplete, c.subject, quote(strings.TrimSuffix(name, "/"))+" is in Git, and left out of the working tree").
				withHint("compare a revision instead, such as --head HEAD; or turn off what leaves it out: git sparse-checkout disable, git update-index --no-skip-worktree")
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
func (l *Local) compare(c *collector, folder string, there []staged) (untracked []string, err error) {
	if err := c.left(folder, there); err != nil {
		return nil, err
	}
	given, err := l.readAttributes(folder, c.files)
	if err != nil {
		return nil, err
	}
	tracked, folded := map[string]bool{}, map[string]string{}
	for _, e := range there {
		name, below := inFolder(e.name, folder)
		if !below || !isPoolFile(name) {
			continue
		}
		tracked[name] = true
		if err := l.entry(c, given, e, name); err != nil {
			return nil, err
		}
		low := strings.ToLower(name)
		if twin, twice := folded[low]; twice && twin != name && (c.files.nodes[name] == nil || c.files.nodes[twin] == nil) {
			return nil, c.refuse(name, "and "+quote(twin)+" are two files in Git, of which this file system keeps one").
				withHint("rename one of them; or compare a revision instead, such as --head HEAD")
		}
		folded[low] = name
	}
	for name, n := range c.files.nodes {
		if n.folder || tracked[name] || !isPoolFile(name) {
			continue
		}
		if conversion := given.converts(path.Join(folder, name)); conversion != "" {
			return nil, converted(c, name, "has the attribute "+conversion+": git keeps other bytes than these of it")
		}
		untracked = append(untracked, name)
	}
	slices.Sort(untracked)
	return untracked, nil
}

// entry holds one file against the index.
func (l *Local) entry(c *collector, given *attributes, e staged, name string) error {
	n := c.files.nodes[name]
	switch {
	case n == nil || e.unmerged: // deleted; or being written
		return nil
	case e.mode == filemode.Symlink:
		return c.refuse(name, "is a symbolic link in Git, which is never followed").
			withHint("put the file itself in its place")
	case n.folder || sameInGit(n.data, e.hash):
		return nil
	case e.hidden:
		return converted(c, name, "differs from what Git has of it, and git is told not to look (assume-unchanged or skip-worktree)")
	case l.unchanged(e):
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
func (l *Local) unchanged(e staged) bool {
	info, err := os.Lstat(filepath.Join(l.root, filepath.FromSlash(e.name)))
	if err != nil || uint32(info.Size()) != e.size {
		return false
	}
	when := time.Unix(int64(e.seconds), int64(e.nanoseconds))
	return info.ModTime().Equal(when) || e.nanoseconds == 0 && info.ModTime().Unix() == int64(e.seconds)
}

func converted(c *collector, name, why string) *Error {
	return failure(ErrConverted, c.subject, quote(name)+" "+why)
}
