package plan

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// byKubectl is an edit by somebody who owns the selector from then on.
func byKubectl(change func(*v1.NodePool)) func(*v1.NodePool) {
	return func(pool *v1.NodePool) {
		change(pool)
		pool.ManagedFields = append(pool.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: "kubectl-edit", Operation: metav1.ManagedFieldsOperationUpdate, FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:selector":{}}}`),
		})
	}
}

// What a source restores after an edit by hand is what its pool has followed before, and else it
// is counted.
func TestSourcesRestoreWhatPoolsHaveFollowed(t *testing.T) {
	nodes := inZones(map[string]int{"a": 12, "b": 14, "c": 14})
	revision := func(name string, zones ...string) Revision {
		return revisionOfPools(name, ReleasePolicy{Applied: name}, evictingAll("p", "i", 0, zones...))
	}
	t.Run("paused when the revision came", func(t *testing.T) {
		cluster := appliedRevision(t, revision("main@sha1:1", "a"), Cluster{Nodes: nodes})
		cluster = carriedOutAfter(t, cluster, edit{"p", pause, true})
		wide := revision("main@sha1:2", "a", "b", "c")
		cluster = appliedRevision(t, wide, cluster)
		cluster = carriedOutAfter(t, cluster, edit{"p", resume, true})
		if got := heldNames(cluster); !slices.Equal(got, []string{"p"}) {
			t.Fatalf("it is resumed, and held are %v", got)
		}
		cluster = carriedOutAfter(t, cluster, edit{"p", byKubectl(zones("a")), false})
		if got := heldNames(cluster); len(got) > 0 {
			t.Fatalf("the change is undone, and held are %v", got)
		}
		d, err := Diff(wide, cluster)
		if err != nil {
			t.Fatal(err)
		}
		if d.Pools.Held == nil {
			t.Errorf("nobody has approved it, and the source has %d nodes tainted", taintedWith(d.After(cluster).Nodes, "i"))
		}
	})
	t.Run("edited before an upgrade", func(t *testing.T) {
		wide := revision("main@sha1:1", "a", "b", "c")
		wide.Release.Approval = wide.Name
		cluster := appliedRevision(t, wide, Cluster{Nodes: nodes})
		wide.Release.ApprovalUsed = true
		cluster = carriedOutAfter(t, cluster, edit{"p", func(pool *v1.NodePool) { byKubectl(zones("a"))(pool); approvedBy("2")(pool) }, false})
		cluster.Pools = edited(cluster.Pools, "p", func(pool *v1.NodePool) { pool.Status.ObservedSourceMembership = "" })
		cluster = appliedRevision(t, wide, cluster)
		if got := taintedWith(cluster.Nodes, "i"); got != 40 {
			t.Errorf("it is restored, and %d nodes have the taint", got)
		}
	})
	t.Run("within a pool that was widened since", func(t *testing.T) {
		inner := revisionOfPools("main@sha1:1", ReleasePolicy{Applied: "main@sha1:1"}, within(evictingAll("p", "i", 0, "a", "b", "c"), "outer"))
		cluster := carriedOut(t, Cluster{Nodes: nodes, Pools: []*v1.NodePool{byHand(ofZone("outer", "a"))}})
		cluster = appliedRevision(t, inner, cluster)
		cluster = carriedOutAfter(t, cluster,
			edit{"p", func(pool *v1.NodePool) { byKubectl(zones("x"))(pool); approvedBy("2")(pool) }, false}, edit{"outer", zones("a", "b", "c"), false})
		if got := heldNames(cluster); len(got) > 0 || taintedWith(cluster.Nodes, "i") > 0 {
			t.Fatalf("held are %v, and %d nodes have the taint", got, taintedWith(cluster.Nodes, "i"))
		}
		d, err := Diff(inner, cluster)
		if err != nil {
			t.Fatal(err)
		}
		if d.Pools.Held == nil {
			t.Errorf("nobody has approved it, and the source has %d nodes tainted", taintedWith(d.After(cluster).Nodes, "i"))
		}
	})
	t.Run("edited twice", func(t *testing.T) {
		wide := revision("main@sha1:1", "a", "b", "c")
		wide.Release.Approval = wide.Name
		cluster := appliedRevision(t, wide, Cluster{Nodes: nodes})
		wide.Release.ApprovalUsed = true
		for _, chosen := range []string{"a", "b"} {
			cluster.Pools = edited(cluster.Pools, "p", func(pool *v1.NodePool) {
				byKubectl(zones(chosen))(pool)
				approvedBy("9")(pool)
				pool.Generation = 9
			})
			cluster = carriedOut(t, cluster)
		}
		if got := taintedWith(cluster.Nodes, "i"); got != 14 {
			t.Fatalf("%d nodes have the taint", got)
		}
		cluster = appliedRevision(t, wide, cluster)
		if got := taintedWith(cluster.Nodes, "i"); got != 40 {
			t.Errorf("it is restored, and %d nodes have the taint", got)
		}
	})
}

