package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// staging is where k8s.io/kubernetes has its parts, which are not part of its Go module.
const staging = "./staging/src/"

// writeModule makes dir a Go module in which the programs of a version of Kubernetes are
// built from what that version was released with: its own go.mod, with its language
// version and its defaults, and its own go.sum. What is replaced there by a folder comes as
// the module of the same release instead. The go tool adds the checksums of those, which
// it has checked itself, as they cannot be in a go.sum that is part of the same release.
func writeModule(ctx context.Context, dir, version string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	source, err := downloadModule(ctx, dir, "k8s.io/kubernetes@"+version)
	if err != nil {
		return err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return fmt.Errorf("k8s.io/kubernetes %s: %w", version, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	parts, err := stagingParts(ctx, dir)
	if err != nil {
		return fmt.Errorf("k8s.io/kubernetes %s: %w", version, err)
	}
	edit := []string{"mod", "edit", "-module=nodepools.invalid/controlplane", "-require=k8s.io/kubernetes@" + version}
	for _, part := range parts {
		edit = append(edit, fmt.Sprintf("-replace=%s=%s@%s", part, part, partVersion(version)))
	}
	_, err = goOutput(ctx, dir, edit...)
	return err
}

// partVersion is the version of the parts that were released with a version of Kubernetes.
func partVersion(kubernetes string) string { return "v0" + strings.TrimPrefix(kubernetes, "v1") }

// downloadModule returns the folder of a module, in the cache of the go tool.
func downloadModule(ctx context.Context, dir, module string) (string, error) {
	// The reason of a failure is part of what is printed.
	output, err := goOutput(ctx, dir, "mod", "download", "-json", module)
	var downloaded struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(output, &downloaded); jsonErr != nil {
		return "", errors.Join(err, fmt.Errorf("go mod download -json %s: %w", module, jsonErr))
	}
	if downloaded.Error != "" {
		return "", errors.New(downloaded.Error)
	}
	return downloaded.Dir, err
}

// stagingParts returns the modules that the go.mod in dir replaces by folders.
func stagingParts(ctx context.Context, dir string) ([]string, error) {
	output, err := goOutput(ctx, dir, "mod", "edit", "-json")
	if err != nil {
		return nil, err
	}
	var file struct {
		Replace []struct{ Old, New struct{ Path string } }
	}
	if err := json.Unmarshal(output, &file); err != nil {
		return nil, fmt.Errorf("go mod edit -json: %w", err)
	}
	var parts []string
	for _, r := range file.Replace {
		if r.New.Path == staging+r.Old.Path {
			parts = append(parts, r.Old.Path)
		} else if strings.HasPrefix(r.New.Path, ".") {
			return nil, fmt.Errorf("its go.mod has %s in %s, which is in no module", r.Old.Path, r.New.Path)
		}
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("its go.mod has no part below %s", staging)
	}
	return parts, nil
}

// linkShared makes the programs that all versions share appear in the folder of one.
func linkShared(from, to string, shared []component) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return fmt.Errorf("create the folder of the control plane: %w", err)
	}
	for _, c := range shared {
		path := filepath.Join(to, c.name)
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink == 0 {
			return fmt.Errorf("%s is not a link\ndelete it; that of %s is used", path, from)
		}
		if err := link(filepath.Join(from, c.name), path); err != nil {
			return err
		}
	}
	return nil
}
