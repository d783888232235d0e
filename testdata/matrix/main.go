// Command matrix runs the tests that depend on the version of Kubernetes on several
// versions, and prints a table of what has passed:
//
//	go run ./testdata/matrix -versions "v1.33.13 v1.30.14"
//
// It is run in the root of the repository. What the tests are, and what they hold, stands
// in [areas]; which versions there are, in testdata/controlplane. Without -versions all of
// them are run, the newest first. A control plane that is not in the cache is downloaded or
// built.
//
// With -update the results are kept in testdata/matrix/results.json, a run for each version,
// and the table of docs/install.md is written from all of them. With -short it is a few
// tests, on the oldest version alone, and only where its control plane is in the cache or
// can be downloaded: nothing is built.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	var m matrix
	flag.BoolVar(&m.short, "short", false, "a few tests on the oldest version, unless it would have to be built")
	flag.BoolVar(&m.race, "race", false, "run the tests with the race detector")
	flag.BoolVar(&m.update, "update", false, "keep the results, and write the table of the documentation")
	asked := flag.String("versions", "", "the `versions` to run, separated by blanks; all if empty")
	flag.Parse()
	if err := m.run(ctx, strings.Fields(*asked)); err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		fmt.Fprintf(os.Stderr, "matrix: %v\n", err)
		os.Exit(1)
	}
}

// matrix is what to run.
type matrix struct {
	short, race, update bool
}

// errFailed means that tests have failed; the table says which.
var errFailed = errors.New("not everything holds on every version")

func (m matrix) run(ctx context.Context, asked []string) error {
	all, err := versions(ctx)
	if err != nil {
		return err
	}
	chosen, err := m.choose(all, asked)
	if err != nil {
		return err
	}
	revision := revisionOf(ctx, ".")
	var runs []Run
	for _, version := range chosen {
		dir, err := m.provide(ctx, version)
		if err != nil {
			return err
		}
		if dir == "" {
			skipped(version)
			continue
		}
		run := Run{Kubernetes: version, Revision: revision, Date: time.Now().UTC().Format(time.DateOnly)}
		if run.Areas, err = m.test(ctx, version); err != nil {
			return err
		}
		runs = append(runs, run)
		if m.update { // each as it ends: a run of all takes long, and may be interrupted
			if err := publish(".", all, run); err != nil {
				return err
			}
		}
	}
	writeText(os.Stdout, runs)
	if slices.ContainsFunc(runs, Run.failed) {
		return errFailed
	}
	return nil
}

// revisionOf is the commit of a folder, and whether files are not as it has them. What is
// written of an earlier run makes no difference.
func revisionOf(ctx context.Context, dir string) string {
	revision, err := output(ctx, "git", "-C", dir, "rev-parse", "--short", "HEAD")
	if err != nil {
		return "unknown" // a copy without its history
	}
	changed, err := output(ctx, "git", "-C", dir, "status", "--porcelain", "--", ".", ":(exclude)"+resultsFile, ":(exclude)"+pageFile)
	if err != nil || changed != "" {
		revision += "-dirty"
	}
	return revision
}

// choose returns those of all versions that are asked for, the newest first.
func (m matrix) choose(all, asked []string) ([]string, error) {
	if m.short {
		if len(asked) > 0 || m.update {
			return nil, errors.New("-short has a version of its own, and its results are not kept")
		}
		return all[len(all)-1:], nil
	}
	if len(asked) == 0 {
		return all, nil
	}
	for _, version := range asked {
		if !slices.Contains(all, version) {
			return nil, fmt.Errorf("%q is not a version that can be run\nname some of %s", version, strings.Join(all, ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(version string) bool { return !slices.Contains(asked, version) }), nil
}

// skipped says so in a way that is not overlooked among the results of other tests.
func skipped(version string) {
	rule := strings.Repeat("*", 78)
	fmt.Fprintf(os.Stderr, "%s\nSKIPPED: no test has run on Kubernetes %s, the oldest version that is supported.\n"+
		"Its control plane is not in the cache, and cannot be downloaded. To build it, which\n"+
		"takes minutes, and to run all tests on it: make matrix VERSIONS=%s\n%[1]s\n", rule, version, version)
}

// controlplane are the arguments that run the program which brings control planes.
var controlplane = []string{"run", "-C", "testdata/controlplane", "."}

// versions returns the versions that can be run, the newest first.
func versions(ctx context.Context) ([]string, error) {
	list, err := output(ctx, "go", append(slices.Clone(controlplane), "-list")...)
	return strings.Fields(list), err
}

// provide returns the folder with the control plane of a version; empty where it would have
// to be built, and is not to be.
func (m matrix) provide(ctx context.Context, version string) (string, error) {
	args := append(slices.Clone(controlplane), "-kubernetes", version)
	if m.short {
		args = append(args, "-download")
	}
	return output(ctx, "go", args...)
}

// output returns what a program prints, without the end of the line. What it says on
// standard error is passed on.
func output(ctx context.Context, name string, args ...string) (string, error) {
	var stdout strings.Builder
	cmd := command(ctx, name, args...)
	cmd.Stdout = &stdout
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(stdout.String()), nil
}

// command is a program in a group of its own, so that an interrupt reaches its children,
// which end theirs.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	// What programs KUBEBUILDER_ASSETS names is not of the version that is meant.
	cmd.Env = append(os.Environ(), "KUBEBUILDER_ASSETS=")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = time.Minute // for control planes to stop
	return cmd
}
