// Command chromium installs the browser that tests look at pages with, where
// there is none, and prints its path:
//
//	go run ./testdata/chromium
//
// Where none can be had it says why, and does not fail: the tests that need it
// are skipped.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/nodepools/nodepools/testdata/browser"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	path, err := browser.Install(ctx, func(what string) { fmt.Fprintf(os.Stderr, "chromium: %s\n", what) })
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "chromium: interrupted")
		os.Exit(1)
	case errors.Is(err, browser.ErrNone):
		fmt.Fprintf(os.Stderr, "chromium: THE TESTS THAT NEED A BROWSER WILL NOT RUN: %v\n", err)
	case err != nil:
		fmt.Fprintf(os.Stderr, "chromium: %v\n", err)
		os.Exit(1)
	default:
		fmt.Println(path)
	}
}
