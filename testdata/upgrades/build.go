package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// goFlags are those of the Makefile, so that what other runs have compiled is
// taken from the cache.
const goFlags = "GOFLAGS=-mod=readonly -buildvcs=false -trimpath"

// notCompiling is a merge that does not compile: nobody can have run it. That of any other
// commit no program can be built is a failure.
const notCompiling = "11c4694"

var errNoProgram = errors.New("there is no program")

// buildOf returns the path of the program of a commit. It is kept in the cache folder of the
// user: what a commit says never changes.
func buildOf(ctx context.Context, c commit) (_ string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("keep programs of commits: %w", err)
	}
	path := filepath.Join(cache, "nodepools", "upgrades", c.id, "nodepools")
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	sources, err := os.MkdirTemp("", "nodepools-upgrades-*")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(sources)) }()
	archive := filepath.Join(sources, "sources.tar")
	if _, err := output(ctx, "git", "archive", "--output", archive, c.id); err != nil {
		return "", err
	}
	if _, err := output(ctx, "tar", "-xf", archive, "-C", sources); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	// An interrupt leaves no half of a program, and neither do two builds at once.
	file := fmt.Sprintf("%s.%d", path, os.Getpid())
	err = build(ctx, sources, file)
	if err != nil && c.short() == notCompiling {
		return "", fmt.Errorf("%w: %w", errNoProgram, err)
	}
	if err != nil {
		return "", err
	}
	return path, os.Rename(file, path)
}

// build compiles the program of a working tree into a file.
func build(ctx context.Context, root, file string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", file, "./cmd/nodepools")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), goFlags, "GOWORK=off")
	if printed, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program of %s: %w\n%s", root, err, printed)
	}
	return nil
}
