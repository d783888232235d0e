package source

import (
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// leads finds what a link leads to in the commit, over other links. Its name is from the
// root of the repository.
func (r *tree) leads(name string) (destination, error) {
	for range maxLinks {
		entry, passed, err := r.find(name)
		if err != nil || entry == nil {
			return toUnknown, err
		}
		rest := strings.TrimPrefix(name[len(passed):], "/")
		switch kind := kindOf(entry.Mode); {
		case kind.IsDir():
			return toFolder, nil
		case kind.IsRegular() && rest == "":
			return toFile, nil
		case kind.IsRegular():
			return toUnknown, nil
		}
		target, err := r.target(entry.Hash, passed)
		if err != nil || target == "" || path.IsAbs(target) {
			return toUnknown, err
		}
		name = path.Join(path.Dir(passed), target, rest)
		switch {
		case name == ".":
			return toFolder, nil
		case name == ".." || strings.HasPrefix(name, "../"):
			return toUnknown, nil
		}
	}
	return toUnknown, nil
}

// find goes along a path through folders, to its end or to the first thing that is no
// folder, and returns that with its name; nil where there is nothing.
func (r *tree) find(name string) (entry *object.TreeEntry, passed string, err error) {
	folder := r.root
	for part := range strings.SplitSeq(name, "/") {
		if err := r.list(1); err != nil {
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
	entries, err := r.store.tree(folder)
	if err != nil {
		return nil, err
	}
	if err := r.list(len(entries)); err != nil {
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
	size, known := r.store.size(link)
	if !known {
		return "", r.store.lacking(name)
	}
	if size > maxLinkBytes {
		return "", nil
	}
	target, err := r.store.read(link, plumbing.BlobObject)
	return string(target), err
}
