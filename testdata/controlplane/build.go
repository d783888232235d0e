package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// generated is the folder in scratch that has the module of another version.
const generated = "module"

// buildAll builds components into scratch and puts each into dir when it is whole.
func buildAll(ctx context.Context, dir, scratch string, todo []component) error {
	if other := slices.IndexFunc(todo, func(c component) bool { return c.release != "" }); other >= 0 {
		if err := writeModule(ctx, filepath.Join(scratch, generated), todo[other].release); err != nil {
			return err
		}
	}
	for i, c := range todo {
		start := time.Now()
		step := fmt.Sprintf("%d/%d %s", i+1, len(todo), c.name)
		say("%s", step)
		if err := buildOne(ctx, scratch, step, c); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(scratch, c.name), filepath.Join(dir, c.name)); err != nil {
			return fmt.Errorf("put %s in place: %w", c.name, err)
		}
		if err := os.Remove(filepath.Join(dir, c.name+origin)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("forget that %s was downloaded: %w", c.name, err)
		}
		say("%s: built in %s", step, since(start))
	}
	return nil
}

// buildOne runs the go tool for one component and reports every tick that it is
// still running.
func buildOne(ctx context.Context, scratch, step string, c component) error {
	args := []string{"build", "-ldflags", c.ldflags, "-o", filepath.Join(scratch, c.name), c.pkg}
	if strings.Contains(c.pkg, "@") {
		args = []string{"install", "-ldflags", c.ldflags, c.pkg}
	}
	flags, dir := "-trimpath", ""
	if c.release != "" {
		flags, dir = "-trimpath -mod=mod", filepath.Join(scratch, generated)
	}
	var output bytes.Buffer
	cmd := goTool(ctx, dir, flags, args...)
	cmd.Env = append(cmd.Env,
		"GOBIN="+scratch,
		// A go tool that is killed does not remove its work. We do, with scratch.
		"GOTMPDIR="+scratch,
	)
	cmd.Stdout, cmd.Stderr = &output, &output

	start := time.Now()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the go tool: %w\ninstall Go from https://go.dev/dl and put it on PATH", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			say("%s: %s", step, since(start))
		case err := <-done:
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				return fmt.Errorf("go %s %s: %w\n%s", args[0], c.pkg, err, bytes.TrimSpace(output.Bytes()))
			}
			return nil
		}
	}
}

// goTool is a run of the go tool in a folder; empty for this one.
func goTool(ctx context.Context, dir, flags string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		"CGO_ENABLED=0",
		"GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH,
		// The user's flags and workspace are about other modules. An empty
		// GOFLAGS would let those of `go env -w` in, so some are given here.
		"GOFLAGS="+flags,
		"GOWORK=off",
	)
	// The go tool runs compilers and linkers, which it leaves running when it
	// ends early: in a group of their own, one signal ends them all.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// goOutput returns what the go tool prints, run in a folder. It does so with an error, too.
func goOutput(ctx context.Context, dir string, args ...string) ([]byte, error) {
	var stderr bytes.Buffer
	cmd := goTool(ctx, dir, "-mod=mod", args...)
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		err = fmt.Errorf("go %s: %w\n%s", strings.Join(args[:2], " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return output, err
}

// checkModule makes sure that the go tool will read the go.mod whose versions
// name the folder.
func checkModule() error {
	here, err := os.ReadFile("go.mod")
	if err != nil || string(here) != goMod {
		return errors.New("not in the module of the control plane\nuse go run -C testdata/controlplane . at the root of the repository")
	}
	return nil
}

// expectation says how long to wait, for what was measured.
func expectation(todo []component) string {
	if i := slices.IndexFunc(todo, func(c component) bool { return c.name == "kube-apiserver" }); i >= 0 {
		if todo[i].release != "" {
			return "; the first build takes about 7 minutes on 2 cores"
		}
		return "; the first build takes about 12 minutes on 2 cores"
	}
	return ""
}
