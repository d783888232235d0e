package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// repository is a bare Git repository of pools with a working copy, and its server.
type repository struct {
	*gitServer
	work string // folder of the working copy
}

// spare is a pool without nodes. The repository has it from the start: a source needs a pool.
var spare = func() *v1.NodePool {
	p := newPool("spare", tierLabel, "example.com/pool", "example.com/dedicated")
	p.Spec.NodeNames = []string{"no-such-node"}
	return p
}()

// newRepository makes and serves a repository with the spare pool.
func newRepository(ctx context.Context, dir string) (_ *repository, err error) {
	r := &repository{work: filepath.Join(dir, "work")}
	bare := filepath.Join(dir, "git", "platform.git")
	if err := errors.Join(os.MkdirAll(filepath.Join(r.work, "pools"), 0o755), os.MkdirAll(bare, 0o755)); err != nil {
		return nil, err
	}
	err = gits(ctx, r.work,
		[]string{"init", "--quiet", "--bare", "--initial-branch", "main", bare},
		[]string{"init", "--quiet", "--initial-branch", "main"},
		// A push goes past the server: so it counts only what is read.
		[]string{"remote", "add", "origin", bare})
	if err != nil {
		return nil, err
	}
	if err := r.write(ctx, []*v1.NodePool{spare}); err != nil {
		return nil, err
	}
	if r.gitServer, err = serveGit(ctx, filepath.Dir(bare)); err != nil {
		return nil, err
	}
	return r, r.push(ctx)
}

// address is the URL of the repository.
func (r *repository) address() string { return r.url + "/platform.git" }

// write writes the files of pools and commits them.
func (r *repository) write(ctx context.Context, pools []*v1.NodePool) error {
	for _, p := range pools {
		text, err := yaml.Marshal(map[string]any{
			"apiVersion": p.APIVersion, "kind": p.Kind, "metadata": map[string]string{"name": p.Name}, "spec": p.Spec,
		})
		if err != nil {
			return err
		}
		if err := os.WriteFile(r.path(p), text, 0o644); err != nil {
			return err
		}
	}
	return r.commit(ctx)
}

// remove removes the files of pools, commits and pushes that.
func (r *repository) remove(ctx context.Context, pools []*v1.NodePool) error {
	for _, p := range pools {
		if err := os.Remove(r.path(p)); err != nil {
			return err
		}
	}
	return errors.Join(r.commit(ctx), r.push(ctx))
}

func (r *repository) path(p *v1.NodePool) string {
	return filepath.Join(r.work, "pools", p.Name+".yaml")
}

func (r *repository) commit(ctx context.Context) error {
	return gits(ctx, r.work, []string{"add", "--all"}, []string{"commit", "--quiet", "--message", "Change pools"})
}

func (r *repository) push(ctx context.Context) error {
	return gits(ctx, r.work, []string{"push", "--quiet", "origin", "main"})
}
