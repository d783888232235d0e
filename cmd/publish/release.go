package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/nodepools/nodepools/cmd/publish/artifacts"
	"github.com/nodepools/nodepools/cmd/publish/bom"
	"github.com/nodepools/nodepools/cmd/publish/image"
	"github.com/nodepools/nodepools/cmd/publish/program"
	"github.com/nodepools/nodepools/cmd/publish/push"
)

// releasePlatforms are those that there is a kubectl for.
var releasePlatforms = platforms{
	{OS: "linux", Arch: "amd64"}, {OS: "linux", Arch: "arm64"},
	{OS: "darwin", Arch: "amd64"}, {OS: "darwin", Arch: "arm64"},
	{OS: "windows", Arch: "amd64"},
}

// runRelease writes the files of a release and the image that its manifests name, and
// prints the name of that image with its digest.
func runRelease(ctx context.Context, flags *flag.FlagSet, args []string, out, log io.Writer) error {
	var b builder
	b.register(flags, log)
	output := flags.String("output", "bin/release", "folder of the release")
	layout := flags.String("layout", "bin/image", "folder of the image")
	repository := flags.String("repository", "ghcr.io/nodepools/nodepools", "where the image is published")
	targets := releasePlatforms
	flags.Var(&targets, "platforms", "platforms of the program")
	if err := parse(flags, args); err != nil {
		return err
	}
	if err := b.open(ctx); err != nil {
		return err
	}
	if err := artifacts.Check(ctx, b.source); err != nil {
		return err
	}
	if err := push.CheckRepository(*repository); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "nodepools-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }() // what is left lies among temporary files
	compiled, err := b.build(ctx, scratch, targets)
	if err != nil {
		return err
	}
	digest, err := b.layout(*layout, compiled)
	if err != nil {
		return err
	}
	release := artifacts.Release{Source: b.source, Image: *repository + ":" + image.Tag(b.version) + "@" + digest}
	if release.Printer, err = b.printer(ctx, scratch, compiled); err != nil {
		return err
	}
	for _, p := range compiled {
		materials, err := bom.Of(b.source, p.executable)
		if err != nil {
			return err
		}
		release.Programs = append(release.Programs, artifacts.Program{Platform: p.platform, Executable: p.executable, BOM: materials})
	}
	if err := release.Write(ctx, *output); err != nil {
		return err
	}
	fmt.Fprintf(log, "the release is in %s, and its image in %s; the manifests name\n", *output, *layout)
	fmt.Fprintln(out, release.Image)
	return nil
}

// printer returns the file of the program for this machine, which prints the manifests.
func (b *builder) printer(ctx context.Context, dir string, compiled []built) (string, error) {
	for _, p := range compiled {
		if p.platform == program.Host() {
			return p.file, nil
		}
	}
	more, err := b.build(ctx, dir, []program.Platform{program.Host()})
	if err != nil {
		return "", err
	}
	return more[0].file, nil
}
