package git

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func all(string, plumbing.Hash) bool { return true }

// What servers send that the git program here does not.
func TestReadAdvertisement(t *testing.T) {
	one, two := strings.Repeat("1", 40), strings.Repeat("2", 40)
	lines := func(all ...string) string {
		var b strings.Builder
		for _, line := range all {
			if line != "" {
				fmt.Fprintf(&b, "%04x%s", len(line)+4, line)
				continue
			}
			b.WriteString("0000")
		}
		return b.String()
	}
	type refs map[string]string
	cases := map[string]struct {
		reason, text string
		want, peeled refs
		err          error
	}{
		"plain":               {"over ssh", lines(one+" HEAD\x00shallow\n", two+" refs/heads/a\n", ""), refs{"HEAD": one, "refs/heads/a": two}, nil, nil},
		"http":                {"a line and a flush come first", lines("# service=git-upload-pack\n", "", one+" HEAD\x00\n", ""), refs{"HEAD": one}, nil, nil},
		"version 1":           {"a version comes first", lines("version 1\n", one+" HEAD\x00\n", ""), refs{"HEAD": one}, nil, nil},
		"peeled":              {"the tag and its commit", lines(one+" refs/tags/v1\x00\n", two+" refs/tags/v1^{}\n", ""), refs{"refs/tags/v1": one}, refs{"refs/tags/v1": two}, nil},
		"peeled without tag":  {"belongs to nothing", lines(one+" refs/tags/v1\x00\n", two+" refs/tags/v2^{}\n", ""), refs{"refs/tags/v1": one}, nil, nil},
		"shallow":             {"a repository without all of its history", lines(one+" HEAD\x00\n", "shallow "+two+"\n", ""), refs{"HEAD": one}, nil, nil},
		"empty":               {"a flush alone", lines(""), nil, nil, errEmpty},
		"empty, capabilities": {"git 2.41 and JGit", lines(strings.Repeat("0", 40)+" capabilities^{}\x00shallow\n", ""), nil, nil, errEmpty},
		"empty SHA-256":       {"reported by the length", lines(strings.Repeat("0", 64)+" capabilities^{}\x00\n", ""), nil, nil, errSHA256},
		"SHA-256":             {"reported by the length", lines(strings.Repeat("1", 64)+" HEAD\x00\n", ""), nil, nil, errSHA256},
		"nothing":             {"hung up", "", nil, nil, errSilent},
		"cut off":             {"no flush at the end", lines(one + " HEAD\x00\n"), nil, nil, io.ErrUnexpectedEOF},
		"version 2":           {"the refs come later", lines("version 2\n", "agent=x\n", "ls-refs=unborn\n", "fetch=shallow filter\n", ""), nil, nil, nil},
		"version 2, http":     {"some send the line of version 0 first", lines("# service=git-upload-pack\n", "", "version 2\n", "ls-refs\n", "fetch\n", "object-format=sha1\n", ""), nil, nil, nil},
		"version 2, SHA-256":  {"reported by name", lines("version 2\n", "ls-refs\n", "fetch\n", "object-format=sha256\n", ""), nil, nil, errSHA256},
		"version 2, no fetch": {"of no use", lines("version 2\n", "ls-refs\n", ""), nil, nil, errGarbled},
		"version 2, cut off":  {"no flush at the end", lines("version 2\n", "ls-refs\n", "fetch\n"), nil, nil, io.ErrUnexpectedEOF},
		"version 2, long":     {"it would be kept", lines("version 2\n", "ls-refs\n", "fetch="+strings.Repeat("x ", 600)+"\n", ""), nil, nil, errGarbled},
		"garbage":             {"lines, but no refs", lines("hello\n", ""), nil, nil, errGarbled},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a, err := readAdvertisement(strings.NewReader(c.text), all)
			if !errors.Is(err, c.err) {
				t.Fatalf("%s: got %v, want %v", c.reason, err, c.err)
			}
			if err != nil {
				return
			}
			got := [2]refs{{}, {}}
			for i, found := range []map[string]plumbing.Hash{a.refs, a.peeled} {
				for name, hash := range found {
					got[i][name] = hash.String()
				}
			}
			if diff := cmp.Diff([2]refs{c.want, c.peeled}, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// FuzzAdvertisement reads what a server may send: no panic, whatever it is;
// nothing is made up; and what is not asked for is not kept, and changes nothing
// about what is.
func FuzzAdvertisement(f *testing.F) {
	one, two := strings.Repeat("1f", 20), strings.Repeat("2e", 20)
	f.Add("001e# service=git-upload-pack\n0000003f" + one + " HEAD\x00symref=HEAD:x\n0000")
	f.Add("0000")
	f.Add("000eversion 1\n0033" + one + " HEAD\x00shallow\n003e" + two + " refs/tags/a^{}\n0000")
	f.Add("003d" + one + " refs/tags/a\x00a\n003e" + two + " refs/tags/a^{}\n0035shallow " + two + "\n0000")
	f.Add("004e" + strings.Repeat("1f", 32) + " HEAD\x00a=b\n0000")
	f.Add("0009ERR x0000")
	f.Add("000eversion 2\n000bls-refs\n0012fetch=shallow\n0000")
	f.Add("001e# service=git-upload-pack\n0000000eversion 2\n0017object-format=sha256\n0000")
	f.Add("fff0" + strings.Repeat("x", 65516) + "0000")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := readAdvertisement(strings.NewReader(text), all)
		if err != nil {
			if a != nil {
				t.Errorf("%v beside refs", err)
			}
			return
		}
		if len(a.refs) == 0 && a.version < 2 {
			t.Error("no refs and no error")
		}
		for name, hash := range a.refs {
			if !strings.Contains(strings.ToLower(text), hash.String()+" "+strings.ToLower(name)) {
				t.Errorf("%s %s is made up", hash, name)
			}
		}
		for name := range a.peeled {
			if _, found := a.refs[name]; !found {
				t.Errorf("the commit of %s, which there is not", name)
			}
		}
		some := func(name string, _ plumbing.Hash) bool { return len(name)%2 == 0 }
		b, err := readAdvertisement(strings.NewReader(text), some)
		if err != nil {
			t.Fatalf("an error that depends on what is asked for: %v", err)
		}
		for _, all := range []map[string]plumbing.Hash{a.refs, a.peeled} {
			maps.DeleteFunc(all, func(name string, hash plumbing.Hash) bool { return !some(name, hash) })
		}
		if diff := cmp.Diff(a, b, cmp.AllowUnexported(advertisement{})); diff != "" {
			t.Errorf("(-all, and then some +some):\n%s", diff)
		}
	})
}
