// Command demo starts a real cluster, shows on it what nodepools does, and takes
// it down again:
//
//	make demo
//
// Every command that it shows is run as it stands, and what follows is what it
// printed. It waits for what it tells of and fails when that does not come to
// pass, so it is a test as well.
//
// The story is in story.go, one function per chapter; the stage that it plays on
// is set up and cleared in stage.go.
//
// DEMO_KEEP=1 leaves the cluster running at the end, until an interrupt.
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
)

// exitInterrupted is what a shell gives for a program that an interrupt ended.
const exitInterrupted = 130

func main() {
	program := flag.String("nodepools", "bin/nodepools", "the `program` to show")
	flag.Parse()

	// A closed pipe and a closed terminal interrupt the story as well: they must
	// not keep it from clearing the stage.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	os.Exit(run(ctx, *program, newTerminal(os.Stdout)))
}

// run tells the story, clears the stage whatever happened, and returns the exit
// code.
func run(ctx context.Context, program string, out *terminal) int {
	start := time.Now()
	s := &stage{out: out}
	err := play(ctx, s, program)
	failure := describe(s, err)
	cleared := s.clear()

	switch {
	case err == nil && cleared == nil && kept():
		out.text("What was started is stopped and removed.")
		return 0
	case err == nil && cleared == nil:
		out.text("That was all, in %s. What was started is stopped and removed.", seconds(time.Since(start)))
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
	if err := s.set(ctx, program, end); err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	for i, c := range story {
		s.out.title("%d/%d  %s", i+1, len(story), c.title)
		if err := c.tell(ctx, s); err != nil {
			// The end of the controller explains more than what did not happen after it.
			if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
				err = cause
			}
			return fmt.Errorf("step %d/%d, %q: %w", i+1, len(story), c.title, err)
		}
	}
	if !kept() {
		return nil
	}
	return s.keep(ctx)
}

// describe tells why the story ended early, with the end of the controller's
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
