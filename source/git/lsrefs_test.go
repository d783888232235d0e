package git

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/sources"
)

func TestListing(t *testing.T) {
	one, two := strings.Repeat("1f", 20), strings.Repeat("2e", 20)
	type refs map[string]string
	cases := map[string]struct {
		reason, text string
		want, peeled refs
		head         string
		err          error
	}{
		"refs":             {"one a line", pkt(one+" refs/heads/a\n") + pkt(two+" refs/heads/b\n") + "0000", refs{"refs/heads/a": one, "refs/heads/b": two}, nil, "", nil},
		"no end of line":   {"it may be missing", pkt(one+" refs/heads/a") + "0000", refs{"refs/heads/a": one}, nil, "", nil},
		"HEAD":             {"and where it points", pkt(one+" HEAD symref-target:refs/heads/a\n") + "0000", refs{"HEAD": one}, nil, "refs/heads/a", nil},
		"another symref":   {"is not HEAD", pkt(one+" refs/heads/s symref-target:refs/heads/a\n") + "0000", refs{"refs/heads/s": one}, nil, "", nil},
		"annotated tag":    {"and its commit", pkt(one+" refs/tags/v1 peeled:"+two+"\n") + "0000", refs{"refs/tags/v1": one}, refs{"refs/tags/v1": two}, "", nil},
		"more of it":       {"what later versions may add", pkt(one+" refs/heads/a colour:red peeled:"+two+"\n") + "0000", refs{"refs/heads/a": one}, refs{"refs/heads/a": two}, "", nil},
		"nothing there":    {"no ref of the name", "0000", nil, nil, "", nil},
		"no answer":        {"hung up", "", nil, nil, "", errSilent},
		"cut off":          {"no flush at the end", pkt(one + " HEAD\n"), nil, nil, "", io.ErrUnexpectedEOF},
		"cut off in it":    {"half a line", pkt(one + " HEAD\n")[:20], nil, nil, "", io.ErrUnexpectedEOF},
		"delimiter":        {"there are no sections", pkt(one+" HEAD\n") + "0001", nil, nil, "", errGarbled},
		"garbage":          {"no packet line", "<html>", nil, nil, "", errGarbled},
		"no hash":          {"a line of another kind", pkt("unborn HEAD\n") + "0000", nil, nil, "", errGarbled},
		"no name":          {"a hash alone", pkt(one+"\n") + "0000", nil, nil, "", errGarbled},
		"empty name":       {"a hash and a blank", pkt(one+" \n") + "0000", nil, nil, "", errGarbled},
		"peeled to no one": {"half a hash", pkt(one+" refs/tags/v1 peeled:123\n") + "0000", nil, nil, "", errGarbled},
		"SHA-256":          {"reported by the length", pkt(strings.Repeat("1f", 32)+" HEAD\n") + "0000", nil, nil, "", errSHA256},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a, err := readListing(strings.NewReader(c.text), all)
			if !errors.Is(err, c.err) || err != nil && a != nil {
				t.Fatalf("%s: got %v, %v, want %v", c.reason, a, err, c.err)
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
			if diff := cmp.Diff([2]refs{c.want, c.peeled}, got, cmpopts.EquateEmpty()); diff != "" || a.head != c.head {
				t.Errorf("%s: HEAD is %q (-want +got):\n%s", c.reason, a.head, diff)
			}
		})
	}
	var spoken *pktline.ErrorLine
	if _, err := readListing(strings.NewReader(pkt("ERR no")), all); !errors.As(err, &spoken) {
		t.Errorf("an error of the server is %v", err)
	}
}

// A server that ignores the prefixes is read no otherwise.
func TestListingOfMoreThanWasAskedFor(t *testing.T) {
	one := strings.Repeat("1f", 20)
	text := pkt(one+" refs/heads/main-2\n") + pkt(one+" refs/pull/1/head\n") + "0000"
	a, err := readListing(strings.NewReader(text), func(name string, _ plumbing.Hash) bool { return (Ref{Branch: "main"}).wants(name) })
	if err != nil || len(a.refs) != 0 {
		t.Errorf("%v, %v", a, err)
	}
}

// HEAD that is at no branch, as a clone that somebody has checked a commit out of has it:
// the same name is found for it in each version.
func TestDetachedHead(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a"})
	r.Git("branch", "side")
	r.Git("checkout", "--quiet", "--detach")
	everywhere(t, r, func(t *testing.T, g Repository) {
		if got := head(t, &g); !strings.HasPrefix(got, "main@sha1:") {
			t.Errorf("HEAD is %s", got)
		}
	})
}

