// Command controlplane brings the programs of a real Kubernetes control plane
// (kube-apiserver, kube-controller-manager, kube-scheduler, kubectl, etcd) and
// kwok, once, and prints the folder which holds them:
//
//	go run -C testdata/controlplane .
//
// Those that are published with a checksum, in the versions of go.mod, are
// downloaded, and the others are built from Go modules. With -build, all are
// built. See [provide].
//
// The folder is in the user's cache and named after the versions in it. When
// all programs are present, there are no requests and no output on standard
// error.
//
// When KUBEBUILDER_ASSETS names a folder, the programs in it are used; those
// which such folders usually lack come from the cache. See [assets].
//
// It is a module of its own so that the product's module stays small, and it
// imports next to nothing so that it starts at once.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	build := flag.Bool("build", false, "build all, and download nothing")
	flag.Parse()
	dir, err := run(ctx, *build)
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted; what was finished is kept, run it again for the rest")
		}
		fmt.Fprintf(os.Stderr, "controlplane: %v\n", err)
		os.Exit(1)
	}
	fmt.Println(dir)
}

// run returns the folder with every program in it, after what was missing is
// downloaded or built.
func run(ctx context.Context, build bool) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder to keep the control plane in: %w\nset HOME or XDG_CACHE_HOME", err)
	}
	components, key, err := plan()
	if err != nil {
		return "", err
	}
	kubernetes, err := required("k8s.io/kubernetes")
	if err != nil {
		return "", err
	}
	root := filepath.Join(cache, "nodepools", "controlplane")
	dir := filepath.Join(root, key)
	var d *downloader
	if !build {
		d = newDownloader(kubernetes, runtime.GOOS, runtime.GOARCH)
	}

	if given := os.Getenv("KUBEBUILDER_ASSETS"); given != "" {
		return assets(ctx, root, dir, given, components, d)
	}
	if err := provide(ctx, dir, components, d); err != nil {
		return "", err
	}
	return dir, nil
}