// A revision that changes something else of an inner pool goes by without what that pool waits
// for, and without an approval of it.
func TestRevisionOfAHeldInnerPool(t *testing.T) {
	inner := within(evictingAll("inner", "i", 0, "a", "b", "c"), "outer")
	cluster := carriedOut(t, Cluster{Nodes: inZones(map[string]int{"a": 12, "b": 14, "c": 14}), Pools: []*v1.NodePool{byHand(ofZone("outer", "a"))}})
	cluster = appliedRevision(t, revisionOfPools("main@sha1:1", ReleasePolicy{}, inner), cluster)
	cluster = carriedOutAfter(t, cluster, edit{"outer", pause, true}, edit{"outer", zones("a", "b", "c"), false})
	labelled := inner.DeepCopy()
	labelled.Spec.Labels["example.com/more"] = "yes"
	cluster = appliedRevision(t, revisionOfPools("main@sha1:2", ReleasePolicy{Applied: "main@sha1:1"}, labelled), cluster)
	if got := heldNames(cluster); !slices.Equal(got, []string{"inner"}) || taintedWith(cluster.Nodes, "i") != 12 {
		t.Errorf("held are %v, and %d nodes have the taint", got, taintedWith(cluster.Nodes, "i"))
	}
	wider := evictingAll("inner", "i", 0, "a", "b", "c", "d")
	wider.Spec.Parent = "outer"
	d, err := Diff(revisionOfPools("main@sha1:3", ReleasePolicy{Applied: "main@sha1:2"}, wider), cluster)
	if err != nil {
		t.Fatal(err)
	}
	if d.Pools.Held == nil {
		t.Errorf("nobody has approved its members, and %d nodes get the taint", taintedWith(d.After(cluster).Nodes, "i"))
	}
}

// A revision of a pool between two others neither hides nor counts what a pool of somebody else is
// held for.
func TestRevisionWithinWhatAnInnerPoolIsHeldFor(t *testing.T) {
	cluster := carriedOut(t, Cluster{Nodes: inZones(map[string]int{"a": 12, "b": 14, "c": 14}), Pools: []*v1.NodePool{byHand(ofZone("furthest", "a"))}})
	middle := within(ofZone("middle", "a", "b", "c"), "furthest")
	cluster = appliedRevision(t, revisionOfPools("main@sha1:1", ReleasePolicy{}, middle), cluster)
	cluster.Pools = append(cluster.Pools, byHand(within(evictingAll("inner", "i", 0, "a", "b", "c"), "middle")))
	cluster = carriedOutAfter(t, carriedOut(t, cluster), edit{"furthest", pause, true}, edit{"furthest", zones("a", "b", "c"), false})
	if got := heldNames(cluster); !slices.Equal(got, []string{"inner"}) {
		t.Fatalf("held are %v", got)
	}
	labelled := middle.DeepCopy()
	labelled.Spec.Labels["example.com/more"] = "yes"
	cluster = appliedRevision(t, revisionOfPools("main@sha1:2", ReleasePolicy{}, labelled), cluster)
	if got := heldNames(cluster); !slices.Equal(got, []string{"inner"}) || taintedWith(cluster.Nodes, "i") != 12 {
		t.Errorf("held are %v, and %d nodes have the taint", got, taintedWith(cluster.Nodes, "i"))
	}
}

