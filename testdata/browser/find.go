package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// given is the environment variable that names a Chromium; no other is searched for then.
const given = "NODEPOOLS_CHROMIUM"

// versionTimeout bounds how long a program may take to print its version.
const versionTimeout = time.Minute

// ErrNone means that there is no Chromium on this machine.
var ErrNone = errors.New("no Chromium was found")

// names are those of Chromium and of browsers based on it, in PATH and in the
// application folder of macOS.
var names = []string{
	"chromium", "chromium-browser", "chromium-headless-shell", "chrome-headless-shell",
	"google-chrome", "google-chrome-stable", "chrome",
	"/Applications/Chromium.app/Contents/MacOS/Chromium",
	"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
}

// Find returns the path of a Chromium that starts: the one that
// NODEPOOLS_CHROMIUM names, else one in PATH, else the one that [Install] has put
// into the user's cache folder. Where there is none the error is [ErrNone].
func Find(ctx context.Context) (string, error) {
	if path := os.Getenv(given); path != "" {
		if err := check(ctx, path); err != nil {
			return "", fmt.Errorf("%s names no Chromium that starts: %w", given, err)
		}
		return path, nil
	}
	for _, name := range names {
		// On some systems the name in PATH is a script that only prints how to install it.
		if path, err := exec.LookPath(name); err == nil && check(ctx, path) == nil {
			return path, nil
		}
	}
	if path, err := cached(); err == nil && check(ctx, path) == nil {
		return path, nil
	}
	return "", ErrNone
}

// check runs a program for its version; nil means that it is a Chromium.
func check(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second
	output, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s --version: %w\n%s", path, err, output)
	}
	if !strings.Contains(string(output), "Chrom") {
		return fmt.Errorf("%s --version says %q", path, output)
	}
	return nil
}

// cached returns where [Install] puts a Chromium, named after its version.
func cached() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder to keep a browser in: %w\nset HOME or XDG_CACHE_HOME", err)
	}
	return filepath.Join(cache, "nodepools", "chromium", npmVersion, "chromium"), nil
}
