// Command controlplane builds a real Kubernetes control plane (kube-apiserver,
// kube-controller-manager, kube-scheduler, kubectl, etcd) and kwok from Go
// modules, once, and prints the folder which holds the programs:
//
//	go run -C testdata/controlplane .
//
// The folder is in the user's cache and named after the versions in it. When
// all is there, nothing is built and nothing is said on standard error.
//
// When KUBEBUILDER_ASSETS names a folder, the programs in it are used; those
// which such folders usually lack come from the cache. See [assets].
//
// It is a module of its own so that the product's module stays small, and it
// imports the standard library alone so that it starts at once.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	dir, err := run(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted; what was finished is kept, run it again for the rest")
		}
		fmt.Fprintf(os.Stderr, "controlplane: %v\n", err)
		os.Exit(1)
	}
	fmt.Println(dir)
}

// run returns the folder with every program in it, after building what is missing.
func run(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder to keep the control plane in: %w\nset HOME or XDG_CACHE_HOME", err)
	}
	components, key, err := plan()
	if err != nil {
		return "", err
	}
	root := filepath.Join(cache, "nodepools", "controlplane")
	built := filepath.Join(root, key)

	if given := os.Getenv("KUBEBUILDER_ASSETS"); given != "" {
		return assets(ctx, root, built, given, components)
	}
	if err := build(ctx, built, components); err != nil {
		return "", err
	}
	return built, nil
}
