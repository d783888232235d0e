// Command demo starts a real cluster, shows on it what nodepools does, and takes
// it down again:
//
//	make demo
//
// Every command that it shows is run as it stands, and what follows is what it
// printed. It waits for what it shows and fails when that does not come to
// pass, so it is a test as well.
//
// The story is in story.go, one function per chapter; the stage that it plays on
// is set up and cleared in stage.go.
//
// DEMO_STEP=1 waits for a key after each chapter. DEMO_KEEP=1 leaves the cluster
// running at the end, until an interrupt. The page that the story makes is kept.
package main

import (
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

// exitInterrupted is what a shell gives for a program that an interrupt ended.
const exitInterrupted = 130

func main() {
	program := flag.String("nodepools", "bin/nodepools", "the `program` to show")
	page := flag.String("page", "bin/review.html", "the `file` that keeps the review as a page")
	flag.Parse()

	// A closed pipe and a closed terminal interrupt the story as well: they must
	// not keep it from clearing the stage.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	s := &stage{out: newTerminal(os.Stdout), page: *page}
	if asked("DEMO_STEP") {
		if s.steps = newSteps(os.Stdin, os.Stdout); s.steps == nil {
			fmt.Fprintln(os.Stderr, "demo: DEMO_STEP is ignored: standard input is no terminal, so there are no keys")
		}
	}
	os.Exit(run(ctx, s, *program))
}

// run shows the story, clears the stage whatever happened, and returns the exit
// code.
func run(ctx context.Context, s *stage, program string) int {
	err := play(ctx, s, program)
	failure := describe(s, err)
	cleared := s.clear()

	switch {
	case err == nil && cleared == nil:
		s.out.text("What was started is stopped and removed.")
		return 0
	case ctx.Err() != nil && cleared == nil:
		fmt.Fprintln(os.Stderr, "\ndemo: interrupted; what was started is stopped and removed")
		return exitInterrupted
	}
	if failure != "" {
		fmt.Fprintln(os.Stderr, failure)
	}
	if cleared != nil {
		fmt.Fprintf(os.Stderr, "demo: clean up: %v\n", cleared)
	}
	return 1
}

func play(ctx context.Context, s *stage, program string) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	// What comes first and once, and may take minutes, is not part of the story.
	if _, err := cluster.Assets(ctx); err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	start := time.Now()
	if err := s.set(ctx, program, end); err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	for i, c := range story {
		if i > 0 {
			if err := s.steps.wait(ctx); err != nil {
				return err
			}
		}
		s.out.title("%d/%d  %s", i+1, len(story), c.title)
		if err := c.show(ctx, s); err != nil {
			// The end of the controller explains more than what did not happen after it.
			if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
				err = cause
			}
			return fmt.Errorf("step %d/%d, %q: %w", i+1, len(story), c.title, err)
		}
	}
	s.out.title("The end")
	if s.steps == nil {
		s.out.text("That was all, in %s.", seconds(time.Since(start)))
	}
	if err := s.keepPage(); err != nil {
		return err
	}
	if !asked("DEMO_KEEP") {
		return nil
	}
	return s.keep(ctx)
}

// describe says why the story ended early, with the end of the controller's
// log, before that is removed.
func describe(s *stage, err error) string {
	if err == nil {
		return ""
	}
	text := fmt.Sprintf("\ndemo: %v", err)
	if log := s.controllerLog(); log != "" {
		text += "\nthe end of the controller's log:\n" + log
	}
	return text
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }
