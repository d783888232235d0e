package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/api/wrap"
)

const (
	pollInterval = 25 * time.Millisecond
	// waitTimeout is how long to wait for what usually takes a second or two.
	waitTimeout = 45 * time.Second
)

// style sets text apart by an ANSI code where there is colour.
func (s *stage) style(code, text string) string {
	if !s.coloured {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// title begins a chapter, in bold.
func (s *stage) title(format string, args ...any) {
	if s.err == nil {
		text := fmt.Sprintf(format, args...)
		fmt.Fprintf(s.out, "\n%s\n%s\n", s.style("1", text), strings.Repeat("-", len(text)))
	}
}

// say prints a text, in lines that fit a terminal.
func (s *stage) say(format string, args ...any) {
	if s.err == nil {
		fmt.Fprintln(s.out)
		wrap.Hang(s.out, "", "", strings.Fields(fmt.Sprintf(format, args...)))
	}
}

// showCommand shows what a user types, in cyan.
func (s *stage) showCommand(line string) {
	if s.err == nil {
		fmt.Fprintf(s.out, "\n%s\n", s.style("36", "$ "+line))
	}
}

// show shows a command, runs it, and shows and returns its output.
func (s *stage) show(command string) string { return s.showing(command, 0, 0) }

// showHead is show with the first lines of the output.
func (s *stage) showHead(command string, lines int) { s.showing(command, lines, 0) }

// showing shows a command that ends with an exit code, and its output: with most above
// 0, at most as many lines.
func (s *stage) showing(command string, most, code int) string {
	if s.err != nil {
		return ""
	}
	s.showCommand(command)
	output, exit := s.execute(command)
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	if left := len(lines) - most; most > 0 && left > 0 {
		lines = append(lines[:most], fmt.Sprintf("(and %d more lines)", left))
	}
	if output != "" {
		fmt.Fprintln(s.out, strings.Join(lines, "\n"))
	}
	if exit != code {
		s.fail(fmt.Errorf("%s: expected exit code %d, got %d", command, code, exit))
	}
	return output
}

// quietly runs a command that the story does not show, and returns its output.
func (s *stage) quietly(command string) string {
	if s.err != nil {
		return ""
	}
	output, exit := s.execute(command)
	if exit != 0 {
		s.fail(fmt.Errorf("%s: exit code %d\n%s", command, exit, bytes.TrimSpace([]byte(output))))
	}
	return output
}

// execute runs a command as a user would type it, and returns the output and the exit code.
func (s *stage) execute(command string) (string, int) {
	cmd := exec.CommandContext(s.ctx, "sh", "-c", command)
	cmd.Dir, cmd.Env = s.work, s.env
	// A shell may have children: all of them are interrupted together.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Second
	output, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && (s.ctx.Err() != nil || !errors.As(err, &exit)) {
		s.fail(fmt.Errorf("%s: %w", command, err))
	}
	return string(output), cmd.ProcessState.ExitCode()
}

// quoted is a text as one word for a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// write writes a file in the folder in which the user works.
func (s *stage) write(name, content string) {
	if s.err == nil {
		s.fail(os.WriteFile(filepath.Join(s.work, filepath.FromSlash(name)), []byte(content), 0o644))
	}
}

// change replaces texts in a file, and shows the difference.
func (s *stage) change(name string, oldnew ...string) {
	if s.err != nil {
		return
	}
	text, err := os.ReadFile(filepath.Join(s.work, filepath.FromSlash(name)))
	s.fail(err)
	for i := 0; i < len(oldnew); i += 2 {
		if !strings.Contains(string(text), oldnew[i]) {
			s.fail(fmt.Errorf("%s has no %q to edit", name, oldnew[i]))
		}
	}
	s.write(name, strings.NewReplacer(oldnew...).Replace(string(text)))
	s.show("git diff -U0 | tail -n +5")
}

// until waits for check to return nil, and returns how long that took. The text goes on
// from "expected".
func (s *stage) until(expected string, check func() error) time.Duration {
	for start := time.Now(); s.err == nil; time.Sleep(pollInterval) {
		err := check()
		switch {
		case err == nil:
			return time.Since(start)
		case s.ctx.Err() != nil:
			s.fail(context.Cause(s.ctx))
		case time.Since(start) > waitTimeout:
			s.fail(fmt.Errorf("expected %s within %s: %w", expected, waitTimeout, err))
		}
	}
	return 0
}

// reaction shows a command and returns, by watching a node, the time from the moment
// when began holds for it to the moment when done does.
func (s *stage) reaction(node, command string, began, done func(*corev1.Node) error) time.Duration {
	if s.err != nil {
		return 0
	}
	ctx, cancel := context.WithTimeout(s.ctx, waitTimeout)
	defer cancel()
	watcher, err := s.client.Watch(ctx, &corev1.NodeList{}, client.MatchingFields{"metadata.name": node})
	if err != nil {
		s.fail(err)
		return 0
	}
	defer watcher.Stop()
	took := make(chan time.Duration, 1)
	go func() {
		defer close(took)
		var start time.Time
		for event := range watcher.ResultChan() {
			node, ok := event.Object.(*corev1.Node)
			if ok && start.IsZero() && began(node) == nil {
				start = time.Now()
			}
			if ok && !start.IsZero() && done(node) == nil {
				took <- time.Since(start)
				return
			}
		}
	}()
	s.show(command)
	d, ok := <-took
	if !ok {
		s.fail(fmt.Errorf("expected a reaction on node %s within %s", node, waitTimeout))
	}
	return d
}

// untilPools waits until there is a pool for each file, and each of them is Ready for
// its present spec.
func (s *stage) untilPools() time.Duration {
	files, err := filepath.Glob(filepath.Join(s.work, "pools", "*.yaml"))
	s.fail(err)
	return s.until(fmt.Sprintf("%d Ready pools", len(files)), func() error {
		var list v1.NodePoolList
		if err := s.client.List(s.ctx, &list); err != nil {
			return err
		}
		if len(list.Items) != len(files) {
			return fmt.Errorf("there are %d pools, and the source says: %s", len(list.Items), s.sourceSays())
		}
		for _, pool := range list.Items {
			if !meta.IsStatusConditionTrue(pool.Status.Conditions, v1.ReadyCondition) || pool.Status.ObservedGeneration != pool.Generation || pool.Status.Nodes.Desired == 0 {
				return fmt.Errorf("pool %s is not Ready: %+v", pool.Name, pool.Status)
			}
		}
		return nil
	})
}

// sourceSays returns the message of the source.
func (s *stage) sourceSays() string {
	var source v1.NodePoolSource
	if err := s.client.Get(s.ctx, client.ObjectKey{Name: "platform"}, &source); err != nil {
		return err.Error()
	}
	if ready := meta.FindStatusCondition(source.Status.Conditions, v1.ReadyCondition); ready != nil {
		return ready.Message
	}
	return "nothing yet"
}

// untilNodes waits until a check holds for each of some nodes.
func (s *stage) untilNodes(expected string, names []string, check func(*corev1.Node) error) time.Duration {
	return s.until(expected, func() error {
		for _, name := range names {
			var node corev1.Node
			if err := s.client.Get(s.ctx, client.ObjectKey{Name: name}, &node); err != nil {
				return err
			}
			if err := check(&node); err != nil {
				return fmt.Errorf("node %s: %w", name, err)
			}
		}
		return nil
	})
}

// labelled returns a check that a node has a label at a value, or not at all where that
// is empty.
func labelled(key, value string) func(*corev1.Node) error {
	return func(node *corev1.Node) error {
		if has := node.Labels[key]; has != value {
			return fmt.Errorf("label %s is %q and not %q", key, has, value)
		}
		return nil
	}
}

// taintedBy returns a check that a node has as many taints of a key.
func taintedBy(key string, count int) func(*corev1.Node) error {
	return func(node *corev1.Node) error {
		has := 0
		for _, taint := range node.Spec.Taints {
			if taint.Key == key {
				has++
			}
		}
		if has != count {
			return fmt.Errorf("it has %d taints %s and not %d", has, key, count)
		}
		return nil
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }

// millis is for what is too fast for seconds.
func millis(d time.Duration) string { return fmt.Sprintf("%d ms", max(1, d.Milliseconds())) }
