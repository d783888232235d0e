package browser

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// given is the environment variable that names a Chromium; no other is searched for then.
const given = "NODEPOOLS_CHROMIUM"

// names are those of Chromium and of browsers based on it, in PATH and in the
// application folder of macOS.
var names = []string{
	"chromium", "chromium-browser", "chromium-headless-shell", "chrome-headless-shell",
	"google-chrome", "google-chrome-stable", "chrome",
	"/Applications/Chromium.app/Contents/MacOS/Chromium",
	"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
}

// find returns the path of a Chromium: the one that NODEPOOLS_CHROMIUM names, else one in
// PATH, else one that install.sh has put into the user's cache.
func find() (string, error) {
	if path := os.Getenv(given); path != "" {
		return path, nil
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	installed, err := filepath.Glob(filepath.Join(cache, "nodepools", "chromium", "*", "chromium"))
	if err != nil || len(installed) == 0 {
		return "", errors.New("no Chromium was found")
	}
	return installed[len(installed)-1], nil
}
