package controller

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A source prunes only what it has applied itself. A pool that somebody has
// labelled, or annotated, as if it were the source's is kept, and said to be, once.
func TestGitNothingIsPrunedThatWasNotApplied(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	w.node("hand1", role("hand"))
	all := func(src *v1.NodePoolSource) { src.Spec.PruneLimit = ptr.To(intstr.FromString("100%")) }
	first := repo.commit(files{"pools/a.yaml": poolFile("a", "0"), "pools/b.yaml": poolFile("b", "0")})
	w.source("mine", repo.url(), all)
	w.follows("mine", first)
	w.pool(poolFile("hand", "0"))
	w.pool(poolFile("given", "0"))
	w.kubectl("label", "nodepools.nodes.lailin.xyz", "hand", v1.SourceLabel+"=mine")
	w.handOver("mine", "given")

	second := repo.commit(files{"pools/b.yaml": ""})
	w.follows("mine", second)
	w.poolsAre("a", "given", "hand")
	w.carries("hand1", tiers("hand", "0"))
	w.sourceIs("mine", "says what it keeps", func(src *v1.NodePoolSource) error {
		if src.Status.Unowned != 2 {
			return fmt.Errorf("%d pools are counted", src.Status.Unowned)
		}
		return conditionIs(src.Status.Conditions, v1.ReadyCondition, metav1.ConditionTrue, v1.SucceededReason, "2 pools kept", "which has not applied them: given, hand")
	})
	w.toldOf(w.mustRead("mine"), "NotOwned: ", "2 pools kept", "given, hand")

	// It stays so, is not reported again, and a deletion of the source takes neither.
	mark := w.mark()
	w.request("mine", "again")
	w.wroteOnly(mark, "patch nodepoolsources/status mine")
	reported := 0
	for _, event := range w.eventsOf(w.mustRead("mine")) {
		if strings.HasPrefix(event, "NotOwned: ") {
			reported++
		}
	}
	if reported > 2 { // one may be of the first pool alone
		t.Errorf("reported %d times", reported)
	}
	w.changeSource("mine", deletes)
	w.kubectl("delete", "nodepoolsources.nodes.lailin.xyz", "mine")
	w.poolsAre("given", "hand")
}

// A source is deleted and leaves its pools, and another one of the same name is
// made for another repository, by somebody who may write sources and no pools. It
// gets none of the pools: it does not prune those that its repository lacks, nor
// take those that it has.
func TestGitASourceOfTheSameNameIsAnother(t *testing.T) {
	w := newGitWorld(t)
	repo, theirs := newRepository(t), newRepository(t)
	w.node("a1", role("a"))
	first := repo.commit(files{"pools/a.yaml": poolFile("a", "0"), "pools/b.yaml": poolFile("b", "0")})
	all := func(src *v1.NodePoolSource) {
		src.Spec.PruneLimit, src.Spec.DeletionPolicy = ptr.To(intstr.FromString("100%")), v1.DeletePools
	}
	w.source("name", repo.url())
	w.follows("name", first)
	w.poolsReady("a", "b")
	w.carries("a1", tiers("a", "0"))
	before := w.allPools()
	w.kubectl("delete", "nodepoolsources.nodes.lailin.xyz", "name")

	other := theirs.commit(files{"pools/c.yaml": poolFile("c", "0")})
	w.source("name", theirs.url(), all)
	w.follows("name", other)
	w.poolsAre("a", "b", "c")
	w.keepsUnowned("name", "2 pools kept", "a, b")

	theirs.commit(files{"pools/a.yaml": poolFile("a", "1")})
	w.stands("name", v1.ValidCondition, metav1.ConditionFalse, v1.ClaimedReason,
		`a.yaml:1: pool "a"`, `an earlier source of the name "name" owns it`, "kubectl annotate --overwrite nodepools.nodes.lailin.xyz a nodes.lailin.xyz/sourceUID="+w.uid("name"))
	w.carries("a1", tiers("a", "0"))
	w.kubectl("delete", "nodepoolsources.nodes.lailin.xyz", "name")
	w.poolsAre("a", "b")
	for name, pool := range w.allPools() {
		if pool.UID != before[name].UID || pool.Generation != before[name].Generation {
			t.Errorf("pool %s was %s at generation %d and is %s at %d", name, before[name].UID, before[name].Generation, pool.UID, pool.Generation)
		}
	}
	w.carries("a1", tiers("a", "0"))
}

// keepsUnowned waits until a source is ready and keeps what it does not own.
func (w *gitWorld) keepsUnowned(source string, texts ...string) {
	w.t.Helper()
	w.sourceIs(source, "keeps what it does not own", func(src *v1.NodePoolSource) error {
		return conditionIs(src.Status.Conditions, v1.ReadyCondition, metav1.ConditionTrue, v1.SucceededReason, texts...)
	})
}

// The label is drift, and put back; the annotation is ownership. Somebody takes a
// pool from its source by it, and the source says so and takes nothing.
func TestGitAPoolIsTakenFromItsSource(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	first := repo.commit(files{"pools/a.yaml": poolFile("a", "0"), "pools/b.yaml": poolFile("b", "0")})
	w.source("mine", repo.url())
	w.follows("mine", first)
	w.kubectl("label", "--overwrite", "nodepools.nodes.lailin.xyz", "a", v1.SourceLabel+"=other")
	w.eventually("the label is put back", func() error {
		if label := w.allPools()["a"].Labels[v1.SourceLabel]; label != "mine" {
			return fmt.Errorf("it is %q", label)
		}
		return nil
	})
	w.kubectl("annotate", "nodepools.nodes.lailin.xyz", "a", v1.SourceUIDAnnotation+"-")
	w.stands("mine", v1.ValidCondition, metav1.ConditionFalse, v1.ClaimedReason, `pool "a"`, `no source has applied it, although it is labelled with "mine"`)
	w.handOver("mine", "a")
	w.follows("mine", first)
	w.recordIs("a", "mine", first, "a.yaml")
}
