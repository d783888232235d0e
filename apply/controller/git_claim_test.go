package controller

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// Two sources say something of one pool: the first keeps it, the second says so
// and does nothing else of its revision, either. Handing over costs the
// pool and its nodes nothing.
func TestGitTwoSourcesOnePool(t *testing.T) {
	w := newGitWorld(t)
	one, two := newRepository(t), newRepository(t)
	w.node("a1", role("a"))
	first := one.commit(files{"pools/a.yaml": poolFile("a", "0"), "pools/b.yaml": poolFile("b", "0")})
	w.source("one", one.url())
	w.follows("one", first)
	w.poolsReady("a", "b")

	mark := w.mark()
	theirs := two.commit(files{"pools/a.yaml": poolFile("a", "0"), "pools/c.yaml": poolFile("c", "0")})
	w.source("two", two.url())
	w.stands("two", v1.ValidCondition, metav1.ConditionFalse, v1.ClaimedReason,
		`a.yaml:1: pool "a"`, `source "one" owns it`, "kubectl annotate --overwrite nodepools.nodes.lailin.xyz a nodes.lailin.xyz/sourceUID="+w.uid("two"), theirs+" is not taken")
	w.wroteOnly(mark, "patch nodepoolsources two", "patch nodepoolsources/status two")
	w.poolsAre("a", "b")
	w.follows("one", first)

	// The second keeps trying, and the first keeps holding.
	w.request("two", "again")
	w.stands("two", v1.ValidCondition, metav1.ConditionFalse, v1.ClaimedReason)
	w.wroteOnly(mark, "patch nodepoolsources two", "patch nodepoolsources/status two")

	before := w.allPools()["a"]
	mark = w.mark()
	w.handOver("two", "a")
	w.follows("two", theirs)
	w.poolsAre("a", "b", "c")
	w.recordIs("a", "two", theirs, "a.yaml")
	w.stands("one", v1.ValidCondition, metav1.ConditionFalse, v1.ClaimedReason, `source "two" owns it`)
	second := one.commit(files{"pools/a.yaml": ""})
	w.follows("one", second)
	w.poolsReady("a", "b", "c")
	w.recordIs("a", "two", theirs, "a.yaml")
	for _, write := range w.written(mark) {
		if write == "patch nodes a1" || write == "delete nodepools a" {
			t.Errorf("handing over must not touch a pool's nodes, and the loops wrote %q", write)
		}
	}
	if after := w.allPools()["a"]; after.UID != before.UID || after.Generation != before.Generation {
		t.Errorf("pool a was %s at generation %d and is %s at %d", before.UID, before.Generation, after.UID, after.Generation)
	}
}

// A pool that was made by hand is not taken over, until somebody says so.
func TestGitPoolMadeByHand(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	w.node("a1", role("a"))
	w.pool(poolFile("a", "hand", "  annotations: {example.com/by: hand}"))
	w.carries("a1", tiers("a", "hand"))
	w.poolsReady("a")

	mark := w.mark()
	first := repo.commit(files{"pools/a.yaml": poolFile("a", "git"), "pools/b.yaml": poolFile("b", "git")})
	w.source("hand", repo.url())
	w.stands("hand", v1.ValidCondition, metav1.ConditionFalse, v1.ClaimedReason, `a.yaml:1: pool "a"`, "no source has applied it", "kubectl annotate --overwrite nodepools.nodes.lailin.xyz a")
	w.wroteOnly(mark, "patch nodepoolsources hand", "patch nodepoolsources/status hand")
	w.carries("a1", tiers("a", "hand"))
	w.poolsAre("a")

	// A label is anybody's to set, and gives nothing.
	w.kubectl("label", "nodepools.nodes.lailin.xyz", "a", v1.SourceLabel+"=hand")
	w.stands("hand", v1.ValidCondition, metav1.ConditionFalse, v1.ClaimedReason, "no source has applied it, although it is labelled with")
	w.handOver("hand", "a")
	w.follows("hand", first)
	w.carries("a1", tiers("a", "git"))
	w.poolsAre("a", "b")
	if annotations := w.allPools()["a"].Spec.Annotations; len(annotations) > 0 {
		t.Errorf("Git does not speak of annotations, and pool a still has %v", annotations)
	}
}

// Two sources bring the same new pool at the same time. However the two passes
// interleave, one of them has it and the other says so.
func TestGitTwoSourcesAtOnce(t *testing.T) {
	cluster.Long(t)
	w := newGitWorld(t)
	repo := newRepository(t)
	content := files{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		content["pools/"+name+".yaml"] = poolFile(name, "0")
	}
	revision := repo.commit(content)
	for _, name := range []string{"left", "right", "third"} {
		w.source(name, repo.url())
	}
	holder := ""
	w.eventually("one source has all pools", func() error {
		for _, name := range []string{"left", "right", "third"} {
			if src := w.mustRead(name); conditionIs(src.Status.Conditions, v1.ReadyCondition, metav1.ConditionTrue, v1.SucceededReason) == nil {
				holder = name
				return nil
			}
		}
		return errors.New("none is ready")
	})
	w.follows(holder, revision)
	for _, name := range []string{"left", "right", "third"} {
		if name != holder {
			w.stands(name, v1.ValidCondition, metav1.ConditionFalse, v1.ClaimedReason, `source "`+holder+`" owns it`)
		}
	}
	for name, pool := range w.allPools() {
		if have := pool.Labels[v1.SourceLabel]; have != holder {
			t.Errorf("pool %s is held by %q, the others by %q", name, have, holder)
		}
	}
}
