package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	By  string
	URL string
	// Follow has nodepools fetch what there is at first, and say so; what counts is the
	// poll after that, for which it waits to be told.
	Follow bool
	Git    []string // the arguments of git
	Dir    string   // the folder of git
}

// sourceDone is what it has taken.
type sourceDone struct {
	Seconds float64
	PeakKiB int64
	// FirstKiB is how much of it the fetch of all there was has taken, where nodepools
	// follows.
	FirstKiB int64
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
		began, err = done.follow(ctx, follow(j.URL), j.Follow)
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

// follow fetches what there is, and then, where it is to follow, what is new when it is
// told that there is something. It returns when the last of them began.
func (d *sourceDone) follow(ctx context.Context, repository *git.Repository, follows bool) (time.Time, error) {
	caches := git.NewCaches()
	defer caches.Close()
	repository.Cache = caches.Of(repository.URL, "")
	began := time.Now()
	known, err := fetchNew(ctx, repository, "")
	if err != nil || !follows {
		return began, err
	}
	if d.FirstKiB, err = ownPeak(); err != nil {
		return began, err
	}
	fmt.Println(ready)
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		return began, fmt.Errorf("wait for something new: %w", err)
	}
	began = time.Now()
	_, err = fetchNew(ctx, repository, known)
	return began, err
}

// ready is what a child says that has fetched what there is.
const ready = "ready"

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
func (j sourceJob) inChild(ctx context.Context) (sourceDone, error) {
	c, err := j.start(ctx)
	if err != nil {
		return sourceDone{}, err
	}
	defer c.stop()
	return c.finish()
}

// child is a process that does a job.
type child struct {
	job    sourceJob
	cmd    *exec.Cmd
	cancel context.CancelFunc
	in     io.WriteCloser
	out    *bufio.Reader
	said   bytes.Buffer
}

// start starts it, and waits until one that follows is ready. The caller stops it.
func (j sourceJob) start(ctx context.Context) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	argument, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	c := &child{job: j, cancel: cancel, cmd: exec.CommandContext(ctx, self, sourceChild, string(argument))}
	c.cmd.Stderr, c.cmd.Env = &c.said, gitEnvironment()
	out, outErr := c.cmd.StdoutPipe()
	in, inErr := c.cmd.StdinPipe()
	if err := errors.Join(outErr, inErr); err != nil {
		cancel()
		return nil, err
	}
	c.in, c.out = in, bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	if !j.Follow {
		return c, nil
	}
	if line, err := c.out.ReadString('\n'); err != nil || line != ready+"\n" {
		c.stop()
		return nil, c.failed(errors.Join(err, errors.New("it does not get ready")))
	}
	return c, nil
}

// finish tells one that is ready to go on, and returns what it has taken.
func (c *child) finish() (done sourceDone, err error) {
	if c.job.Follow {
		if _, err := io.WriteString(c.in, "\n"); err != nil {
			return done, c.failed(err)
		}
	}
	answer, err := io.ReadAll(c.out)
	if err := errors.Join(err, c.cmd.Wait()); err != nil {
		return done, c.failed(err)
	}
	if err := json.Unmarshal(answer, &done); err != nil {
		return done, c.failed(err)
	}
	return done, nil
}

// stop ends it, if it runs, and waits until it has.
func (c *child) stop() {
	c.cancel()
	_ = c.cmd.Wait() // it was killed, or waited for before
}

func (c *child) failed(err error) error {
	return fmt.Errorf("fetch by %s: %w\n%s", c.job.By, err, c.said.String())
}
