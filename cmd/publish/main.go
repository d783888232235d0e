// Command publish builds what is published of nodepools, with Go alone:
//
//	publish image    an OCI layout of the image, for linux/amd64 and linux/arm64
//	publish release  programs, bills of materials, manifests, the chart, and the image
//
// It runs in the root of the repository. The same source, flags and version of Go give
// the same bytes. The command is a module of its own, so that nodepools depends on no
// library for registries.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	image, err := run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "publish:", err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, image)
}

func run(ctx context.Context, args []string) (image string, err error) {
	if len(args) == 0 || (args[0] != "image" && args[0] != "release") {
		return "", fmt.Errorf("name a command: image or release")
	}
	var s source
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.StringVar(&s.version, "version", "dev", "version of the program")
	flags.StringVar(&s.commit, "commit", "", "commit of the source, with -dirty behind it if the source differs")
	flags.StringVar(&s.goCommand, "go", "go", "Go command")
	date := flags.Int64("date", 0, "date of what is built, in seconds since 1970")
	layout := flags.String("layout", "bin/image", "new folder of the image")
	output := flags.String("output", "bin/release", "new folder of the release")
	repository := flags.String("repository", "ghcr.io/nodepools/nodepools", "where the image of a release is published")
	platforms := flags.String("platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64", "platforms of a release")
	if err := flags.Parse(args[1:]); err != nil {
		return "", err
	}
	s.date = time.Unix(*date, 0).UTC()
	scratch, err := os.MkdirTemp("", "nodepools-publish-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(scratch) }() // what is left lies among temporary files
	if args[0] == "release" {
		return s.release(ctx, scratch, *layout, *output, *repository, strings.Split(*platforms, ","))
	}
	programs, err := s.compile(ctx, scratch, []string{"linux/amd64", "linux/arm64"})
	if err != nil {
		return "", err
	}
	return s.image(*layout, programs)
}
