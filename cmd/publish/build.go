package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/nodepools/nodepools/cmd/publish/bom"
	"github.com/nodepools/nodepools/cmd/publish/image"
	"github.com/nodepools/nodepools/cmd/publish/program"
)

// builder compiles what a command needs.
type builder struct {
	dir, version, commit, goCommand string
	source                          program.Source
	log                             io.Writer
}

func (b *builder) register(flags *flag.FlagSet, log io.Writer) {
	b.log = log
	flags.StringVar(&b.dir, "source", ".", "root of the repository")
	flags.StringVar(&b.version, "version", "dev", "what the program calls itself")
	flags.StringVar(&b.commit, "commit", "", "commit of the source, with -dirty behind it if the source differs")
	flags.StringVar(&b.goCommand, "go", "go", "Go command")
}

func (b *builder) open(ctx context.Context) error {
	dir, err := filepath.Abs(b.dir)
	if err != nil {
		return err
	}
	if b.source, err = program.Open(ctx, dir, b.version, b.commit); err != nil {
		return err
	}
	if b.source.Dirty() {
		fmt.Fprintln(b.log, "the working tree differs from its commit: what is built says so, and nobody else can build it again")
	}
	return nil
}

// built is a program for one platform.
type built struct {
	platform   program.Platform
	file       string
	executable []byte
}

// build compiles the program for each platform into a folder.
func (b *builder) build(ctx context.Context, dir string, platforms []program.Platform) ([]built, error) {
	var all []built
	for _, p := range platforms {
		fmt.Fprintf(b.log, "compiling %s for %s\n", b.source.Version, p)
		file := filepath.Join(dir, p.Executable("nodepools-"+p.OS+"-"+p.Arch))
		if err := b.source.Compile(ctx, b.goCommand, p, file, b.log); err != nil {
			return nil, err
		}
		executable, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		all = append(all, built{platform: p, file: file, executable: executable})
	}
	return all, nil
}

// layout writes the image of those programs that an image is for, and returns its
// digest.
func (b *builder) layout(dir string, programs []built) (string, error) {
	var list []image.Program
	for _, p := range programs {
		if !slices.Contains(imagePlatforms, p.platform) {
			continue
		}
		materials, err := bom.Of(b.source, p.executable, certificates()...)
		if err != nil {
			return "", err
		}
		list = append(list, image.Program{Platform: p.platform, Executable: p.executable, BOM: materials})
	}
	digest, err := image.Write(dir, b.source, list)
	return digest.String(), err
}

// certificates is the module that the authorities in the image come from. Only a test
// binary does not know its version.
func certificates() []bom.Module {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return nil
	}
	for _, module := range info.Deps {
		if module.Path == image.CertificatesModule {
			return []bom.Module{{Path: module.Path, Version: module.Version}}
		}
	}
	return nil
}

// platforms is a flag: linux/amd64,linux/arm64.
type platforms []program.Platform

func (p *platforms) String() string {
	var names []string
	for _, platform := range *p {
		names = append(names, platform.String())
	}
	return strings.Join(names, ",")
}

// Set implements flag.Value.
func (p *platforms) Set(text string) error {
	*p = nil
	for name := range strings.SplitSeq(text, ",") {
		system, arch, found := strings.Cut(name, "/")
		if !found || system == "" || arch == "" {
			return fmt.Errorf("%q is not a platform such as linux/amd64", name)
		}
		*p = append(*p, program.Platform{OS: system, Arch: arch})
	}
	return nil
}
