package leaks

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

// recorder is a test that only records its errors.
type recorder struct {
	testing.TB
	errors []string
}

func (f *recorder) Helper()             {}
func (f *recorder) Logf(string, ...any) {}
func (f *recorder) Errorf(format string, args ...any) {
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}

// Each kind of leak is noticed and named, and nothing is noticed where it was
// cleaned up.
func TestCheck(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for name, c := range map[string]struct {
		leak func(*testing.T) (clean func())
		want string
		only string // the system that reports it; empty for all
	}{
		"goroutine": {func(*testing.T) func() {
			began, end := make(chan struct{}), make(chan struct{})
			go forgotten(began, end)
			<-began // before that it has no stack
			return func() { close(end) }
		}, "leaks.forgotten", ""},
		"file": {func(t *testing.T) func() {
			file, err := os.Open(os.DevNull)
			if err != nil {
				t.Fatal(err)
			}
			return func() { file.Close() }
		}, os.DevNull, "linux"},
		"file that nobody knows any more": {func(t *testing.T) func() {
			if _, err := os.Open(os.DevNull); err != nil {
				t.Fatal(err)
			}
			for range 1000 { // would be a reason to collect garbage
				_ = make([]byte, 100_000)
			}
			return runtime.GC
		}, os.DevNull, "linux"},
		"connection": {func(t *testing.T) func() {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			return func() { listener.Close() }
		}, "connection 127.0.0.1:", "linux"},
		"process that ended": {func(t *testing.T) func() {
			cmd := exec.Command(os.Args[0], "-test.run=^$")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, out) // it has ended then, or is about to
			return func() { _ = cmd.Wait() }
		}, "process ", "linux"},
		"temporary file": {func(t *testing.T) func() {
			file, err := os.CreateTemp("", "forgotten-") //nolint:usetesting // it is to be forgotten
			if err != nil {
				t.Fatal(err)
			}
			file.Close()
			return func() { _ = os.Remove(file.Name()) }
		}, "forgotten-", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if c.only != "" && c.only != runtime.GOOS {
				t.Skip("this system does not report it")
			}
			before := Now(t)
			clean := c.leak(t)
			check := &recorder{TB: t}
			before.Check(check, 0)
			if text := strings.Join(check.errors, "\n"); !strings.Contains(text, c.want) {
				t.Errorf("a leak is reported as %q, want %q in it", text, c.want)
			}
			clean()
			before.Check(t, 10*time.Second)
		})
	}
}

func forgotten(began chan<- struct{}, end <-chan struct{}) {
	close(began)
	<-end
}
