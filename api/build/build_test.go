package build

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestReadVersion(t *testing.T) {
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
			info := readVersion(test.linked, test.read)
			if printed := info.String(); !strings.HasPrefix(printed, test.prints) {
				t.Errorf("written:\n%swant it to begin with:\n%s", printed, test.prints)
			}
			if info.ImageTag() != test.tag || info.Released() != test.released {
				t.Errorf("tag %q, released %t; want %q, %t", info.ImageTag(), info.Released(), test.tag, test.released)
			}
		})
	}
}

// Where git is not there, the commit is reported, and goes before what Go has noted.
func TestBuildInfoOfCommit(t *testing.T) {
	noted := Info{commit: "0123abcd", modified: true}
	for _, test := range []struct {
		reason, linked string
		info, want     Info
	}{
		{"nothing is reported", "", noted, noted},
		{"it is reported", "89abcdef", noted, Info{commit: "89abcdef"}},
		{"it is reported, with changes", "89abcdef-dirty", Info{}, Info{commit: "89abcdef", modified: true}},
	} {
		if got := test.info.of(test.linked); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.reason, got, test.want)
		}
	}
}
