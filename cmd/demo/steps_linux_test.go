package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Without a terminal there are no keys.
func TestStepsNeedATerminal(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	s := newSteps(read, write)
	if s != nil {
		t.Error("a pipe passes for a terminal")
	}
	if err := s.wait(t.Context()); err != nil {
		t.Errorf("none waits for nothing: %v", err)
	}
}

// One key, without a line end and whatever it is, is enough; the terminal is then
// as it was.
func TestStepsWaitForAKey(t *testing.T) {
	for _, key := range []string{" ", "\n", "q", "\x1b[B", "ü"} {
		keyboard, terminal := pty(t)
		before := settings(t, terminal)
		waited := make(chan error, 1)
		go func() { waited <- newSteps(terminal, terminal).wait(t.Context()) }()
		readUntil(t, keyboard, stepPrompt)
		select {
		case err := <-waited:
			t.Fatalf("%q: it does not wait (%v)", key, err)
		case <-time.After(20 * time.Millisecond):
		}
		if _, err := keyboard.WriteString(key); err != nil {
			t.Fatal(err)
		}
		if err := <-waited; err != nil {
			t.Errorf("%q: %v", key, err)
		}
		if after := settings(t, terminal); after != before {
			t.Errorf("%q: the terminal is %+v, and was %+v", key, after, before)
		}
	}
}

// An interrupt does not wait for a key, and leaves the terminal as it was, too.
func TestStepsAreInterrupted(t *testing.T) {
	keyboard, terminal := pty(t)
	before := settings(t, terminal)
	ctx, interrupt := context.WithCancel(t.Context())
	waited := make(chan error, 1)
	go func() { waited <- newSteps(terminal, terminal).wait(ctx) }()
	readUntil(t, keyboard, stepPrompt)
	interrupt()
	if err := <-waited; !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if after := settings(t, terminal); after != before {
		t.Errorf("the terminal is %+v, and was %+v", after, before)
	}
	// It ends the reader, which a process that ends need not.
	if _, err := keyboard.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
}

// pty returns both ends of a terminal.
func pty(t *testing.T) (keyboard, terminal *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	if err := unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = keyboard.Close(), terminal.Close() })
	return keyboard, terminal
}

func settings(t *testing.T, terminal *os.File) unix.Termios {
	t.Helper()
	now, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *now
}

func readUntil(t *testing.T, from *os.File, text string) {
	t.Helper()
	var all strings.Builder
	part := make([]byte, 256)
	for !strings.Contains(all.String(), text) {
		n, err := from.Read(part)
		if err != nil {
			t.Fatalf("%v after %q", err, all.String())
		}
		all.Write(part[:n])
	}
}
