package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// builder is where the module that brings the programs lives, seen from the root
// of the repository.
const builder = "testdata/controlplane"

// Assets returns the folder with the programs of the control plane. When some
// are missing it downloads or builds them first, which may take minutes, and
// reports progress on standard error. NODEPOOLS_KUBERNETES may name another
// version of Kubernetes.
func Assets(ctx context.Context) (string, error) { return assetsOf(ctx, "") }

// assetsOf returns the folder of the programs of a version of Kubernetes; empty means that
// of [Assets].
func assetsOf(ctx context.Context, kubernetes string) (string, error) {
	dir, err := builderDir()
	if err != nil {
		return "", err
	}
	args := []string{"run", "-C", dir, "."}
	if kubernetes != "" {
		args = append(args, "-kubernetes", kubernetes)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	// The user's flags and workspace are about other modules. These flags are those of
	// the Makefile, which has compiled the builder with them.
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly -buildvcs=false -trimpath", "GOWORK=off")
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("bring the control plane with go run -C %s .: %w", dir, errors.Join(err, ctx.Err()))
	}
	return strings.TrimSpace(string(output)), nil
}

// builderDir searches for the builder from the working directory upwards: tests
// run in the folder of their package.
func builderDir() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", builder, err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		candidate := filepath.Join(dir, filepath.FromSlash(builder))
		_, err := os.Stat(filepath.Join(candidate, "go.mod"))
		if err == nil {
			return candidate, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("find %s: %w", builder, err)
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not in %s nor above it\nrun this from within the repository", builder, start)
		}
	}
}
