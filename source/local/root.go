package local

import (
	"os"
	"path/filepath"
	"strings"
)

// FromRoot is the name of a file as the server of the repository knows
// it: with slashes, relative to the root. That is the nearest folder around the
// file that has a .git. A checkout without Git has none; on GitHub it is in
// $GITHUB_WORKSPACE. Where neither is of help, the name stays.
func FromRoot(name string) string {
	name = filepath.Clean(filepath.FromSlash(name))
	whole, err := filepath.Abs(name)
	if err != nil {
		return filepath.ToSlash(name)
	}
	root := Root(whole)
	if root == "" {
		root = os.Getenv("GITHUB_WORKSPACE")
	}
	if within, err := filepath.Rel(root, whole); root != "" && err == nil && within != ".." && !strings.HasPrefix(within, ".."+string(filepath.Separator)) {
		name = within
	}
	return filepath.ToSlash(name)
}

// Root is the folder of the repository around a file. It is empty where no folder around a file has a .git, which is a
// folder, or in a linked working tree a file.
func Root(name string) string {
	for folder := name; ; folder = filepath.Dir(folder) {
		if _, err := os.Lstat(filepath.Join(folder, ".git")); err == nil {
			return folder
		}
		if folder == filepath.Dir(folder) {
			return ""
		}
	}
}
