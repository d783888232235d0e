package controller

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func (w *gitWorld) mustRead(source string) *v1.NodePoolSource {
	w.t.Helper()
	src, err := w.readSource(source)
	w.do(err)
	return src
}

// A commit that touches one pool writes that pool alone, and when all is done
// the loops look on, every interval, without writing or fetching anything, also where the
// revision is bad.
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

	looks := func(while string) {
		t.Helper()
		mark := w.mark()
		server.requests()
		w.eventually("three more looks while "+while, func() error {
			if n := server.asked(listing); n < 3 {
				return fmt.Errorf("%d looks", n)
			}
			return nil
		})
		if writes := w.written(mark); len(writes) > 0 {
			t.Errorf("the loops wrote %q while %s", writes, while)
		}
		if _, packs := server.requests(); packs > 0 {
			t.Errorf("%d packs were asked for while %s", packs, while)
		}
	}
	looks("nothing changes")
	repo.commit(files{"pools/b.yaml": "kind: Nonsense\n"})
	w.stands("steady", v1.ValidCondition, metav1.ConditionFalse, v1.InvalidReason)
	looks("a revision is bad")
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
