package controller

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// What somebody changes by hand of a pool from Git is put back, without a look
// at the repository; what is nobody's business but theirs stays.
func TestGitDriftOfPools(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	w.node("a1", map[string]string{"zone": "x"})
	first := repo.commit(files{
		"pools/a.yaml": poolFile("a", "0", "  selector: {matchLabels: {zone: x}}", "  taints: [{key: k, value: v, effect: NoSchedule}]"),
		"pools/b.yaml": poolFile("b", "0"),
	})
	w.source("drift", repo.url(), rarely)
	w.follows("drift", first)
	labels := tiers("a", "0")
	labels["zone"] = "x"
	w.carries("a1", labels, "k=v:NoSchedule")
	w.poolsReady("a", "b")
	want := w.allPools()["a"]

	for _, tc := range []struct {
		name   string
		reason string
		patch  string
	}{
		{"field changed", "an apply sets it again", `{"spec":{"labels":{"example.com/tier":"hand"}}}`},
		{"key added", "an apply leaves what it does not speak of", `{"spec":{"labels":{"example.com/hand":"made"}}}`},
		{"field added", "it has a default that no file says", `{"spec":{"priority":7}}`},
		{"field removed", "it is not the loops' any more, then", `{"spec":{"taints":null}}`},
		{"list item added", "lists of taints merge", `{"spec":{"taints":[{"key":"k","value":"v","effect":"NoSchedule"},{"key":"hand","effect":"NoExecute"}]}}`},
		{"field replaced by one that excludes it", "beside it, what Git says is refused", `{"spec":{"selector":null,"nodeNames":["a1"]}}`},
		{"source label removed", "the pool came from Git and is still in it", `{"metadata":{"labels":{"nodes.lailin.xyz/source":null}}}`},
		{"everything at once", "one pass must do", `{"metadata":{"labels":{"nodes.lailin.xyz/source":null}},"spec":{"labels":{"example.com/tier":null,"x":"y"},"selector":null,"nodeNames":["b1"],"handler":"other"}}`},
	} {
		went := t.Run(tc.name, func(t *testing.T) {
			w := w.in(t)
			before := w.allPools()["a"]
			w.do(w.Patch(t.Context(), before.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(tc.patch))))
			w.eventually("pool a is put back", func() error {
				pool := w.allPools()["a"]
				if pool.ResourceVersion == before.ResourceVersion || pool.UID != before.UID {
					return fmt.Errorf("it is not the changed one")
				}
				if diff := cmp.Diff(want.Spec, pool.Spec) + cmp.Diff(want.Labels, pool.Labels) + cmp.Diff(want.Annotations, pool.Annotations); diff != "" {
					return fmt.Errorf("(-want +got): %s", diff)
				}
				return nil
			})
			w.carries("a1", labels, "k=v:NoSchedule")
			w.poolsReady("a", "b")
			w.follows("drift", first)
		})
		if !went {
			t.Fatalf("the case is there because %s; what comes after it would only fail as well", tc.reason)
		}
	}

	// After all that, a pool still is what Git says, and Git may take a field back.
	mark := w.mark()
	w.kubectl("annotate", "nodepools.nodes.lailin.xyz", "a", "example.com/note=mine")
	w.kubectl("label", "nodepools.nodes.lailin.xyz", "a", "example.com/mine=too")
	second := repo.commit(files{"pools/a.yaml": poolFile("a", "1", "  nodeNames: [a1]")})
	w.request("drift", "now")
	w.follows("drift", second)
	labels["example.com/tier"] = "1"
	w.carries("a1", labels)
	pool := w.allPools()["a"]
	if diff := cmp.Diff(v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"example.com/tier": "1"}, NodeNames: []string{"a1"}, ConflictPolicy: v1.ReportConflicts}, pool.Spec); diff != "" {
		t.Errorf("spec (-want +got): %s", diff)
	}
	if pool.Annotations["example.com/note"] != "mine" || pool.Labels["example.com/mine"] != "too" {
		t.Errorf("labels and annotations of others went: %v %v", pool.Labels, pool.Annotations)
	}
	for _, write := range w.written(mark) {
		if write == "patch nodepools b" || write == "update nodepools b" {
			t.Errorf("pool b was never touched, and the loops wrote %q", write)
		}
	}
}

// A pool from Git that somebody deletes comes back, and its nodes with it.
func TestGitPoolDeletedByHand(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	w.node("a1", role("a"))
	first := repo.commit(files{"pools/a.yaml": poolFile("a", "0"), "pools/b.yaml": poolFile("b", "0")})
	w.source("deleted", repo.url(), rarely)
	w.follows("deleted", first)
	w.poolsReady("a", "b")
	before := w.allPools()["a"]

	// Held by somebody else, too, so that it cannot be gone at once.
	const held = "example.com/held"
	update(w.world, before.DeepCopy(), func(pool *v1.NodePool) { pool.Finalizers = append(pool.Finalizers, held) })
	w.kubectl("delete", "nodepools.nodes.lailin.xyz", "a", "--wait=false")
	w.stands("deleted", v1.ReconcilingCondition, metav1.ConditionTrue, v1.ProgressingReason, "waiting", "deleted: a")
	update(w.world, before.DeepCopy(), func(pool *v1.NodePool) { pool.Finalizers = nil })
	w.eventually("pool a is another one", func() error {
		if pool := w.allPools()["a"]; pool == nil || pool.UID == before.UID {
			return fmt.Errorf("it is %v", pool)
		}
		return nil
	})
	w.follows("deleted", first)
	w.carries("a1", tiers("a", "0"))
	w.recordIs("a", "deleted", first, "a.yaml")
}
