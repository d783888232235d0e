package main

import (
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// Both are set by -ldflags "-X main.version=v1.2.3 -X main.sourceCommit=0123abcd": the
// version when a release is built, and the commit where git is not there to tell
// it, as in an image. It ends in -dirty where the working copy differed from it.
var version, sourceCommit string

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
	var o outputFlags
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long:  "Prints the version, the commit that it was built from, the version of Go and\nthe platform.",
		Example: `  nodepools version

  # the version alone
  nodepools version -o json | jq -r .version`,
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: work(exitFailed, func(*cobra.Command, []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return printVersion(std, &o)
		}),
	}
	o.register(cmd, "text", "json", "yaml")
	return cmd
}

// printVersion is what both version and --version do.
func printVersion(std streams, o *outputFlags) error {
	build := readBuildInfo(version, debug.ReadBuildInfo).of(sourceCommit)
	document := []byte(build.String())
	if o.format != "text" {
		var err error
		if document, err = marshal(o.format, build.report()); err != nil {
			return err
		}
	}
	return o.write(std.out, document)
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

// of is the same of the commit that the linker was given, if it was.
func (i buildInfo) of(linked string) buildInfo {
	if linked != "" {
		i.commit, i.modified = strings.CutSuffix(linked, "-dirty")
	}
	return i
}

// String is for people.
func (i buildInfo) String() string {
	commit := i.commit
	if commit == "" {
		commit = "unknown"
	}
	if i.modified {
		commit += " (modified)"
	}
	return fmt.Sprintf("nodepools %s\ncommit    %s\ngo        %s\nplatform  %s\n",
		i.version, commit, strings.TrimPrefix(i.compiler, "go"), i.platform)
}

// versionReport is for programs.
type versionReport struct {
	Version   string `json:"version"`
	Commit    string `json:"commit,omitempty"`
	Modified  bool   `json:"modified,omitempty"`
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
}

func (i buildInfo) report() versionReport {
	return versionReport{i.version, i.commit, i.modified, i.compiler, i.platform}
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
