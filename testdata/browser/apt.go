package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// aptPackages are Debian's packages of Chromium: the headless one, and the whole one.
var aptPackages = []string{"chromium-headless-shell", "chromium"}

func aptPossible() error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return errors.New("there is no apt-get")
	}
	if os.Geteuid() != 0 {
		return errors.New("apt-get installs for root alone")
	}
	return nil
}

func aptInstall(ctx context.Context) error {
	// Wait for a lock of another process, but not forever.
	env := []string{"DEBIAN_FRONTEND=noninteractive"}
	options := []string{"-qq", "-o", "DPkg::Lock::Timeout=120", "-o", "Acquire::Retries=2"}
	var failed []error
	// An unreachable repository may not be the one that has Chromium.
	if err := quietly(ctx, "", env, "apt-get", append([]string{"update"}, options...)...); err != nil {
		failed = append(failed, err)
	}
	for _, name := range aptPackages {
		arguments := append([]string{"install", "--yes", "--no-install-recommends", name}, options...)
		err := quietly(ctx, "", env, "apt-get", arguments...)
		if err == nil {
			_, err = Find(ctx)
		}
		if err == nil {
			return nil
		}
		failed = append(failed, fmt.Errorf("package %s: %w", name, err))
	}
	return errors.Join(failed...)
}