// What somebody has approved is carried out, though a pool around it changes before it is.
func TestApprovedRevisionBesideAnotherChange(t *testing.T) {
	cluster := carriedOut(t, Cluster{Nodes: inZones(map[string]int{"a": 30, "b": 10}), Pools: []*v1.NodePool{byHand(ofZone("region", "a", "b"))}})
	cluster = appliedRevision(t, revisionOfPools("main@sha1:1", ReleasePolicy{}, within(ofZone("p", "a", "b"), "region")), cluster)
	d, err := Diff(revisionOfPools("main@sha1:2", ReleasePolicy{Approval: "main@sha1:2"}, within(ofZone("p", "b"), "region")), cluster)
	if err != nil {
		t.Fatal(err)
	}
	cluster.Pools = edited(d.Pools.After(cluster.Pools), "region", zones("a", "b", "c"))
	if got := heldNames(cluster); len(got) > 0 {
		t.Fatalf("held are %v: %v", got, HeldReleases(cluster.Pools, cluster.Nodes)["p"])
	}
	if cluster = carriedOut(t, cluster); carriersOf(cluster.Nodes)["p"] != 10 {
		t.Errorf("%d nodes carry the pool, want 10", carriersOf(cluster.Nodes)["p"])
	}
}

// A revision that is within the limit approves nothing that its pools do later: not what one that
// was paused then has not followed, and not what people make of the pools around them.
func TestRevisionApprovesNothingLater(t *testing.T) {
	nodes := inZones(map[string]int{"a": 11, "a1": 1, "b": 14, "c": 14})
	inner := func(chosen ...string) *v1.NodePool { return within(evictingAll("inner", "i", 0, chosen...), "outer") }
	t.Run("paused", func(t *testing.T) {
		cluster := appliedRevision(t, revisionOfPools("main@sha1:1", ReleasePolicy{}, ofZone("outer", "a", "a1"), inner("a", "a1", "b", "c")), Cluster{Nodes: nodes})
		cluster = carriedOutAfter(t, cluster, edit{"inner", pause, true})
		cluster = appliedRevision(t, revisionOfPools("main@sha1:2", ReleasePolicy{}, ofZone("outer", "a", "b", "c"), inner("a", "a1", "b", "c")), cluster)
		cluster = carriedOutAfter(t, cluster, edit{"inner", resume, true})
		if got := heldNames(cluster); !slices.Equal(got, []string{"inner"}) || taintedWith(cluster.Nodes, "i") != 12 {
			t.Errorf("held are %v, and %d nodes have the taint", got, taintedWith(cluster.Nodes, "i"))
		}
	})
	t.Run("outer pool paused", func(t *testing.T) {
		outer := func(chosen ...string) *v1.NodePool { return evictingAll("outer", "o", 0, chosen...) }
		within := inner("a", "a1", "b")
		within.Spec.Taints[0].Key = "example.com/other"
		cluster := appliedRevision(t, revisionOfPools("main@sha1:1", ReleasePolicy{}, outer("a", "a1"), within), Cluster{Nodes: nodes})
		cluster = carriedOutAfter(t, cluster, edit{"outer", pause, true})
		cluster = appliedRevision(t, revisionOfPools("main@sha1:2", ReleasePolicy{}, outer("a", "a1", "b", "c"), within), cluster)
		cluster = carriedOutAfter(t, cluster, edit{"outer", resume, true})
		if got := heldNames(cluster); !slices.Equal(got, []string{"outer"}) || taintedWith(cluster.Nodes, "o") != 12 {
			t.Errorf("held are %v, and %d nodes have the taint", got, taintedWith(cluster.Nodes, "o"))
		}
	})
	t.Run("what comes again", func(t *testing.T) {
		cluster := carriedOut(t, Cluster{Nodes: inZones(map[string]int{"a": 12, "b": 14, "c": 14}), Pools: []*v1.NodePool{byHand(ofZone("outer", "a", "b", "c"))}})
		for _, chosen := range [][]string{{"a"}, {"a", "b"}, {"a", "b", "c"}} {
			cluster = appliedRevision(t, revisionOfPools("main@sha1:"+chosen[len(chosen)-1], ReleasePolicy{}, inner(chosen...)), cluster)
		}
		cluster = carriedOutAfter(t, cluster, edit{"outer", pause, true}, edit{"outer", zones("a", "b"), false}, edit{"outer", zones("b"), false}, edit{"outer", zones("a", "b", "c"), false})
		if got := heldNames(cluster); !slices.Equal(got, []string{"inner"}) || taintedWith(cluster.Nodes, "i") != 14 {
			t.Errorf("held are %v, and %d nodes have the taint", got, taintedWith(cluster.Nodes, "i"))
		}
	})
	t.Run("put back", func(t *testing.T) {
		cluster := carriedOut(t, Cluster{Nodes: nodes, Pools: []*v1.NodePool{byHand(ofZone("outer", "a"))}})
		cluster = appliedRevision(t, revisionOfPools("main@sha1:1", ReleasePolicy{}, inner("a", "b", "c")), cluster)
		cluster = carriedOutAfter(t, cluster, edit{"inner", byKubectl(zones("a")), false}, edit{"outer", zones("a", "b", "c"), false}, edit{"inner", zones("a", "b", "c"), false})
		if got := heldNames(cluster); !slices.Equal(got, []string{"inner"}) || taintedWith(cluster.Nodes, "i") != 11 {
			t.Errorf("held are %v, and %d nodes have the taint", got, taintedWith(cluster.Nodes, "i"))
		}
	})
}

