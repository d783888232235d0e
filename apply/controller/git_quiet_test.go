package controller

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A look that finds nothing new costs one list of refs, whatever was found
// before; a new revision costs one pack more. Nothing is written for a look.
func TestGitPollCosts(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	server := repo.serve(t)
	first := repo.commit(files{"pools/a.yaml": poolFile("a", "0"), "README.md": "0"})
	w.source("costs", server.url(), rarely)
	w.follows("costs", first)
	server.requests()

	for i, tc := range []struct {
		name   string
		reason string
		commit func() string
		check  func(revision string)
	}{
		{
			name: "good revision", reason: "it is read once",
			commit: func() string { return repo.commit(files{"pools/a.yaml": poolFile("a", "1")}) },
			check:  func(revision string) { w.follows("costs", revision) },
		},
		{
			name: "bad revision", reason: "it would be as bad at the next look",
			commit: func() string { return repo.commit(files{"pools/a.yaml": "kind: Nonsense\n"}) },
			check: func(string) {
				w.stands("costs", v1.ValidCondition, metav1.ConditionFalse, v1.InvalidReason)
			},
		},
		{
			name: "path missing", reason: "it would be missing at the next look",
			commit: func() string { repo.git("mv", "pools", "elsewhere"); return repo.commit(nil) },
			check:  func(string) { w.stands("costs", v1.FetchedCondition, metav1.ConditionFalse, "PathMissing") },
		},
		{
			name: "back to good", reason: "the way out of trouble costs no more",
			commit: func() string {
				repo.git("mv", "elsewhere", "pools")
				return repo.commit(files{"pools/a.yaml": poolFile("a", "1")})
			},
			check: func(revision string) { w.follows("costs", revision) },
		},
		{
			name: "commit elsewhere", reason: "no pool is touched by it",
			commit: func() string { return repo.commit(files{"README.md": "1"}) },
			check:  func(revision string) { w.follows("costs", revision) },
		},
	} {
		revision := tc.commit()
		w.request("costs", fmt.Sprintf("new-%d", i))
		tc.check(revision)
		if lists, packs := server.requests(); lists != 1 || packs != 1 {
			t.Errorf("%s: the first look cost %d lists and %d packs, want 1 and 1 (%s)", tc.name, lists, packs, tc.reason)
		}
		for again := range 2 {
			w.poolsReady("a")
			mark := w.mark()
			w.request("costs", fmt.Sprintf("same-%d-%d", i, again))
			tc.check(revision)
			if lists, packs := server.requests(); lists != 1 || packs != 0 {
				t.Errorf("%s: a look that found nothing new cost %d lists and %d packs, want 1 and 0 (%s)", tc.name, lists, packs, tc.reason)
			}
			w.wroteOnly(mark, "patch nodepoolsources/status costs")
		}
	}
	if annotation := w.allPools()["a"].Annotations[v1.RevisionAnnotation]; annotation == w.mustRead("costs").Status.Revision {
		t.Errorf("pool a is marked with the commit %s, which does not touch it", annotation)
	}

	// A pass that only repairs a pool does not bother the repository.
	w.kubectl("label", "nodepools.nodes.lailin.xyz", "a", v1.SourceLabel+"-")
	w.eventually("the label is back", func() error {
		if have := w.allPools()["a"].Labels[v1.SourceLabel]; have != "costs" {
			return fmt.Errorf("it is %q", have)
		}
		return nil
	})
	if lists, packs := server.requests(); lists+packs > 0 {
		t.Errorf("the repair cost %d lists and %d packs, want none", lists, packs)
	}
}

func (w *gitWorld) mustRead(source string) *v1.NodePoolSource {
	w.t.Helper()
	src, err := w.readSource(source)
	w.do(err)
	return src
}

// A commit that touches one pool writes that pool alone, and when all is done
// the loops look on, every interval, without writing anything.
func TestGitSteadyState(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	server := repo.serve(t)
	for _, name := range []string{"a", "b", "c"} {
		w.node(name+"1", role(name))
	}
	first := repo.commit(files{"pools/a.yaml": poolFile("a", "0"), "pools/b.yaml": poolFile("b", "0"), "pools/c.yaml": poolFile("c", "0")})
	w.source("steady", server.url())
	w.follows("steady", first)
	w.poolsReady("a", "b", "c")
	for _, name := range []string{"a", "b", "c"} {
		w.nodesReady(name, 1)
	}

	mark := w.mark()
	second := repo.commit(files{"pools/b.yaml": poolFile("b", "1")})
	w.follows("steady", second)
	w.carries("b1", tiers("b", "1"))
	w.poolsReady("b")
	w.wroteOnly(mark, "patch nodepools b", "patch nodes b1", "patch runtimeclasses node-pool-b", "patch nodepoolsources/status steady")

	third := repo.commit(files{"README.md": "not a pool"})
	mark = w.mark()
	w.follows("steady", third)
	w.wroteOnly(mark, "patch nodepoolsources/status steady")

	mark = w.mark()
	server.requests()
	w.eventually("three more looks", func() error {
		if n := server.asked(listing); n < 3 {
			return fmt.Errorf("%d looks", n)
		}
		return nil
	})
	if writes := w.written(mark); len(writes) > 0 {
		t.Errorf("the loops wrote %q while nothing changed", writes)
	}
	if _, packs := server.requests(); packs > 0 {
		t.Errorf("%d packs were asked for while nothing changed", packs)
	}
}

// nodesReady waits until a pool counts so many ready nodes; its status is then
// final.
func (w *gitWorld) nodesReady(pool string, count int32) {
	w.t.Helper()
	w.poolIs(pool, fmt.Sprintf("has %d ready nodes", count), func(pool *v1.NodePool) error {
		if pool.Status.Nodes.Ready != count {
			return fmt.Errorf("counts are %+v", pool.Status.Nodes)
		}
		return nil
	})
}
