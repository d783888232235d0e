package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// repository is a bare Git repository with a working copy, and its server.
type repository struct {
	*gitServer
	work string // folder of the working copy
}

// newRepository makes and serves a repository with the spare pool in it.
func newRepository(ctx context.Context, dir string) (*repository, error) {
	r := &repository{work: filepath.Join(dir, "work")}
	var err error
	root := filepath.Join(dir, "git")
	bare := filepath.Join(root, "platform.git")
	if err := os.MkdirAll(filepath.Join(r.work, "pools"), 0o755); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(bare, 0o755); err != nil {
		return nil, err
	}
	if r.gitServer, err = serveGit(ctx, root); err != nil {
		return nil, err
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--bare", bare},
		{"-C", bare, "symbolic-ref", "HEAD", "refs/heads/main"},
		{"init", "--quiet"},
		{"symbolic-ref", "HEAD", "refs/heads/main"},
		// A push goes past the server, so that it counts what is read alone.
		{"remote", "add", "origin", bare},
	} {
		if err := r.git(ctx, args...); err != nil {
			return nil, errors.Join(err, r.close())
		}
	}
	if err := r.commit(ctx, []*pool{spare}); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, r.push(ctx)
}

// address is the URL of the repository.
func (r *repository) address() string { return r.url + "/platform.git" }

// commit writes the files of pools and commits them.
func (r *repository) commit(ctx context.Context, pools []*pool) error {
	for _, p := range pools {
		text, err := p.file()
		if err != nil {
			return err
		}
		if err := os.WriteFile(r.path(p), text, 0o644); err != nil {
			return err
		}
	}
	return r.commitAll(ctx)
}

// remove removes the files of pools, commits that and pushes it.
func (r *repository) remove(ctx context.Context, pools []*pool) error {
	for _, p := range pools {
		if err := os.Remove(r.path(p)); err != nil {
			return err
		}
	}
	if err := r.commitAll(ctx); err != nil {
		return err
	}
	return r.push(ctx)
}

func (r *repository) path(p *pool) string { return filepath.Join(r.work, "pools", p.name+".yaml") }

func (r *repository) commitAll(ctx context.Context) error {
	if err := r.git(ctx, "add", "--all"); err != nil {
		return err
	}
	return r.git(ctx, "commit", "--quiet", "--message", "Change pools")
}

func (r *repository) push(ctx context.Context) error {
	return r.git(ctx, "push", "--quiet", "origin", "main")
}

func (r *repository) git(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = r.work, gitEnvironment()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
