// Package poolfile says which files of a source hold pools, and puts them together,
// whole and within limits, whatever they are read from: a server, a clone, a folder.
//
// What may hold pools goes by names: a file that ends in .yaml or .yml, and a folder.
// Package render reads the same ones. What a file says is not for this package to know.
//
// Start with [NewCollector]. A kind of source asks [Collector.Wants] about each entry
// that it finds, adds the files and folders that are wanted, and has
// [Collector.RefuseLink] decide about links; [Collector.Done] gives the files of a
// snapshot.
package poolfile

import (
	"path"
	"strings"

	"github.com/nodepools/nodepools/source"
)

// Is reports whether a file of that name holds pools. It ignores case, so that POOL.YAML
// is not skipped.
func Is(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".yaml", ".yml":
		return true
	}
	return false
}

// IsHidden reports whether a name begins with a dot. Neither what has such a name nor
// anything in it holds pools.
func IsHidden(name string) bool { return strings.HasPrefix(path.Base(name), ".") }

// BelowHidden reports whether a file, or a folder that it is in, is hidden: its name
// begins with a dot, and it holds no pools.
func BelowHidden(name string) bool {
	return strings.HasPrefix(name, ".") && name != "." || strings.Contains(name, "/.")
}

// Destination is what a symbolic link leads to.
type Destination int

// What a link can lead to.
const (
	// ToUnknown: nothing, or something that is not in the repository.
	ToUnknown Destination = iota
	ToFile
	ToFolder
)

// RefuseLink decides about a symbolic link, which is never followed: nil where it may
// be left out. One that could stand for pools is refused, as to pass over it would read
// as deleting them: one with the name of a pool file, one that leads to a folder, and
// one that leads nowhere and has a name without an ending, as folders have. leads is
// called only where the name does not decide.
//
// Errors: source.ErrFile, and that of leads.
func (c *Collector) RefuseLink(name string, leads func(name string) (Destination, error)) error {
	stands := Is(name)
	if !stands {
		to, err := leads(name)
		if err != nil {
			return err
		}
		stands = to == ToFolder || to == ToUnknown && path.Ext(name) == ""
	}
	if !stands {
		return nil
	}
	return c.Refuse(name, "is a symbolic link, which is never followed").
		WithHint("put the file or folder itself in its place; or, where it stands for no pools, give it a name that begins with a dot")
}

// RefuseSubmodule is the error of a submodule, whose files a commit does not have.
func (c *Collector) RefuseSubmodule(name, what string) *source.Error {
	return c.Refuse(name, what+", which is never fetched").
		WithHint("put the pool files into this repository, or set path to a folder without submodules")
}
