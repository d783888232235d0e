package fleet

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/nodecache"
)

// Nodes wait for revisions that an earlier process began, and for no others.
func TestWaitForUnfinishedRevisions(t *testing.T) {
	began := func(name, revision string) v1.NodePoolSource {
		return v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodePoolSourceStatus{ApplyingRevision: revision}}
	}
	for _, tc := range []struct {
		reason  string
		sources []v1.NodePoolSource
		run     func(*Fleet)
		want    time.Duration
		partial []string
	}{
		{reason: "every revision is written", sources: []v1.NodePoolSource{began("a", "")}},
		{reason: "this process writes one", run: func(s *Fleet) { mustFreeze(t, s, "a", "p") }},
		{
			reason: "nobody finishes it", sources: []v1.NodePoolSource{began("a", "main@sha1:1"), began("b", "")},
			want: MaxUnfinishedWait, partial: []string{"a main@sha1:1"},
		},
		{
			reason: "it is finished at once", sources: []v1.NodePoolSource{began("a", "1")},
			run: func(s *Fleet) { s.Unfreeze("a") },
		},
		{
			reason: "it is finished later", sources: []v1.NodePoolSource{began("a", "1")},
			run:  func(s *Fleet) { time.AfterFunc(time.Second, func() { s.Unfreeze("a") }) },
			want: time.Second,
		},
		{
			reason: "one of two is finished", sources: []v1.NodePoolSource{began("a", "1"), began("b", "2")},
			run:  func(s *Fleet) { s.Unfreeze("b") },
			want: MaxUnfinishedWait, partial: []string{"a 1"},
		},
		{
			reason: "the pass that finishes it does not start the time anew", sources: []v1.NodePoolSource{began("a", "1")},
			run: func(s *Fleet) {
				for range 9 {
					mustFreeze(t, s, "a", "p")
					time.Sleep(time.Second)
				}
			},
			want: MaxUnfinishedWait - 9*time.Second, partial: []string{"a 1"},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			cache := &poolList{sources: tc.sources}
			s := New(cache, nodecache.Live(cache))
			published := s.changes.subscribe(Partial)
			if err := s.Resume(t.Context()); err != nil {
				t.Fatal(err)
			}
			if tc.run != nil {
				tc.run(s)
			}
			start := time.Now()
			if _, err := s.Snapshot(t.Context()); err != nil {
				t.Error(err)
			}
			if got := time.Since(start); got != tc.want {
				t.Errorf("%s: waited for %v, want %v", tc.reason, got, tc.want)
			}
			synctest.Wait()
			var partial []string
			for _, source := range slices.Sorted(maps.Keys(published.take())) {
				partial = append(partial, source+" "+s.PartialRevision(source))
			}
			if !slices.Equal(partial, tc.partial) {
				t.Errorf("%s: reported as followed in part: %q, want %q", tc.reason, partial, tc.partial)
			}
			if s.Unfreeze("a"); s.PartialRevision("a") != "" {
				t.Errorf("%s: still reported as followed in part once it is written", tc.reason)
			}
		})
	}
}

// What is frozen is followed as it was, whatever becomes of it and however long that
// takes; all else is followed at once.
func TestFrozenPoolsAreFollowedAsTheyWere(t *testing.T) {
	pool := func(name string, generation int64, parent string) *v1.NodePool {
		return &v1.NodePool{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid", Generation: generation},
			Spec:       v1.NodePoolSpec{Priority: int32(generation), Parent: parent},
		}
	}
	cache := &poolList{pools: map[string]*v1.NodePool{
		"changed": pool("changed", 1, ""), "deleted": pool("deleted", 1, ""), "other": pool("other", 1, ""), "inner": pool("inner", 1, "changed"),
	}}
	s := New(cache, nodecache.Live(cache))
	published := s.changes.subscribe(Definition)
	followsNow := func(reason string, want map[string]int64) {
		t.Helper()
		snapshot, err := s.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for name, generation := range want {
			state, found := snapshot.pools[name]
			if found != (generation > 0) || found && state.definition.Generation != generation {
				t.Errorf("%s: pool %s is followed: %v, as %+v, want generation %d", reason, name, found, state.definition, generation)
			}
		}
	}
	before := map[string]int64{"changed": 1, "deleted": 1, "created": 0, "other": 1}
	followsNow("before", before)

	mustFreeze(t, s, "a", "changed", "deleted", "created")
	cache.pools["changed"], cache.pools["created"] = pool("changed", 2, ""), pool("created", 1, "")
	delete(cache.pools, "deleted")
	for _, name := range []string{"changed", "created", "deleted"} {
		s.changed(name)
		if changes := published.take(); len(changes) > 0 {
			t.Errorf("the change of pool %s is to be followed while its revision is written: %v", name, changes)
		}
	}
	followsNow("the revision is written", before)

	cache.pools["other"] = pool("other", 2, "")
	s.changed("other")
	if changes := published.take(); !maps.Equal(changes, Changes{"other": Definition}) {
		t.Errorf("another pool has changed, and followed is %v", changes)
	}
	before["other"] = 2
	followsNow("another pool has changed", before)

	mustFreeze(t, s, "a", "changed") // by the pass that goes on with it
	s.Unfreeze("b")
	followsNow("the next pass goes on, and another source is done", before)

	s.Unfreeze("a")
	followsNow("it is written", map[string]int64{"changed": 2, "deleted": 0, "created": 1, "other": 2})
	if changes, want := published.take(), (Changes{"changed": Definition, "created": Definition, "deleted": Definition}); !maps.Equal(changes, want) {
		t.Errorf("to be followed again are %v, want %v", changes, want)
	}
	s.Unfreeze("a")
	if changes := published.take(); len(changes) > 0 {
		t.Errorf("followed twice: %v", changes)
	}
	if inner, err := s.Enclosed(t.Context(), "changed", "created", "deleted"); err != nil || !slices.Equal(inner, []string{"inner"}) {
		t.Errorf("enclosed are %v, %v, want the inner pool", inner, err)
	}
}

func mustFreeze(t *testing.T, s *Fleet, source string, pools ...string) {
	t.Helper()
	if err := s.Freeze(t.Context(), source, pools); err != nil {
		t.Error(err)
	}
}
