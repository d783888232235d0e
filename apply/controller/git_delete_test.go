package controller

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// deletes makes a source take its pools along when it is deleted.
func deletes(src *v1.NodePoolSource) { src.Spec.DeletionPolicy = v1.DeletePools }

// A source with deletionPolicy Delete goes after its pools, whatever prune and
// pruneLimit say. Pools that somebody keeps stay, and those of another source are
// not touched.
func TestGitDeletedSourceTakesItsPoolsAlong(t *testing.T) {
	w := newGitWorld(t)
	mine, theirs := newRepository(t), newRepository(t)
	content := files{}
	for _, name := range []string{"a", "b", "kept", "paused", "theirs"} {
		w.node(name+"1", role(name), "foreign=x:NoSchedule")
		if name != "theirs" {
			content["pools/"+name+".yaml"] = poolFile(name, "0")
		}
	}
	first := mine.commit(content)
	w.source("mine", mine.url(), deletes, func(src *v1.NodePoolSource) {
		src.Spec.Prune, src.Spec.PruneLimit = ptr.To(false), ptr.To(intstr.FromInt32(0))
	})
	w.source("theirs", theirs.url())
	second := theirs.commit(files{"pools/theirs.yaml": poolFile("theirs", "0")})
	w.follows("mine", first)
	w.follows("theirs", second)
	w.poolsReady("a", "b", "kept", "paused", "theirs")
	w.kubectl("annotate", "nodepools.nodes.lailin.xyz", "kept", v1.PruneAnnotation+"="+v1.Disabled)
	w.kubectl("annotate", "nodepools.nodes.lailin.xyz", "paused", v1.ReconcileAnnotation+"="+v1.Disabled)
	src := w.mustRead("mine")
	if !slices.Contains(src.Finalizers, v1.SourceFinalizer) {
		t.Errorf("finalizers are %v", src.Finalizers)
	}

	mark := w.mark()
	w.kubectl("delete", "nodepoolsources.nodes.lailin.xyz", "mine") // waits until it is gone
	w.poolsAre("kept", "paused", "theirs")
	for _, name := range []string{"a", "b"} {
		w.carries(name+"1", role(name), "foreign=x:NoSchedule")
	}
	for _, name := range []string{"kept", "paused", "theirs"} {
		w.carries(name+"1", tiers(name, "0"), "foreign=x:NoSchedule")
	}
	w.hasNoRecord("a1", "b1")
	w.toldOf(src, "Deleting: ", "2 pools deleted with the source", "a, b", "2 pools kept", "kept, paused")
	w.toldOf(src, "PoolsKept: ", "2 pools kept, as they are paused or their pruning is disabled: kept, paused")
	for _, write := range w.written(mark) {
		for _, untouched := range []string{"kept", "paused", "theirs"} {
			if write == "patch nodes "+untouched+"1" || strings.HasSuffix(write, " nodepools "+untouched) {
				t.Errorf("pool %s is nobody's business, and the loops wrote %q", untouched, write)
			}
		}
	}
	if label := w.allPools()["kept"].Labels[v1.SourceLabel]; label != "mine" {
		t.Errorf("the pool that stays says that it is of %q", label)
	}
}

// While a pool cannot be deleted none is, and the source stays and says why. It
// still owns its pools: nobody takes one. When somebody thinks better of it, the
// pools stay, and can be handed over to another source.
func TestGitDeletionWaitsAndIsCalledOff(t *testing.T) {
	w := newGitWorld(t)
	old, next := newRepository(t), newRepository(t)
	for _, name := range []string{"a", "keep"} {
		w.node(name+"1", role(name))
	}
	first := old.commit(files{"pools/a.yaml": poolFile("a", "0"), "pools/keep.yaml": poolFile("keep", "0")})
	second := next.commit(files{"pools/a.yaml": poolFile("a", "0"), "pools/keep.yaml": poolFile("keep", "0")})
	w.source("old", old.url(), deletes)
	w.follows("old", first)
	w.poolsReady("a", "keep")
	lift := w.refuse()
	w.kubectl("delete", "nodepoolsources.nodes.lailin.xyz", "old", "--wait=false")
	w.sourceIs("old", "says why it waits", func(src *v1.NodePoolSource) error {
		if err := conditionIs(src.Status.Conditions, v1.StalledCondition, metav1.ConditionTrue, v1.DeletingReason, `delete pool "keep"`, "this pool is kept"); err != nil {
			return err
		}
		return conditionIs(src.Status.Conditions, v1.ReadyCondition, metav1.ConditionFalse, v1.DeletingReason, "waited for until gone: a, keep")
	})
	w.poolsAre("a", "keep")

	w.source("next", next.url())
	w.stands("next", v1.ValidCondition, metav1.ConditionFalse, v1.ClaimedReason, `source "old" owns it`)
	mark, before := w.mark(), w.allPools()
	src := w.mustRead("old")
	w.changeSource("old", func(src *v1.NodePoolSource) { src.Spec.DeletionPolicy = v1.OrphanPools })
	w.isGone("old")
	w.toldOf(src, "PoolsKept: ", "2 pools kept, as spec.deletionPolicy is Orphan: a, keep")
	w.handOver("next", "a", "keep")
	w.follows("next", second)
	w.poolsAre("a", "keep")
	for name, pool := range w.allPools() {
		w.recordIs(name, "next", second, name+".yaml")
		if pool.UID != before[name].UID || pool.Generation != before[name].Generation {
			t.Errorf("pool %s was %s at generation %d and is %s at %d", name, before[name].UID, before[name].Generation, pool.UID, pool.Generation)
		}
	}
	for _, write := range w.written(mark) {
		if strings.HasPrefix(write, "patch nodes ") || strings.HasPrefix(write, "delete ") {
			t.Errorf("nothing of a node changes, and the loops wrote %q", write)
		}
	}
	lift()
}

