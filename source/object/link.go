package object

import (
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/nodepools/nodepools/source/poolfile"
)

const (
	// maxLinkBytes bounds the target of a symbolic link, and maxLinks how many lead to
	// one another, as Linux does.
	maxLinkBytes = 4096
	maxLinks     = 40
)

// leads finds what a link leads to in the commit, over other links. Its name is from the
// root of the repository.
func (r *tree) leads(name string) (poolfile.Destination, error) {
	for range maxLinks {
		entry, passed, err := r.find(name)
		if err != nil || entry == nil {
			return poolfile.ToUnknown, err
		}
		rest := strings.TrimPrefix(name[len(passed):], "/")
		switch kind := kindOf(entry.Mode); {
		case kind.IsDir():
			return poolfile.ToFolder, nil
		case kind.IsRegular() && rest == "":
			return poolfile.ToFile, nil
		case kind.IsRegular():
			return poolfile.ToUnknown, nil
		}
		target, err := r.target(entry.Hash, passed)
		if err != nil || target == "" || path.IsAbs(target) {
			return poolfile.ToUnknown, err
		}
		name = path.Join(path.Dir(passed), target, rest)
		switch {
		case name == ".":
			return poolfile.ToFolder, nil
		case name == ".." || strings.HasPrefix(name, "../"):
			return poolfile.ToUnknown, nil
		}
	}
	return poolfile.ToUnknown, nil
}

// find goes along a path through folders, to its end or to the first thing that is no
// folder, and returns that with its name; nil where there is nothing.
func (r *tree) find(name string) (entry *object.TreeEntry, passed string, err error) {
	folder := r.root
	for part := range strings.SplitSeq(name, "/") {
		if err := r.CountNames(1); err != nil {
			return nil, "", err
		}
		listing, err := r.listing(folder)
		if err != nil {
			return nil, "", err
		}
		found, there := listing[part]
		if !there {
			return nil, "", nil
		}
		entry, passed = &found, path.Join(passed, part)
		if found.Mode != filemode.Dir {
			break
		}
		folder = found.Hash
	}
	return entry, passed, nil
}

// maxListings bounds the names of folders that are kept for further links.
const maxListings = 200_000

// listing is what a folder has, by name.
func (r *tree) listing(folder plumbing.Hash) (map[string]object.TreeEntry, error) {
	if known := r.listings[folder]; known != nil {
		return known, nil
	}
	entries, err := Tree(r.store, folder)
	if err != nil {
		return nil, err
	}
	if err := r.CountNames(len(entries)); err != nil {
		return nil, err
	}
	if r.listed += len(entries); r.listed > maxListings || r.listings == nil {
		r.listings, r.listed = map[plumbing.Hash]map[string]object.TreeEntry{}, len(entries)
	}
	listing := make(map[string]object.TreeEntry, len(entries))
	for _, entry := range entries {
		listing[entry.Name] = entry
	}
	r.listings[folder] = listing
	return listing, nil
}

// target is what a link of that name says; empty where it was left out for its size, or
// is too long for any link.
func (r *tree) target(link plumbing.Hash, name string) (string, error) {
	size, known := r.store.Size(link)
	if !known {
		return "", r.store.Missing(name)
	}
	if size > maxLinkBytes {
		return "", nil
	}
	target, err := r.store.Read(link, plumbing.BlobObject)
	return string(target), err
}
