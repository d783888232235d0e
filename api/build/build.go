// Package build says what is known of a binary: its version, the commit that it was
// built from, the version of Go and the platform. Start with [Read].
package build

import (
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
)

// unknownVersion is that of a build of which nothing is known.
const unknownVersion = "devel"

// Info is what is known of a binary.
type Info struct {
	// Version is v1.2.3 of a release, and devel where nothing is known.
	Version  string
	commit   string // empty where it is not known
	modified bool   // the working copy differed from the commit
	platform string
	compiler string
}

// Read takes the version and the commit that the linker was given, or else what the Go
// command has recorded in the binary. A commit that ends in -dirty is of a working copy
// that differed from it.
func Read(version, commit string, recorded func() (*debug.BuildInfo, bool)) Info {
	return readVersion(version, recorded).of(commit)
}

func readVersion(linked string, read func() (*debug.BuildInfo, bool)) Info {
	info := Info{Version: linked, platform: runtime.GOOS + "/" + runtime.GOARCH, compiler: runtime.Version()}
	if build, known := read(); known {
		for _, setting := range build.Settings {
			switch setting.Key {
			case "vcs.revision":
				info.commit = setting.Value
			case "vcs.modified":
				info.modified = setting.Value == "true"
			}
		}
		if info.Version == "" && build.Main.Version != "(devel)" {
			info.Version = build.Main.Version
		}
	}
	if info.Version == "" {
		info.Version = unknownVersion
	}
	return info
}

// of is the same of the commit that the linker was given, if it was.
func (i Info) of(linked string) Info {
	if linked != "" {
		i.commit, i.modified = strings.CutSuffix(linked, "-dirty")
	}
	return i
}

// String is for people.
func (i Info) String() string {
	commit := i.commit
	if commit == "" {
		commit = "unknown"
	}
	if i.modified {
		commit += " (modified)"
	}
	return fmt.Sprintf("nodepools %s\ncommit    %s\ngo        %s\nplatform  %s\n",
		i.Version, commit, strings.TrimPrefix(i.compiler, "go"), i.platform)
}

// Report is for programs.
type Report struct {
	Version   string `json:"version"`
	Commit    string `json:"commit,omitempty"`
	Modified  bool   `json:"modified,omitempty"`
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
}

// Report returns what is known, for programs.
func (i Info) Report() Report {
	return Report{i.Version, i.commit, i.modified, i.compiler, i.platform}
}

// A release is v1.2.3 or v1.2.3-rc.1, and nothing that Go makes up for a commit
// between releases.
var (
	releaseVersion = regexp.MustCompile(`^v\d+\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?$`)
	notInTag       = regexp.MustCompile(`[^A-Za-z0-9_.-]`)
)

// Released reports whether this is a release.
func (i Info) Released() bool { return releaseVersion.MatchString(i.Version) }

// ImageTag is the version as the tag of an image, which cannot have a plus.
func (i Info) ImageTag() string { return notInTag.ReplaceAllString(i.Version, "-") }

// UserAgent is how the program calls itself towards the API server.
func (i Info) UserAgent() string { return "nodepools/" + i.Version }
