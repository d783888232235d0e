package browser

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// installTimeout is how long each way of installing may take.
const installTimeout = 10 * time.Minute

// way is one way of getting a Chromium.
type way struct {
	name string
	// possible returns what is missing for it; nil where it can be tried.
	possible func() error
	install  func(ctx context.Context) error
}

// ways of installing, those that do not change the system first.
var ways = []way{
	{"npm", npmPossible, npmInstall},
	{"apt-get", aptPossible, aptInstall},
}

// Install returns the path of a Chromium, as [Find] does, and installs one where
// there is none: with npm into the user's cache folder, or else with apt-get
// where the user is root. It calls say with what it is about to do. The error
// has the reason why each way failed.
func Install(ctx context.Context, say func(string)) (string, error) {
	path, err := Find(ctx)
	if !errors.Is(err, ErrNone) {
		return path, err
	}
	var failed []error
	for _, way := range ways {
		if err := way.possible(); err != nil {
			failed = append(failed, fmt.Errorf("not with %s: %w", way.name, err))
			continue
		}
		say("installing a Chromium with " + way.name)
		if err := bounded(ctx, way.install); err != nil {
			if ctx.Err() != nil {
				return "", ctx.Err() // whoever interrupts does not want the next one
			}
			failed = append(failed, fmt.Errorf("not with %s: %w", way.name, err))
			continue
		}
		return Find(ctx)
	}
	return "", fmt.Errorf("%w, and none could be installed; %s may name one\n%w", ErrNone, given, errors.Join(failed...))
}

func bounded(ctx context.Context, install func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, installTimeout)
	defer cancel()
	return install(ctx)
}

// quietly runs a program, and shows its output only if it fails. It is killed,
// with its children, when ctx ends.
func quietly(ctx context.Context, dir string, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), env...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second // dpkg finishes the package that it is at
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, args[0], errors.Join(err, ctx.Err()), strings.TrimSpace(said.String()))
	}
	return nil
}
