package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/nodepools/nodepools/cmd/publish/image"
	"github.com/nodepools/nodepools/cmd/publish/program"
)

// imagePlatforms are those that there are nodes of.
var imagePlatforms = platforms{{OS: "linux", Arch: "amd64"}, {OS: "linux", Arch: "arm64"}}

// runImage writes the image, and prints its digest last.
func runImage(ctx context.Context, flags *flag.FlagSet, args []string, out, log io.Writer) error {
	var b builder
	b.register(flags, log)
	output := flags.String("output", "bin/image", "folder of the image")
	targets := imagePlatforms
	flags.Var(&targets, "platforms", "platforms of the image")
	if err := parse(flags, args); err != nil {
		return err
	}
	for _, p := range targets {
		if !slices.Contains(imagePlatforms, p) {
			return fmt.Errorf("there is no image for %s, only for %s", p, imagePlatforms.String())
		}
	}
	if err := b.open(ctx); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "nodepools-image-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }() // what is left lies among temporary files
	programs, err := b.build(ctx, scratch, targets)
	if err != nil {
		return err
	}
	digest, err := b.layout(*output, programs)
	if err != nil {
		return err
	}
	fmt.Fprintf(log, "image %s for %s is in %s\n", image.Tag(b.version), targets.String(), *output)
	fmt.Fprintln(out, digest)
	return nil
}

// runTree writes the files of the image of one platform.
func runTree(ctx context.Context, flags *flag.FlagSet, args []string, _, log io.Writer) error {
	var b builder
	b.register(flags, log)
	output := flags.String("output", "", "folder to write, which is empty or does not exist")
	targets := platforms{program.Platform{OS: "linux", Arch: program.Host().Arch}}
	flags.Var(&targets, "platforms", "platform of the program")
	if err := parse(flags, args); err != nil {
		return err
	}
	if *output == "" || len(targets) != 1 {
		return errors.New("name one folder with -output, and one platform with -platforms")
	}
	if err := b.open(ctx); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "nodepools-image-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }() // what is left lies among temporary files
	programs, err := b.build(ctx, scratch, targets)
	if err != nil {
		return err
	}
	return image.WriteTree(*output, programs[0].executable)
}
