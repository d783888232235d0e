package local

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/poolfile"
)

// readIndex reads what git has of a working tree. A repository without an index has
// nothing. Checksums are not compared: git leaves them out with index.skipHash.
func readIndex(file string) ([]*index.Entry, error) {
	data, err := readRegular(file, maxListBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadableFile(err)
	}
	var idx index.Index
	err = index.NewDecoder(bytes.NewReader(data)).Decode(&idx)
	switch {
	case err == nil, errors.Is(err, index.ErrInvalidChecksum), errors.Is(err, index.ErrUnknownExtension) && slices.ContainsFunc(idx.Entries, isFolder):
		return idx.Entries, nil
	case errors.Is(err, index.ErrUnknownExtension):
		return nil, source.NewError(source.ErrUnsupported, "index of the working tree", "is split into two files").WithHint("put it together: git update-index --no-split-index")
	}
	return nil, source.NewError(source.ErrUnreadable, "index of the working tree", "cannot be read: "+err.Error()).
		WithHint("'git fsck' says what is wrong; without the file .git/index, 'git reset' makes a new one")
}

// isFolder reports whether an entry is a folder that a sparse checkout leaves out.
func isFolder(e *index.Entry) bool { return e.Mode == filemode.Dir }

// leftOut is the error of entries that leave no file to be wrong: submodules, and what a
// sparse checkout leaves out; nil where there are none.
func leftOut(c *poolfile.Collector, folder string, there []*index.Entry) error {
	for _, e := range there {
		at := strings.TrimSuffix(e.Name, "/")
		name, below := inFolder(at, folder)
		around := strings.HasPrefix(folder+"/", at+"/") // or the folder itself
		switch {
		case below && poolfile.BelowHidden(name), !below && !around:
		case e.Mode == filemode.Submodule && around:
			return source.NewError(source.ErrPathNotFolder, c.Subject(), source.Quote(at)+" is a submodule, not a folder")
		case e.Mode == filemode.Submodule:
			return c.RefuseSubmodule(name, "is a submodule")
		case isFolder(e), e.SkipWorktree && below && poolfile.Is(name) && !collected(c, name):
			return source.NewError(source.ErrIncomplete, c.Subject(), source.Quote(name)+" is in Git, and left out of the working tree").
				WithHint("compare the commit instead: --head HEAD, or validate --revision HEAD; or turn off what leaves it out: git sparse-checkout disable, git update-index --no-skip-worktree")
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
	return inside, below
}

// collected reports whether a collector has a file or folder by that name.
func collected(c *poolfile.Collector, name string) bool {
	_, err := c.Files().Stat(name)
	return err == nil
}

// untracked are the YAML files of a folder that git does not track.
func untracked(c *poolfile.Collector, folder string, there []*index.Entry) (names []string, err error) {
	tracked := map[string]bool{}
	for _, e := range there {
		if name, below := inFolder(e.Name, folder); below {
			tracked[name] = true
		}
	}
	err = fs.WalkDir(c.Files(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !tracked[name] && poolfile.Is(name) {
			names = append(names, name)
		}
		return err
	})
	return names, err
}
