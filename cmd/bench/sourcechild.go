package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/nodepools/nodepools/source/git"
)

// sourceChild is the first argument of a process that does one job and ends, so that
// its memory is that of the job alone. The second is the job.
const sourceChild = "source-child"

// sourceJob is what such a process does.
type sourceJob struct {
	// By is who fetches: "nodepools", "go-git" or "git".
	By    string
	URL   string
	Known string   // the revision that nodepools knows already
	Git   []string // the arguments of git
	Dir   string   // the folder of git
}

// sourceDone is what it has taken.
type sourceDone struct {
	Seconds  float64
	PeakKiB  int64
	Revision string
}

// runSourceChild is the child's whole life.
func runSourceChild(ctx context.Context, argument string) error {
	var job sourceJob
	if err := json.Unmarshal([]byte(argument), &job); err != nil {
		return fmt.Errorf("%s: %w", sourceChild, err)
	}
	done, err := job.do(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(done)
}

func (j sourceJob) do(ctx context.Context) (done sourceDone, err error) {
	began := time.Now()
	switch j.By {
	case "nodepools":
		done.Revision, err = fetchNew(ctx, follow(j.URL), j.Known)
	case "go-git":
		err = goGitClone(ctx, j.URL)
	case "git":
		cmd := gitCommand(ctx, j.Dir, j.Git...)
		said, failed := cmd.CombinedOutput()
		if failed != nil {
			return done, fmt.Errorf("git %s: %w\n%s", j.Git[0], failed, said)
		}
		done.Seconds = time.Since(began).Seconds()
		done.PeakKiB, err = peakOf(cmd.ProcessState)
		return done, err
	default:
		err = fmt.Errorf("%s: nobody is called %q", sourceChild, j.By)
	}
	if err != nil {
		return done, err
	}
	done.Seconds = time.Since(began).Seconds()
	done.PeakKiB, err = ownPeak()
	return done, err
}

// follow is the repository as the controller follows it.
func follow(url string) *git.Repository {
	return &git.Repository{URL: url, Ref: git.Ref{Branch: "main"}, Path: poolsPath, Timeout: 10 * time.Minute}
}

// fetchNew is a poll that finds something new.
func fetchNew(ctx context.Context, repository *git.Repository, known string) (string, error) {
	revision, snapshot, err := repository.Latest(ctx, known)
	if err == nil && snapshot == nil {
		err = errors.New("the poll has found nothing new")
	}
	return revision, err
}

// ownPeak is the most memory that this process has had. Linux reports it of the program
// alone; the usual way, by getrusage, counts the process that has started it, too, if
// that was larger.
func ownPeak() (int64, error) {
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		if peak := kibibytes(status, "VmHWM"); peak > 0 {
			return peak, nil
		}
	}
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, fmt.Errorf("getrusage: %w", err)
	}
	return inKiB(usage.Maxrss), nil
}

// peakOf is the most memory that a program or one of those that it has started has
// had. It is started by a child of ours, which is small: see ownPeak.
func peakOf(ended *os.ProcessState) (int64, error) {
	usage, ok := ended.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, errors.New("this system does not report how much memory a process had")
	}
	return inKiB(usage.Maxrss), nil
}

// inKiB: macOS reports bytes, others KiB.
func inKiB(maxrss int64) int64 {
	if runtime.GOOS == "darwin" {
		return maxrss / 1024
	}
	return maxrss
}

// inChild does the job in a process of its own.
func (j sourceJob) inChild(ctx context.Context) (done sourceDone, err error) {
	self, err := os.Executable()
	if err != nil {
		return done, err
	}
	argument, err := json.Marshal(j)
	if err != nil {
		return done, err
	}
	cmd := exec.CommandContext(ctx, self, sourceChild, string(argument))
	var said bytes.Buffer
	cmd.Stderr, cmd.Env = &said, gitEnvironment()
	out, err := cmd.Output()
	if err != nil {
		return done, fmt.Errorf("fetch by %s: %w\n%s", j.By, err, said.String())
	}
	if err := json.Unmarshal(out, &done); err != nil {
		return done, fmt.Errorf("fetch by %s: %w", j.By, err)
	}
	return done, nil
}
