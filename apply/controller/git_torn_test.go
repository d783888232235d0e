package controller

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// writesPool tells whether a request writes a pool, and is no rehearsal.
func writesPool(request *http.Request, method, pool string) bool {
	return request.Method == method && strings.HasSuffix(request.URL.Path, "/nodepools/"+pool) && !request.URL.Query().Has("dryRun")
}

// disagree waits until every node was looked at, and the pools say that they do
// not get what they want.
func (w *gitWorld) disagree(names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.poolIs(name, "is in conflict", func(pool *v1.NodePool) error {
			return conditionIs(pool.Status.Conditions, v1.ReadyCondition, metav1.ConditionFalse, v1.ConflictReason)
		})
	}
}

// Of two pools that disagree neither has its way, also where somebody is faster
// with the second one, so that it is written by the next pass.
func TestGitTornByAConflict(t *testing.T) {
	w := newGitWorld(t)
	w.stop()
	repo := newRepository(t)
	w.node("n1", role("a", "b"))
	before := files{}
	for _, name := range []string{"a", "b"} {
		before["pools/"+name+".yaml"] = strings.ReplaceAll(poolFile(name, "0"), "example.com/tier", "example.com/"+name)
	}
	first := repo.commit(before)
	var armed, faster atomic.Bool
	w.startBehind(func(_ map[string]int, request *http.Request) error {
		if writesPool(request, http.MethodPatch, "b") && armed.CompareAndSwap(true, false) {
			if _, err := w.cluster.Kubectl(t.Context(), "annotate", "nodepool", "b", "example.com/faster=true"); err != nil {
				return err
			}
			faster.Store(true)
		}
		return nil
	})
	t.Cleanup(w.clear)
	w.source("torn", repo.url())
	w.follows("torn", first)
	w.poolsReady("a", "b")

	armed.Store(true)
	second := repo.commit(files{"pools/a.yaml": poolFile("a", "A"), "pools/b.yaml": poolFile("b", "B")})
	w.follows("torn", second)
	w.disagree("a", "b")
	w.carries("n1", role("a", "b"))
	if !faster.Load() {
		t.Error("nobody was faster")
	}
}

// When a source goes with its pools, no node gets what one pool had to leave to
// another that goes before it.
func TestGitTornByADeletion(t *testing.T) {
	w := newGitWorld(t)
	w.stop()
	repo := newRepository(t)
	w.node("n1", role("a", "b"))
	revision := repo.commit(files{"pools/a.yaml": poolFile("a", "A"), "pools/b.yaml": poolFile("b", "B")})
	w.startBehind(func(_ map[string]int, request *http.Request) error {
		if writesPool(request, http.MethodDelete, "b") {
			time.Sleep(10 * gatherPeriod) // nodes would follow the deletion of a
		}
		return nil
	})
	t.Cleanup(w.clear)
	w.source("torn", repo.url(), func(src *v1.NodePoolSource) { src.Spec.DeletionPolicy = v1.DeletePools })
	w.follows("torn", revision)
	w.disagree("a", "b")
	mark := w.mark()
	w.kubectl("delete", "nodepoolsource", "torn")
	w.poolsAre()
	for _, write := range w.written(mark) {
		if strings.Contains(write, "nodes n1") {
			t.Errorf("the node was written: %s", write)
		}
	}
}
