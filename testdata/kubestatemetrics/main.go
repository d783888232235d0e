// Command kubestatemetrics builds the real kube-state-metrics from Go modules, once, and
// prints its path:
//
//	go run -C testdata/kubestatemetrics .
//
// It is in the user's cache, in a folder named after the version in go.mod. When it is
// there, nothing is asked of any server. With -installed nothing is built: where it is not
// there, nothing is printed. Tests ask like that, as the build takes minutes.
//
// It is a module of its own so that the product's module stays small, and it imports
// nothing of kube-state-metrics so that it starts at once.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// goMod is where the version is written down; the cache follows it.
//
//go:embed go.mod
var goMod string

const module = "k8s.io/kube-state-metrics/v2"

func main() {
	installed := flag.Bool("installed", false, "build nothing, and print nothing where it is not there")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	path, err := run(ctx, *installed)
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		fmt.Fprintf(os.Stderr, "kube-state-metrics: %v\n", err)
		os.Exit(1)
	}
	if path != "" {
		fmt.Println(path)
	}
}

// run returns the path of the program, after it is built where it is missing; with
// installed it is empty there.
func run(ctx context.Context, installed bool) (string, error) {
	version, err := required()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder to keep kube-state-metrics in: %w\nset HOME or XDG_CACHE_HOME", err)
	}
	dir := filepath.Join(cache, "nodepools", "kube-state-metrics", fmt.Sprintf("%s_%s-%s", version, runtime.GOOS, runtime.GOARCH))
	path := filepath.Join(dir, "kube-state-metrics")
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	if installed {
		return "", nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	// It appears whole, by renaming, so whoever sees it may run it.
	scratch, err := os.MkdirTemp(dir, ".building-")
	if err != nil {
		return "", err
	}
	built := filepath.Join(scratch, "kube-state-metrics")
	err = build(ctx, version, built)
	if err == nil {
		err = os.Rename(built, path)
	}
	return path, errors.Join(err, os.RemoveAll(scratch))
}

func build(ctx context.Context, version, output string) error {
	fmt.Fprintf(os.Stderr, "kube-state-metrics: building %s, which takes some minutes\n", version)
	cmd := exec.CommandContext(ctx, "go", "build", "-o", output, "-ldflags", "-s -w", module)
	cmd.Env = append(os.Environ(),
		"CGO_ENABLED=0", "GOTMPDIR="+filepath.Dir(output),
		"GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH,
		// The user's flags and workspace are about other modules. An empty GOFLAGS
		// would let those of `go env -w` in, so one is given here.
		"GOFLAGS=-trimpath", "GOWORK=off",
	)
	// One signal ends the compilers and linkers that the go tool runs.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", module, err, bytes.TrimSpace(log.Bytes()))
	}
	return nil
}

// required returns the version that go.mod requires.
func required() (string, error) {
	for line := range strings.Lines(goMod) {
		fields := strings.Fields(strings.TrimPrefix(line, "require "))
		if len(fields) >= 2 && fields[0] == module {
			return fields[1], nil
		}
	}
	return "", fmt.Errorf("go.mod does not require %s", module)
}
