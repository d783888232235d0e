package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// assets returns a folder of links: to the programs in the given folder, which
// is the value of KUBEBUILDER_ASSETS, and to those in dir for what it lacks. It
// may lack only what the usual bundles lack: with kube-apiserver, etcd or
// kubectl missing, it is the wrong folder, and bringing what somebody believes
// to have would hide that.
func assets(ctx context.Context, root, dir, given string, components []component, d *downloader) (string, error) {
	given, err := filepath.Abs(given)
	if err != nil {
		return "", fmt.Errorf("KUBEBUILDER_ASSETS: %w", err)
	}
	lacking, err := missing(given, components, false)
	if err != nil {
		return "", fmt.Errorf("KUBEBUILDER_ASSETS: %w", err)
	}
	from := map[string]string{}
	for _, c := range components {
		from[c.name] = given
	}
	var wrong []string
	for _, c := range lacking {
		from[c.name] = dir
		if c.bundled {
			wrong = append(wrong, c.name)
		}
	}
	if len(wrong) > 0 {
		return "", fmt.Errorf("KUBEBUILDER_ASSETS=%s has no %s\n"+
			"put it there, or unset KUBEBUILDER_ASSETS to have all of it downloaded or built", given, strings.Join(wrong, ", no "))
	}
	if err := provide(ctx, dir, lacking, d); err != nil {
		return "", err
	}

	links := filepath.Join(root, fmt.Sprintf("assets-%x", sha256.Sum256([]byte(given+"\n"+dir)))[:len("assets-")+16])
	if err := os.MkdirAll(links, 0o755); err != nil {
		return "", fmt.Errorf("create the folder of links: %w", err)
	}
	for name, source := range from {
		if err := link(filepath.Join(source, name), filepath.Join(links, name)); err != nil {
			return "", err
		}
	}
	return links, nil
}

// link makes path a symbolic link to target, in one step for those who look at
// path meanwhile.
func link(target, path string) error {
	if now, err := os.Readlink(path); err == nil && now == target {
		return nil
	}
	temp := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a link left behind: %w", err)
	}
	if err := os.Symlink(target, temp); err != nil {
		return fmt.Errorf("link to %s: %w", target, err)
	}
	if err := os.Rename(temp, path); err != nil {
		return fmt.Errorf("put the link to %s in place: %w", target, err)
	}
	return nil
}
