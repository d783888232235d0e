package git

import (
	"fmt"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nodepools/nodepools/testdata/sources"
)

// swap has each of two objects lie where the other one does, in the first index of what is
// kept.
func (k *kept) swap(t *testing.T, one, other plumbing.Hash) {
	t.Helper()
	at := map[plumbing.Hash]int64{}
	found := map[plumbing.Hash]entry{}
	for i := range k.indexes[0].count {
		offset := k.indexes[0].at + int64(i)*entrySize
		buffer := make([]byte, entrySize)
		if _, err := k.file.ReadAt(buffer, offset); err != nil {
			t.Fatal(err)
		}
		e := decodeEntry(buffer)
		at[e.hash], found[e.hash] = offset, e
	}
	for hash, by := range map[plumbing.Hash]plumbing.Hash{one: other, other: one} {
		e := found[by]
		e.hash = hash
		if at[hash] == 0 || e.offset == 0 {
			t.Fatalf("%s is not in the index", hash)
		}
		if _, err := k.file.WriteAt(e.encode(nil), at[hash]); err != nil {
			t.Fatal(err)
		}
	}
}

// Two files that have changed places on the disk would make a snapshot that is whole and
// wrong. They are not what their hashes say, so the revision is fetched whole.
func TestKeptObjectsAreVerified(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "kind: A", "b.yaml": "kind: B", "c.yaml": "c"})
	g := &Repository{URL: r.URL(), Ref: Ref{Branch: "main"}, Cache: newCache(t)}
	known, _, err := g.Latest(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	hash := func(name string) plumbing.Hash { return plumbing.NewHash(r.Git("rev-parse", "HEAD:"+name)) }
	g.Cache.kept.swap(t, hash("a.yaml"), hash("b.yaml"))
	r.Commit(map[string]string{"c.yaml": "changed"})
	revision, snapshot, err := g.Latest(t.Context(), known)
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, r, g.Ref, "", revision, snapshot)
	if g.Cache.failures != 1 {
		t.Errorf("%d fetches have led to nothing, want 1", g.Cache.failures)
	}
}

// A server that makes nothing of what is kept is not asked for that each time, and is not
// given up for good either: it may be another one by now.
func TestServerThatFailedIsTriedAgain(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "kind: A", "b.yaml": "kind: B", "c.yaml": "c"})
	g := &Repository{URL: r.URL(), Ref: Ref{Branch: "main"}, Cache: newCache(t)}
	known, _, err := g.Latest(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	commits := 0
	// fetch fetches another commit, and reports whether that was onto what is kept.
	fetch := func(spoilt bool) bool {
		t.Helper()
		if spoilt {
			hash := func(name string) plumbing.Hash { return plumbing.NewHash(r.Git("rev-parse", "HEAD:"+name)) }
			g.Cache.kept.swap(t, hash("a.yaml"), hash("b.yaml"))
		}
		commits++
		r.Commit(map[string]string{"c.yaml": fmt.Sprint("changed ", commits)})
		revision, snapshot, err := g.Latest(t.Context(), known)
		if err != nil {
			t.Fatal(err)
		}
		wantSame(t, r, g.Ref, "", revision, snapshot)
		known = revision
		return len(g.Cache.kept.indexes) > 1
	}
	rests := func() {
		t.Helper()
		for range restFetches {
			if fetch(false) {
				t.Fatalf("commit %d is fetched onto what is kept", commits)
			}
		}
	}
	for range maxFailures {
		fetch(true)
	}
	rests()
	if fetch(true); g.Cache.failures != maxFailures+1 {
		t.Errorf("%d fetches have led to nothing, want one more than %d", g.Cache.failures, maxFailures)
	}
	rests()
	if !fetch(false) || g.Cache.failures != 0 {
		t.Errorf("the server can do it by now, and %d fetches count as failed", g.Cache.failures)
	}
	if !fetch(false) {
		t.Error("it can do it, and the whole is asked for")
	}
}
