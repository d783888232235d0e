// Command publish builds what is published of nodepools, with Go and git alone, and the
// same bytes of the same commit:
//
//	publish image    an OCI layout of the image, for linux/amd64 and linux/arm64
//	publish tree     the files of the image as a folder, which the Dockerfile copies
//	publish push     brings that layout to a registry
//	publish release  programs, bills of materials, manifests, and the image that they name
//
// make image, make push and make release call it.
//
// It is a module of its own, so that nobody who builds, scans or imports nodepools has
// to do with the libraries for registries. It imports nothing of the product: it calls
// the Go command, and the program that comes out of it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Libraries log there what servers send, and a server could send back a password.
	log.SetOutput(io.Discard)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "publish: interrupted")
		os.Exit(130)
	case err != nil:
		fmt.Fprintf(os.Stderr, "publish: %v\n", err)
		os.Exit(1)
	}
}

// commands read their flags and do their work. What a program reads goes to the first
// writer, and what a person reads to the second.
var commands = map[string]func(ctx context.Context, flags *flag.FlagSet, args []string, out, log io.Writer) error{
	"image":   runImage,
	"tree":    runTree,
	"push":    runPush,
	"release": runRelease,
}

func run(ctx context.Context, args []string, out, log io.Writer) error {
	if len(args) == 0 || commands[args[0]] == nil {
		return errors.New("name a command: image, tree, push or release")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(log)
	return commands[args[0]](ctx, flags, args[1:], out, log)
}

// parse refuses arguments that are no flags.
func parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return nil
}
