package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// wanted is what this program is asked for.
type wanted struct {
	kubernetes string // version; empty for that of the environment, or of go.mod

	build     bool // build all, and download nothing
	download  bool // download, and build nothing
	installed bool // bring nothing
}

// errLacking means that a program is not there, and is not brought as it would have to be.
var errLacking = errors.New("not there, and to be brought only when asked for")

// provide returns the folder with every program in it, after what was missing is
// downloaded or built. It is empty where something is missing that is not to be
// brought so.
func (w wanted) provide(ctx context.Context) (string, error) {
	if w.build && (w.download || w.installed) {
		return "", errors.New("-build asks for all to be built, and -download and -installed for nothing")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder to keep the control plane in: %w\nset HOME or XDG_CACHE_HOME", err)
	}
	kubernetes, err := choose(w.kubernetes)
	if err != nil {
		return "", err
	}
	given := os.Getenv("KUBEBUILDER_ASSETS")
	if given != "" && (w.kubernetes != "" || os.Getenv(kubernetesVariable) != "") {
		return "", errors.New("KUBEBUILDER_ASSETS names programs, and something else a version for them\nunset KUBEBUILDER_ASSETS, or name no version")
	}
	dir, err := w.bring(ctx, filepath.Join(cache, "nodepools", "controlplane"), kubernetes, given)
	if errors.Is(err, errLacking) {
		say("%v", err)
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return dir, nil
}

// bring returns the folder of a version below root. The programs in the folder given, if
// any, take precedence.
func (w wanted) bring(ctx context.Context, root, kubernetes, given string) (string, error) {
	newest, err := required("k8s.io/kubernetes")
	if err != nil {
		return "", err
	}
	all, key, err := plan()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, key)
	switch {
	case given != "":
		return assets(ctx, root, dir, given, all, w.downloader(newest))
	case kubernetes == newest:
		return dir, provide(ctx, dir, all, w.downloader(newest))
	}

	programs, key := planEarlier(kubernetes)
	own := filepath.Join(root, key)
	if err := provide(ctx, own, programs, w.downloader(kubernetes)); err != nil {
		return "", fmt.Errorf("version %s of Kubernetes: %w", kubernetes, err)
	}
	shared := slices.DeleteFunc(slices.Clone(all), func(c component) bool {
		return slices.ContainsFunc(programs, func(own component) bool { return own.name == c.name })
	})
	if err := provide(ctx, dir, shared, w.downloader(newest)); err != nil {
		return "", err
	}
	return own, linkShared(dir, own, shared)
}

// downloader is the one for a version; nil where all is to be built.
func (w wanted) downloader(kubernetes string) *downloader {
	if w.build {
		return nil
	}
	d := newDownloader(kubernetes, runtime.GOOS, runtime.GOARCH)
	d.alone, d.idle = w.download, w.installed
	return d
}
