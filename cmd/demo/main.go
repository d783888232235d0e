// Command demo starts a real cluster, shows on it what nodepools does, and takes
// it down again:
//
//	make demo
//
// Each command that it shows is run, and the text below a command is its output.
// The demo fails when a change that it waits for does not happen, so it is a test too.
//
// The chapters are in story.go, the actions that they consist of in act.go, and
// stage.go starts and stops the cluster.
//
// DEMO_STEP=1 waits for Enter after each chapter. DEMO_KEEP=1 leaves the cluster
// running at the end, until an interrupt. The page with the review is kept.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// exitInterrupted is the exit code of a shell for a program that an interrupt ended.
const exitInterrupted = 130

func main() {
	program := flag.String("nodepools", "bin/nodepools", "the `program` to show")
	page := flag.String("page", "bin/review.html", "the `file` that keeps the review as a page")
	flag.Parse()

	// A closed pipe and a closed terminal interrupt the story too, so that the
	// processes are stopped.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	s := &stage{out: os.Stdout, coloured: isTerminal(os.Stdout) && os.Getenv("NO_COLOR") == "", page: *page, program: *program}
	if asked("DEMO_STEP") {
		s.keys = lines(os.Stdin)
	}
	os.Exit(s.run(ctx))
}

// run shows the story, stops everything in any case, and returns the exit code.
func (s *stage) run(parent context.Context) int {
	ctx, end := context.WithCancelCause(parent)
	defer end(nil)
	s.ctx, s.end = ctx, end
	s.play()
	if s.err != nil && parent.Err() == nil {
		fmt.Fprintf(os.Stderr, "\ndemo: %v\n", s.err)
		if s.controller != nil {
			fmt.Fprintf(os.Stderr, "the end of the controller's log:\n%s\n", s.controller.Tail())
		}
	}
	cleared := s.clear()
	switch {
	case cleared != nil:
		fmt.Fprintf(os.Stderr, "demo: clean up: %v\n", cleared)
		return 1
	case parent.Err() != nil && s.err != nil:
		fmt.Fprintln(os.Stderr, "\ndemo: interrupted; what was started is stopped and removed")
		return exitInterrupted
	case s.err != nil:
		return 1
	}
	s.say("What was started is stopped and removed.")
	return 0
}

// play sets the stage and shows one chapter after the other.
func (s *stage) play() {
	// The download of the programs may take minutes and is not part of the story.
	if _, err := cluster.Assets(s.ctx); err != nil {
		s.fail(fmt.Errorf("set up: %w", err))
		return
	}
	start := time.Now()
	if s.set(); s.err != nil {
		s.err = fmt.Errorf("set up: %w", s.err)
		return
	}
	for i, c := range story {
		if i > 0 {
			s.pause()
		}
		s.title("%d/%d  %s", i+1, len(story), c.title)
		if c.show(s); s.err != nil {
			s.err = fmt.Errorf("step %d/%d, %q: %w", i+1, len(story), c.title, s.err)
			return
		}
	}
	s.title("The end")
	if s.keys == nil {
		s.say("That was all, in %s.", seconds(time.Since(start)))
	}
	s.keepPage()
	if asked("DEMO_KEEP") && s.err == nil {
		s.keep()
	}
}

// fail ends the story with its first error. The end of the controller explains more
// than an error that follows from it.
func (s *stage) fail(err error) {
	if s.err != nil || err == nil {
		return
	}
	if cause := context.Cause(s.ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	s.err = err
}

// pause waits for Enter where the user has asked for steps.
func (s *stage) pause() {
	if s.keys == nil || s.err != nil {
		return
	}
	fmt.Fprint(s.out, "\n-- press Enter for the next step, Ctrl-C to end -- ")
	select {
	case <-s.keys:
	case <-s.ctx.Done():
		s.fail(context.Cause(s.ctx))
	}
}

// lines sends a value for each line of a file. At the end of the file it is closed:
// nobody waits for keys that cannot come.
func lines(file *os.File) <-chan struct{} {
	keys := make(chan struct{})
	go func() {
		defer close(keys)
		for scanner := bufio.NewScanner(file); scanner.Scan(); {
			keys <- struct{}{}
		}
	}()
	return keys
}

// asked reports whether a variable of the environment switches something on.
func asked(variable string) bool {
	value := os.Getenv(variable)
	return value != "" && value != "0"
}

func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}