// What a frozen pool keeps off nodes is not there, and comes by the revision that brings it.
func TestRevisionBringsWhatAFrozenPoolKeepsOff(t *testing.T) {
	approved := func(pool *v1.NodePool) *v1.NodePool { approvedBy("1")(pool); return byHand(pool) }
	cluster := carriedOut(t, Cluster{
		Nodes: inZones(map[string]int{"a": 20}),
		Pools: []*v1.NodePool{approved(evictingAll("wall", "w", 1, "a")), approved(within(evictingAll("inner", "f", 2, "a"), "wall"))},
	})
	cluster = carriedOutAfter(t, cluster, edit{"inner", func(pool *v1.NodePool) { pause(pool); pool.Spec.Taints = nil }, false})
	if got := taintedWith(cluster.Nodes, "f"); got != 20 {
		t.Fatalf("%d nodes have the taint of the frozen pool", got)
	}
	d, err := Diff(revisionOfPools("main@sha1:1", ReleasePolicy{}, evictingAll("second", "w", 9, "a")), cluster)
	if err != nil {
		t.Fatal(err)
	}
	if d.Pools.Held == nil {
		t.Errorf("nobody has approved it, and %d nodes get the taint", taintedWith(d.After(cluster).Nodes, "w"))
	}
}

// Nodes that leave by their own labels have a revision of another label approve nothing.
func TestRevisionApprovesOnlyItsOwnChanges(t *testing.T) {
	cluster := appliedRevision(t, revisionOfPools("main@sha1:1", ReleasePolicy{}, ofZone("p", "a")), Cluster{Nodes: inZones(map[string]int{"a": 20})})
	for _, node := range cluster.Nodes[:12] {
		node.Labels[zone] = "elsewhere"
	}
	labelled := ofZone("p", "a")
	labelled.Spec.Labels["example.com/more"] = "yes"
	cluster = appliedRevision(t, revisionOfPools("main@sha1:2", ReleasePolicy{}, labelled, ofZone("q", "nowhere")), cluster)
	if value, found := cluster.Pools[0].Annotations[v1.ApproveReleaseAnnotation]; found {
		t.Errorf("the pool is approved with %s", value)
	}
}
