package controller

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

const movingTaint = `  taints: [{key: example.com/only, value: gpu, effect: NoSchedule}]`

// movingWorld has two sources of one repository, which are polled when they are asked to
// be, and the pool gpu in the folder of the first, with a node.
type movingWorld struct {
	*gitWorld
	repo   *repository
	before *v1.NodePool
	marked int64
}

func newMovingWorld(t *testing.T) *movingWorld {
	w := &movingWorld{gitWorld: newGitWorld(t), repo: newRepository(t)}
	w.node("gpu1", role("gpu"))
	revision := w.repo.commit(files{"one/gpu.yaml": poolFile("gpu", "0", movingTaint), "one/rest.yaml": poolFile("rest", "0"), "two/other.yaml": poolFile("other", "0")})
	for _, name := range []string{"one", "two"} {
		w.source(name, w.repo.url(), rarely, func(src *v1.NodePoolSource) { src.Spec.Path = name })
		w.follows(name, revision)
	}
	w.poolsReady("gpu", "rest", "other")
	w.begin()
	return w
}

// begin is the moment from which on nodes keep what they have.
func (w *movingWorld) begin() {
	w.carries("gpu1", tiers("gpu", "0"), "example.com/only=gpu:NoSchedule")
	w.before, w.marked = w.allPools()["gpu"], w.mark()
}

// moves commits the pool gpu to the folder of the second source.
func (w *movingWorld) moves() string {
	return w.repo.commit(files{"one/gpu.yaml": "", "two/gpu.yaml": poolFile("gpu", "0", movingTaint)})
}

// kept fails the test where the node was written, or the pool is not the one of before.
func (w *movingWorld) kept() {
	w.t.Helper()
	w.carries("gpu1", tiers("gpu", "0"), "example.com/only=gpu:NoSchedule")
	pool := w.allPools()["gpu"]
	if pool == nil || pool.UID != w.before.UID || pool.Generation != w.before.Generation || !pool.DeletionTimestamp.IsZero() {
		w.t.Fatalf("pool gpu was %s at generation %d, and is %+v", w.before.UID, w.before.Generation, pool)
	}
	for _, write := range w.written(w.marked) {
		if strings.HasPrefix(write, "patch nodes ") || strings.HasPrefix(write, "update nodes ") || strings.HasPrefix(write, "delete nodepools ") {
			w.t.Errorf("a pool that moves costs its nodes nothing, and the loops wrote %q", write)
		}
	}
}

// A pool moves between two sources of one repository in one commit, whichever of them is
// polled first. The other one is polled at once, though its interval is an hour.
func TestGitAPoolMoves(t *testing.T) {
	for _, first := range []string{"one", "two"} {
		t.Run(first+" is polled first", func(t *testing.T) {
			w := newMovingWorld(t)
			moved := w.moves()
			w.request(first, "now")
			w.follows("one", moved)
			w.follows("two", moved)
			w.recordIs("gpu", "two", moved, "gpu.yaml")
			w.kept()
			// What the second source drops now is pruned: it is its own.
			w.repo.commit(files{"two/gpu.yaml": ""})
			w.request("two", "gone")
			w.poolsAre("rest", "other")
			w.carries("gpu1", role("gpu"))
		})
	}
}

// While it is not known what the second source has, the pool stays with the first, which
// says for whom it waits.
func TestGitAPoolMovesToASourceThatIsNotRead(t *testing.T) {
	w := newMovingWorld(t)
	w.changeSource("two", func(src *v1.NodePoolSource) { src.Spec.Suspend = true })
	moved := w.moves()
	w.request("one", "now")
	w.stands("one", v1.PruneBlockedCondition, metav1.ConditionTrue, v1.PruneBlockedReason, `source "two", which may have them, is suspended`, "kept: gpu", "nodepools approve source/one")
	w.kept()
	w.changeSource("two", func(src *v1.NodePoolSource) { src.Spec.Suspend = false })
	w.follows("two", moved)
	w.follows("one", moved)
	w.recordIs("gpu", "two", moved, "gpu.yaml")
	w.kept()
}
