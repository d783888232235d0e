package controller

import (
	"errors"
	"net/http"
	"strings"
	"sync"
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

// torn is a world of a node in two pools that get on with each other, for a test
// in which the loops are disturbed when they disagree.
func torn(t *testing.T, gate func(request *http.Request) error) (w *gitWorld, disturb func() (revision string)) {
	t.Helper()
	w = newGitWorld(t)
	w.stop()
	repo := newRepository(t)
	w.node("n1", role("a", "b"))
	before := files{}
	for _, name := range []string{"a", "b"} {
		before["pools/"+name+".yaml"] = strings.ReplaceAll(poolFile(name, "0"), "example.com/tier", "example.com/"+name)
	}
	first := repo.commit(before)
	var armed atomic.Bool
	w.startBehind(func(_ map[string]int, request *http.Request) error {
		if armed.Load() {
			return gate(request)
		}
		return nil
	})
	t.Cleanup(w.clear)
	w.source("torn", repo.url())
	w.follows("torn", first)
	w.poolsReady("a", "b")
	return w, func() string {
		armed.Store(true)
		return repo.commit(files{"pools/a.yaml": poolFile("a", "A"), "pools/b.yaml": poolFile("b", "B")})
	}
}

// whole waits until the revision is carried out and both pools say that they
// disagree; then neither may have had its way.
func (w *gitWorld) whole(revision string) {
	w.t.Helper()
	w.follows("torn", revision)
	w.disagree("a", "b")
	w.carries("n1", role("a", "b"))
	if src := w.mustRead("torn"); src.Status.ApplyingRevision != "" {
		w.t.Errorf("the source still says that it writes %s", src.Status.ApplyingRevision)
	}
}

// Of two pools that disagree neither has its way, also where somebody is faster
// with the second one, so that it is written by the next pass.
func TestGitTornByAConflict(t *testing.T) {
	var faster atomic.Bool
	var w *gitWorld
	w, disturb := torn(t, func(request *http.Request) error {
		if writesPool(request, http.MethodPatch, "b") && faster.CompareAndSwap(false, true) {
			_, err := w.cluster.Kubectl(t.Context(), "annotate", "nodepool", "b", "example.com/faster=true")
			return err
		}
		return nil
	})
	w.whole(disturb())
	if !faster.Load() {
		t.Error("nobody was faster")
	}
}

// So it is where the API server cannot be reached for some tries.
func TestGitTornByAFault(t *testing.T) {
	var failed atomic.Int32
	w, disturb := torn(t, func(request *http.Request) error {
		if writesPool(request, http.MethodPatch, "b") && failed.Add(1) <= 3 {
			return errors.New("the connection is cut")
		}
		return nil
	})
	w.whole(disturb())
	if failed.Load() < 4 {
		t.Errorf("the second pool was written %d times, want three that fail", failed.Load())
	}
}

// And where the controller is killed before it has written the second one: the
// next one finishes the revision first.
func TestGitTornByAKill(t *testing.T) {
	var once sync.Once
	killed, dead := make(chan struct{}), atomic.Bool{}
	w, disturb := torn(t, func(request *http.Request) error {
		if writesPool(request, http.MethodPatch, "b") {
			dead.Store(true)
			once.Do(func() { close(killed) })
		}
		if dead.Load() {
			return errors.New("killed")
		}
		return nil
	})
	revision := disturb()
	<-killed
	w.stop()
	if src := w.mustRead("torn"); src.Status.ApplyingRevision != revision {
		t.Errorf("the source says that it writes %q, want %q", src.Status.ApplyingRevision, revision)
	}
	w.start()
	w.whole(revision)
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
