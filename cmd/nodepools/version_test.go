package main

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestReadBuildInfo(t *testing.T) {
	built := func(version string, settings ...debug.BuildSetting) func() (*debug.BuildInfo, bool) {
		return func() (*debug.BuildInfo, bool) {
			return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}, true
		}
	}
	unknown := func() (*debug.BuildInfo, bool) { return nil, false }
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "0123abcd"}
	modified := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for _, test := range []struct {
		reason   string
		linked   string
		read     func() (*debug.BuildInfo, bool)
		prints   string
		tag      string
		released bool
	}{
		{"a release says its version", "v1.2.3", built("(devel)", commit), "nodepools v1.2.3\ncommit    0123abcd\n", "v1.2.3", true},
		{"go install knows the version", "", built("v1.2.3"), "nodepools v1.2.3\ncommit    unknown\n", "v1.2.3", true},
		{"a candidate is a release", "v1.2.3-rc.1", unknown, "nodepools v1.2.3-rc.1\n", "v1.2.3-rc.1", true},
		{
			"a working copy is none, and its version no tag", "", built("v1.2.4-0.20260102030405-0123abcd+dirty", commit, modified),
			"nodepools v1.2.4-0.20260102030405-0123abcd+dirty\ncommit    0123abcd (modified)\n", "v1.2.4-0.20260102030405-0123abcd-dirty", false,
		},
		{"git describe is none", "v1.2.3-4-g0123abc", unknown, "nodepools v1.2.3-4-g0123abc\n", "v1.2.3-4-g0123abc", false},
		{"nothing is known", "", unknown, "nodepools devel\ncommit    unknown\n", "devel", false},
	} {
		t.Run(test.reason, func(t *testing.T) {
			info := readBuildInfo(test.linked, test.read)
			var printed strings.Builder
			if err := info.writeTo(&printed); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(printed.String(), test.prints) {
				t.Errorf("written:\n%swant it to begin with:\n%s", printed.String(), test.prints)
			}
			if info.imageTag() != test.tag || info.released() != test.released {
				t.Errorf("tag %q, released %t; want %q, %t", info.imageTag(), info.released(), test.tag, test.released)
			}
		})
	}
}
