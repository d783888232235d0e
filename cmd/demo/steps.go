package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/term"
)

// steps waits for keys at a terminal. Nil does not wait.
type steps struct{ in, out *os.File }

// newSteps returns nil where in is no terminal, as there are no keys then.
func newSteps(in, out *os.File) *steps {
	if !term.IsTerminal(int(in.Fd())) {
		return nil
	}
	return &steps{in: in, out: out}
}

const stepPrompt = "-- press a key for the next step, Ctrl-C to end --"

// wait returns when a key is pressed, or with the cause when the context ends.
func (s *steps) wait(ctx context.Context) (err error) {
	if s == nil {
		return nil
	}
	// A key counts without a line end and is not shown; Ctrl-C still interrupts.
	// stty is everywhere where sh is, and spares us what differs per system.
	before, err := s.stty("-g")
	if err != nil {
		return err
	}
	if _, err := s.stty("-icanon", "-echo", "min", "1", "time", "0"); err != nil {
		return err
	}
	defer func() {
		_, restoreErr := s.stty(before)
		err = errors.Join(err, restoreErr)
	}()
	fmt.Fprintf(s.out, "\n%s", stepPrompt)
	pressed := make(chan error, 1)
	go func() {
		_, err := s.in.Read(make([]byte, 64)) // a key may be several bytes
		pressed <- err
	}()
	select {
	case err = <-pressed:
		if err != nil {
			err = fmt.Errorf("wait for a key: %w", err)
		}
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	fmt.Fprintf(s.out, "\r%s\r", strings.Repeat(" ", len(stepPrompt)))
	return err
}

func (s *steps) stty(args ...string) (string, error) {
	cmd := exec.Command("stty", args...)
	cmd.Stdin, cmd.Stderr = s.in, os.Stderr
	output, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("stty %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(output)), nil
}
