package main

import (
	"fmt"
	"io"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// version is set when a release is built: -ldflags "-X main.version=v1.2.3".
var version string

// unknownVersion is that of a build of which nothing is known.
const unknownVersion = "devel"

// buildInfo is what is known of this binary.
type buildInfo struct {
	version  string
	commit   string // empty where the build does not tell
	modified bool   // the working copy differed from the commit
	platform string
	compiler string
}

func newVersion(std streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long:  "Prints the version, the commit that it was built from, the version of Go and\nthe platform.",
		Example: `  nodepools version

  # the version alone
  nodepools version | head -n 1`,
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(*cobra.Command, []string) error { return printVersion(std) },
	}
}

// printVersion is what both version and --version do.
func printVersion(std streams) error {
	if err := readBuildInfo(version, debug.ReadBuildInfo).writeTo(std.out); err != nil {
		return &outcome{code: exitFailed, err: fmt.Errorf("print: %w", err)}
	}
	return nil
}

// readBuildInfo takes the version that the linker was given, or else what the
// Go command has noted.
func readBuildInfo(linked string, read func() (*debug.BuildInfo, bool)) buildInfo {
	info := buildInfo{version: linked, platform: runtime.GOOS + "/" + runtime.GOARCH, compiler: runtime.Version()}
	if build, known := read(); known {
		for _, setting := range build.Settings {
			switch setting.Key {
			case "vcs.revision":
				info.commit = setting.Value
			case "vcs.modified":
				info.modified = setting.Value == "true"
			}
		}
		if info.version == "" && build.Main.Version != "(devel)" {
			info.version = build.Main.Version
		}
	}
	if info.version == "" {
		info.version = unknownVersion
	}
	return info
}

func (i buildInfo) writeTo(w io.Writer) error {
	commit := i.commit
	if commit == "" {
		commit = "unknown"
	}
	if i.modified {
		commit += " (modified)"
	}
	_, err := fmt.Fprintf(w, "nodepools %s\ncommit    %s\ngo        %s\nplatform  %s\n",
		i.version, commit, strings.TrimPrefix(i.compiler, "go"), i.platform)
	return err
}

// releaseVersion is v1.2.3 or v1.2.3-rc.1, and not what Go makes up for a commit
// between releases.
var (
	releaseVersion = regexp.MustCompile(`^v\d+\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?$`)
	notInTag       = regexp.MustCompile(`[^A-Za-z0-9_.-]`)
)

func (i buildInfo) released() bool { return releaseVersion.MatchString(i.version) }

// imageTag is the version as the tag of an image, which cannot have a plus.
func (i buildInfo) imageTag() string { return notInTag.ReplaceAllString(i.version, "-") }

// userAgent is how the program calls itself towards the API server.
func (i buildInfo) userAgent() string { return "nodepools/" + i.version }
