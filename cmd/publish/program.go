package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/CycloneDX/cyclonedx-gomod/pkg/generate/bin"
	"github.com/rs/zerolog"
)

// source is what programs are compiled from.
type source struct {
	version, commit, goCommand string
	date                       time.Time
}

// program is a program for one platform, and its bill of materials.
type program struct {
	os, arch, file        string
	executable, materials []byte
}

// The version and the commit become part of a flag of the linker, which takes blanks and
// quotes as its own.
var (
	validVersion = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$`)
	validCommit  = regexp.MustCompile(`^([0-9a-f]{40}(-dirty)?)?$`)
)

// compile builds the program for each platform below dir. The bytes follow from the
// source, the platform and the version of Go.
func (s *source) compile(ctx context.Context, dir string, platforms []string) (programs []program, err error) {
	if !validVersion.MatchString(s.version) || !validCommit.MatchString(s.commit) {
		return nil, fmt.Errorf("version %q or commit %q is not valid\nname a version as in VERSION=v1.2.3, and a commit in full", s.version, s.commit)
	}
	for _, platform := range platforms {
		system, arch, _ := strings.Cut(platform, "/")
		p := program{os: system, arch: arch, file: filepath.Join(dir, system+"-"+arch, "nodepools")}
		if system == "windows" {
			p.file += ".exe"
		}
		fmt.Fprintf(os.Stderr, "compiling %s for %s\n", s.version, platform)
		cmd := exec.CommandContext(ctx, s.goCommand, "build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-o", p.file,
			"-ldflags", fmt.Sprintf("-s -w -X main.version=%s -X main.sourceCommit=%s", s.version, s.commit), "./cmd/nodepools")
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		// What the user has set for other work is overridden.
		cmd.Env = append(cmd.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0",
			"GOAMD64=v1", "GOARM64=v8.0", "GOFIPS140=off", "GOFLAGS=-mod=readonly", "GOWORK=off", "GOEXPERIMENT=")
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("cannot compile nodepools for %s: %w", platform, err)
		}
		if p.executable, err = os.ReadFile(p.file); err != nil {
			return nil, err
		}
		if p.materials, err = s.materials(p.file); err != nil {
			return nil, fmt.Errorf("cannot list the modules of the program: %w", err)
		}
		programs = append(programs, p)
	}
	return programs, nil
}

// materials returns the bill of materials of a program, as CycloneDX.
func (s *source) materials(file string) ([]byte, error) {
	generator, err := bin.NewGenerator(file, bin.WithLogger(zerolog.Nop()), bin.WithIncludeStdlib(true), bin.WithVersionOverride(s.version))
	if err != nil {
		return nil, err
	}
	bill, err := generator.Generate()
	if err != nil {
		return nil, err
	}
	var buffer bytes.Buffer
	err = cdx.NewBOMEncoder(&buffer, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bill)
	return buffer.Bytes(), err
}
