// Package browser starts a real, headless Chromium for tests, and reports how a
// page is rendered, what it contains, and everything that it does.
//
// Start with [Start], then [Browser.Open] a page. The page never reaches the
// network: every request is refused, and recorded.
//
// It speaks the browser's own DevTools protocol over a pair of pipes, so there is
// no port, and a browser whose test has died ends by itself.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	answerTimeout = 2 * time.Minute // generous: other tests keep the machine busy
	stopTimeout   = 20 * time.Second
	pollInterval  = 20 * time.Millisecond
)

// Browser is a running Chromium.
type Browser struct {
	*connection
	command *exec.Cmd
	ended   chan struct{} // closed when the process has ended
	log     string        // path
}

// Start starts a browser that ends with the test. Where there is none it skips
// the test.
func Start(t testing.TB) *Browser {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a browser: make test-all runs it")
	}
	path, err := find()
	if err != nil {
		t.Skipf("THIS TEST HAS NOT RUN: %v\nrun make browser, or let %s name one", err, given)
	}
	dir, err := os.MkdirTemp("", "nodepools-browser-") //nolint:usetesting // it is removed when the browser has closed it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, dir) })
	b, err := launch(path, dir)
	if err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	t.Cleanup(func() { b.stop(t) })
	if err := b.call(t.Context(), "", "Browser.getVersion", nil, nil); err != nil {
		t.Fatalf("start %s: %v\n%s", path, err, b.logTail())
	}
	return b
}

func launch(path, dir string) (*Browser, error) {
	commands, toBrowser, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer commands.Close()
	fromBrowser, answers, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, toBrowser.Close())
	}
	defer answers.Close()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, errors.Join(err, toBrowser.Close(), fromBrowser.Close())
	}
	defer log.Close()

	cmd := exec.Command(path, arguments(dir)...)
	cmd.ExtraFiles = []*os.File{commands, answers} // 3 and 4, as the protocol has it
	cmd.Stdout, cmd.Stderr = log, log
	// The user's own settings and proxies must not affect how a page is rendered.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "LANG=C.UTF-8", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, toBrowser.Close(), fromBrowser.Close())
	}
	b := &Browser{connection: connect(toBrowser, fromBrowser), command: cmd, ended: make(chan struct{}), log: log.Name()}
	go func() {
		defer close(b.ended)
		_ = cmd.Wait() // it is killed in the end; what it said is in the log
	}()
	return b, nil
}

func arguments(dir string) []string {
	return []string{
		"--headless", "--remote-debugging-pipe", "--user-data-dir=" + filepath.Join(dir, "profile"),
		"--no-first-run", "--no-default-browser-check", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions",
		"--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio",
		"--force-color-profile=srgb", "--font-render-hinting=none", "--lang=en-US",
		// It only opens pages of tests, and many machines have no sandbox for it.
		"--no-sandbox",
	}
}

// stop ends the browser with all its processes.
func (b *Browser) stop(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	_ = b.call(ctx, "", "Browser.close", nil, nil) // it may end before it answers
	select {
	case <-b.ended:
	case <-ctx.Done():
		t.Errorf("the browser did not end within %s, and is killed\n%s", stopTimeout, b.logTail())
	}
	if err := syscall.Kill(-b.command.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Errorf("kill the browser, process group %d: %v", b.command.Process.Pid, err)
	}
	<-b.ended
	b.close()
}

// remove removes the browser's folder, into which a process that has just been
// killed may still be writing.
func remove(t testing.TB, dir string) {
	t.Helper()
	deadline := time.Now().Add(stopTimeout)
	for {
		err := os.RemoveAll(dir)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("remove the folder of the browser: %v", err)
			return
		}
		time.Sleep(pollInterval)
	}
}

// logTail returns the end of the browser's log.
func (b *Browser) logTail() string {
	data, err := os.ReadFile(b.log)
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return "the end of its log:\n\t" + strings.Join(lines[max(0, len(lines)-20):], "\n\t")
}
