package program

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Platform is what a program runs on, in the words of Go, which are those of OCI.
type Platform struct{ OS, Arch string }

// String returns linux/amd64.
func (p Platform) String() string { return p.OS + "/" + p.Arch }

// Host is the platform of this machine.
func Host() Platform { return Platform{OS: runtime.GOOS, Arch: runtime.GOARCH} }

// Executable returns the name of a program on the platform.
func (p Platform) Executable(name string) string {
	if p.OS == "windows" {
		return name + ".exe"
	}
	return name
}

// Compile writes the program for a platform to a file. What the compiler says goes to
// log.
//
// The bytes follow from the source, the platform and the version of Go: the flags are
// given here, no path of this machine is in the program, and the C compiler has no part
// in it. What Go's own record of Git would add is left out, as it would be missing
// where the source has come without its history.
func (s Source) Compile(ctx context.Context, goCommand string, p Platform, file string, log io.Writer) error {
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	env := append(os.Environ(), "PWD="+s.Dir,
		"GOOS="+p.OS, "GOARCH="+p.Arch, "CGO_ENABLED=0",
		// What the user has set for other work.
		"GOAMD64=v1", "GOARM64=v8.0", "GOFIPS140=off", "GOFLAGS=-mod=readonly", "GOWORK=off", "GOEXPERIMENT=",
	)
	if err := s.checkExperiments(ctx, goCommand, env); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, goCommand, "build",
		"-mod=readonly", "-trimpath", "-buildvcs=false",
		"-ldflags", fmt.Sprintf("-s -w -X main.version=%s -X main.sourceCommit=%s", s.Version, s.Commit),
		"-o", file, "./cmd/nodepools")
	cmd.Dir, cmd.Env = s.Dir, env
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("cannot compile nodepools for %s: %w\nwhat the compiler says stands above; if modules could not be downloaded, check the network and go env GOPROXY", p, err)
	}
	return nil
}

// checkExperiments refuses a compiler that the user has configured to be another one:
// an empty variable overrides the environment, and not what go env -w has written.
func (s Source) checkExperiments(ctx context.Context, goCommand string, env []string) error {
	cmd := exec.CommandContext(ctx, goCommand, "env", "GOEXPERIMENT")
	cmd.Dir, cmd.Env = s.Dir, env
	output, err := cmd.Output()
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("cannot run %s env: %w", goCommand, err)
	}
	if experiments := strings.TrimSpace(string(output)); experiments != "" {
		return fmt.Errorf("%s has the experiments %s on, and compiles other bytes with them\nturn them off by go env -u GOEXPERIMENT, or choose another Go command", goCommand, experiments)
	}
	return nil
}
