package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// shell runs commands the way a user would type them, in a folder and an
// environment of their own: the user's own settings have no say in the story.
type shell struct {
	dir string
	env []string
	out *terminal
}

// plainWord is what means the same to a shell with quotes and without.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// quoted is a text as one word for a shell.
func quoted(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// show shows a command, runs it, and shows what it prints.
func (s *shell) show(ctx context.Context, command string) error {
	_, err := s.showing(ctx, command, 0, 0)
	return err
}

// showHead is show with no more than the first lines of what is printed.
func (s *shell) showHead(ctx context.Context, command string, lines int) error {
	_, err := s.showing(ctx, command, lines, 0)
	return err
}

// showing takes an exit code other than 0 only when it is the one given, and
// returns all that is printed.
func (s *shell) showing(ctx context.Context, command string, lines, code int) (string, error) {
	s.out.command(command)
	output, err := s.run(ctx, command)
	s.out.output(output, lines)
	if exit := (*exec.ExitError)(nil); code != 0 && errors.As(err, &exit) && exit.ExitCode() == code {
		return output, nil
	}
	if err == nil && code != 0 {
		return output, fmt.Errorf("%s: expected exit code %d, and it ended with 0", command, code)
	}
	return output, err
}

// quietly runs a command that the story does not show.
func (s *shell) quietly(ctx context.Context, command string) error {
	output, err := s.run(ctx, command)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, bytes.TrimSpace([]byte(output)))
	}
	return nil
}

// run returns what the command prints, to both outputs in the order of printing.
func (s *shell) run(ctx context.Context, command string) (string, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir, cmd.Env = s.dir, s.env
	// A shell may have children: all of them are interrupted together.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Second
	output, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return string(output), context.Cause(ctx)
	}
	if err != nil {
		return string(output), fmt.Errorf("%s: %w", command, err)
	}
	return string(output), nil
}
