package controller

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

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