// The loops are killed before each single deletion, and before the finalizer is
// taken off. The next start finishes, and lets a pool stay that was handed over
// meanwhile.
func TestCrashDuringADeletion(t *testing.T) {
	cluster.Long(t)
	w := newGitWorld(t)
	repo, other := newRepository(t), newRepository(t)
	content := files{}
	for _, name := range []string{"a", "b", "c"} {
		content["pools/"+name+".yaml"] = poolFile(name, "0")
	}
	first := repo.commit(content)
	other.commit(files{"pools/c.yaml": poolFile("c", "0")})
	for _, deleted := range killPoints() {
		w.source("cut", repo.url(), deletes, rarely)
		w.follows("cut", first)
		w.poolsReady("a", "b", "c") // a status that is written still would refuse a deletion
		w.stop()
		halted := w.startUntil(func(seen map[string]int, request *http.Request) bool {
			// The three deletions are dry runs first.
			return seen["DELETE nodepools"] == 3+deleted && request.Method == http.MethodDelete ||
				deleted == 3 && seen["DELETE nodepools"] == 6 && request.Method == http.MethodPatch && strings.HasSuffix(request.URL.Path, "/nodepoolsources/cut")
		})
		w.kubectl("delete", "nodepoolsources.nodes.lailin.xyz", "cut", "--wait=false")
		<-halted
		w.stop()
		if left := w.undeleted("a", "b", "c"); left != 3-deleted {
			t.Fatalf("killed with %d of 3 pools left, want %d", left, 3-deleted)
		}
		if deleted < 3 {
			w.source("other", other.url(), func(src *v1.NodePoolSource) { src.Spec.Suspend = true })
			w.handOver("other", "c")
		}
		w.start()
		w.isGone("cut")
		if deleted < 3 {
			w.poolsAre("c")
			w.kubectl("delete", "nodepoolsources.nodes.lailin.xyz/other", "nodepools.nodes.lailin.xyz/c")
		}
		w.poolsAre()
	}
}

// A pool is handed over between the plan that deletes it and the request: it
// stays, and all others go.
func TestGitDeletionLosesARace(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	w.node("b1", role("b"))
	first := repo.commit(files{"pools/a.yaml": poolFile("a", "0"), "pools/b.yaml": poolFile("b", "0"), "pools/c.yaml": poolFile("c", "0")})
	w.source("slow", repo.url(), deletes, rarely)
	w.follows("slow", first)
	w.poolsReady("a", "b", "c")
	w.source("quick", repo.url(), func(src *v1.NodePoolSource) { src.Spec.Suspend = true })
	quick := w.uid("quick")
	w.stop()
	var late error
	w.startBehind(func(seen map[string]int, request *http.Request) error {
		if request.Method == http.MethodDelete && strings.HasSuffix(request.URL.Path, "/nodepools/b") && seen["DELETE nodepools"] == 4 {
			_, late = w.cluster.Kubectl(t.Context(), "annotate", "--overwrite", "nodepools.nodes.lailin.xyz", "b", v1.SourceUIDAnnotation+"="+quick)
		}
		return nil
	})
	t.Cleanup(w.clear)
	w.kubectl("delete", "nodepoolsources.nodes.lailin.xyz", "slow")
	w.do(late)
	w.poolsAre("b")
	w.carries("b1", tiers("b", "0"))
	if owner := w.allPools()["b"].Annotations[v1.SourceUIDAnnotation]; owner != quick {
		t.Errorf("pool b is of %q: nobody was faster than the deletion", owner)
	}
}

// isGone waits until a source is gone.
func (w *gitWorld) isGone(source string) {
	w.t.Helper()
	w.eventually("source "+source+" is gone", func() error {
		src, err := w.readSource(source)
		if err == nil {
			return fmt.Errorf("it is there: %v", messages(src))
		}
		return client.IgnoreNotFound(err)
	})
}

// toldOf waits for an event on an object that begins with a reason and holds
// these texts.
func (w *gitWorld) toldOf(object client.Object, reason string, texts ...string) {
	w.t.Helper()
	w.eventually("an event "+reason, func() error {
		reported := w.eventsOf(object)
		for _, event := range reported {
			missing := slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(event, text) })
			if strings.HasPrefix(event, reason) && !missing {
				return nil
			}
		}
		return fmt.Errorf("events are %q, want %q in one", reported, texts)
	})
}
