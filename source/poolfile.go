package source

import (
	"path"
	"strings"
)

// What may hold pools goes by names: a file that ends in .yaml or .yml, and a folder.
// Package render reads the same ones. What a file holds is not for this package to know.

// isPoolFile reports whether a file of that name holds pools.
func isPoolFile(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".yaml", ".yml":
		return true
	}
	return false
}

// isHidden reports whether a name begins with a dot. Neither what has such a name nor
// anything in it holds pools.
func isHidden(name string) bool { return strings.HasPrefix(path.Base(name), ".") }

// belowHidden reports whether a file, or a folder that it is in, is hidden.
func belowHidden(name string) bool {
	return strings.HasPrefix(name, ".") && name != "." || strings.Contains(name, "/.")
}

// destination is what a symbolic link leads to.
type destination int

const (
	// toUnknown: nothing, or something that is not in the repository.
	toUnknown destination = iota
	toFile
	toFolder
)

// link decides about a symbolic link, which is never followed. One that could stand for
// pools is refused, as to pass over it would read as deleting them: one with the name of
// a pool file, one that leads to a folder, and one that leads nowhere and has a name
// without an ending, as folders have.
func (c *collector) link(name string, leads func(name string) (destination, error)) error {
	stands := isPoolFile(name)
	if !stands {
		to, err := leads(name)
		if err != nil {
			return err
		}
		stands = to == toFolder || to == toUnknown && path.Ext(name) == ""
	}
	if !stands {
		return nil
	}
	return c.refuse(name, "is a symbolic link, which is never followed").
		withHint("put the file or folder itself in its place; or, where it stands for no pools, give it a name that begins with a dot")
}