// What is missing is reported alike in each version.
func TestMissingInEachVersion(t *testing.T) {
	empty, full := sources.NewRepo(t), sources.NewRepo(t)
	full.Commit(map[string]string{"a.yaml": "a"})
	for name, c := range map[string]struct {
		repo *sources.Repo
		ref  Ref
		want error
	}{
		"empty, default branch": {empty, Ref{}, source.ErrEmptyRepository},
		"empty, branch":         {empty, Ref{Branch: "main"}, source.ErrEmptyRepository},
		"empty, range":          {empty, Ref{Semver: "*"}, source.ErrEmptyRepository},
		"branch":                {full, Ref{Branch: "mai"}, source.ErrRefMissing},
		"tag":                   {full, Ref{Tag: "v1"}, source.ErrRefMissing},
		"range":                 {full, Ref{Semver: "*"}, source.ErrRefMissing},
		"SHA-256":               {sha256Repo(t), Ref{}, source.ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, c.repo, func(t *testing.T, g Repository) {
				g.Ref, g.Cache = c.ref, newCache(t)
				for range 2 { // and where the server is known
					_, err := g.Head(t.Context())
					sources.WantError(t, err, c.want)
				}
			})
		})
	}
}

// FuzzListing reads what a server may answer to ls-refs: no panic, whatever it is; nothing
// is made up; and what does not matter is not kept, and changes nothing about what does.
func FuzzListing(f *testing.F) {
	one, two := strings.Repeat("1f", 20), strings.Repeat("2e", 20)
	f.Add(pkt(one+" HEAD symref-target:refs/heads/main\n") + pkt(two+" refs/tags/a peeled:"+one+"\n") + "0000")
	f.Add("0000")
	f.Add("0001")
	f.Add(pkt("ERR x") + "0000")
	f.Add(pkt(strings.Repeat("1f", 32)+" HEAD\n") + "0000")
	f.Add(pkt(one+" a symref-target: peeled: peeled:"+two+" x:y:z") + "0000")
	f.Add("fff0" + strings.Repeat("x", 65516) + "0000")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := readListing(strings.NewReader(text), all)
		if err != nil {
			if a != nil {
				t.Errorf("%v beside refs", err)
			}
			return
		}
		for name, hash := range a.refs {
			if !strings.Contains(strings.ToLower(text), hash.String()+" "+strings.ToLower(name)) {
				t.Errorf("%s %s is made up", hash, name)
			}
		}
		for name, hash := range a.peeled {
			if _, found := a.refs[name]; !found || !strings.Contains(text, "peeled:"+hash.String()) {
				t.Errorf("the commit %s of %s is made up", hash, name)
			}
		}
		some := func(name string, _ plumbing.Hash) bool { return len(name)%2 == 0 }
		b, err := readListing(strings.NewReader(text), some)
		if err != nil {
			t.Fatalf("an error that depends on what matters: %v", err)
		}
		for _, all := range []map[string]plumbing.Hash{a.refs, a.peeled} {
			maps.DeleteFunc(all, func(name string, hash plumbing.Hash) bool { return !some(name, hash) })
		}
		if diff := cmp.Diff(a, b, cmp.AllowUnexported(advertisement{})); diff != "" {
			t.Errorf("(-all, and then some +some):\n%s", diff)
		}
	})
}

// However many refs a repository has, the server sends those that matter.
func TestListingOfManyRefs(t *testing.T) {
	r := sources.NewRepo(t)
	commit := r.Commit(map[string]string{"a.yaml": "a"})
	r.Git("tag", "v1.0.0")
	var refs strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&refs, "create refs/heads/topic/%d %s\ncreate refs/pull/%d/head %s\n", i, commit, i, commit)
	}
	r.Feed(refs.String(), "update-ref", "--stdin")
	s := forge{}.serve(t, r)
	for _, ref := range []Ref{{}, {Branch: "main"}, {Tag: "v1.0.0"}, {Semver: "*"}} {
		g := &Repository{URL: s.repoURL(), Ref: ref, Cache: newCache(t)}
		known := head(t, g)
		if again, snapshot, requests, sent, err := s.latest(t, g, known); err != nil || again != known || snapshot != nil || requests != 1 || sent > 200 {
			t.Errorf("%s: %s, %v, %v, %d requests and %d bytes", ref, again, snapshot, err, requests, sent)
		}
	}
}
