package plan

import (
	"slices"
	"testing"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// outOf, withoutTaints and gone are how an inner pool gives a taint up for that of the pool around it.
func outOf(pool *v1.NodePool)         { pool.Spec.Parent = "" }
func withoutTaints(pool *v1.NodePool) { pool.Spec.Taints = nil }

// specialWithin is a cluster of so many nodes that have the NoExecute taint of the inner one of
// two pools, which all have approved.
func specialWithin(t *testing.T, special map[string]int) Cluster {
	t.Helper()
	pools := []*v1.NodePool{evictingAll("base", "b", 0, "a"), within(evictingAll("special", "s", 0, "a"), "base"), ofZone("other", "z")}
	for _, pool := range pools {
		approvedBy("1")(pool)
	}
	cluster := carriedOut(t, Cluster{Nodes: inZones(special), Pools: pools})
	if got := taintedWith(cluster.Nodes, "s"); got != special["a"] {
		t.Fatalf("%d nodes have the taint of the inner pool", got)
	}
	return cluster
}

// An outer pool was not counted where an inner one had its taint already. So the inner one counts
// when it gives way, however it does.
func TestYieldedTaintsCount(t *testing.T) {
	most, few := map[string]int{"a": 20}, map[string]int{"a": 10, "b": 10}
	for name, c := range map[string]struct {
		zones  map[string]int
		change func(*v1.NodePool)
		want   []string
	}{
		"moved out":        {most, outOf, []string{"special"}},
		"untainted":        {most, withoutTaints, []string{"special"}},
		"deleted":          {most, deleted, []string{"special"}},
		"moved out, few":   {few, outOf, nil},
		"untainted, few":   {few, withoutTaints, nil},
		"deleted, few":     {few, deleted, nil},
		"deleted approved": {most, func(pool *v1.NodePool) { deleted(pool); approvedBy(v1.DeletionApproval)(pool) }, nil},
		"approved":         {most, func(pool *v1.NodePool) { outOf(pool); approvedBy("2")(pool) }, nil},
		"another zone":     {most, zones("a", "b"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := specialWithin(t, c.zones)
			cluster.Pools = edited(cluster.Pools, "special", c.change)
			if got := heldNames(cluster); !slices.Equal(got, c.want) {
				t.Errorf("held are %v, want %v", got, c.want)
			}
			cluster = carriedOut(t, cluster)
			if got := taintedWith(cluster.Nodes, "b"); len(c.want) > 0 && got > 0 {
				t.Errorf("%d nodes have the taint of the outer pool, and nobody has approved that", got)
			}
		})
	}
}

// The same holds for a revision, and what it brings by any change of it.
func TestYieldedTaintsOfARevision(t *testing.T) {
	team := func(name string, pools ...*v1.NodePool) Revision {
		return revisionOfPools(name, ReleasePolicy{Approval: "main@sha1:1"}, pools...)
	}
	base, special := evictingAll("base", "b", 0, "a", "b"), within(evictingAll("special", "s", 0, "a", "b"), "base")
	third := evictingAll("third", "t", 5, "c")
	third.Spec.NodeNames, third.Spec.Selector = []string{"*"}, nil
	harmless := third.DeepCopy()
	harmless.Spec.Taints = nil
	for name, c := range map[string]struct {
		before, after []*v1.NodePool
		want          []string
	}{
		"moved out":    {[]*v1.NodePool{base, special}, []*v1.NodePool{base, evictingAll("special", "s", 0, "a", "b")}, []string{"base"}},
		"untainted":    {[]*v1.NodePool{base, special}, []*v1.NodePool{base, within(ofZone("special", "a", "b"), "base")}, []string{"base"}},
		"pruned":       {[]*v1.NodePool{base, special}, []*v1.NodePool{base}, []string{"special", "base"}},
		"another zone": {[]*v1.NodePool{base, special}, []*v1.NodePool{base, within(evictingAll("special", "s", 0, "a", "b", "c"), "base")}, nil},
		"a third pool that kept an inner one from its taint": {
			[]*v1.NodePool{evictingAll("base", "b", 9, "a", "b"), special, third},
			[]*v1.NodePool{evictingAll("base", "b", 9, "a", "b"), special, harmless}, []string{"special"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := appliedRevision(t, team("main@sha1:1", c.before...), Cluster{Nodes: inZones(map[string]int{"a": 10, "b": 10})})
			d, err := Diff(team("main@sha1:2", c.after...), cluster)
			if err != nil {
				t.Fatal(err)
			}
			if got := losers(d); !slices.Equal(got, c.want) {
				t.Errorf("the losses are of %v, want %v", got, c.want)
			}
		})
	}
}

// A pool evicts also where its members are those that have its role label.
func TestEvictionsOfARole(t *testing.T) {
	nodes := inZones(map[string]int{"a": 12})
	for _, node := range nodes {
		node.Labels[v1.RoleLabel("worker")] = ""
	}
	cluster := appliedRevision(t, revisionOfPools("main@sha1:1", ReleasePolicy{}, byRole("worker")), Cluster{Nodes: nodes})
	worker := byRole("worker")
	worker.Spec.Taints = evictingAll("worker", "w", 0).Spec.Taints
	d, err := Diff(revisionOfPools("main@sha1:2", ReleasePolicy{}, worker), cluster)
	if err != nil {
		t.Fatal(err)
	}
	if got := losers(d); !slices.Equal(got, []string{"worker"}) {
		t.Errorf("a revision: the losses are of %v", got)
	}
	cluster.Pools = edited(cluster.Pools, "worker", func(pool *v1.NodePool) { pool.Spec.Taints = worker.Spec.Taints })
	if got := heldNames(cluster); !slices.Equal(got, []string{"worker"}) {
		t.Errorf("by hand: held are %v", got)
	}
}

// Taints that come for another reason are no business of a pool that is edited, or of a revision.
func TestTaintsThatComeAnyway(t *testing.T) {
	twenty := inZones(map[string]int{"a": 10, "b": 10})
	strong := evictingAll("strong", "s", 100, "a", "b")
	approvedBy("1")(strong)
	weak := evictingAll("weak", "w", 0, "a", "b")
	approvedBy("1")(weak)
	relabeled := ofZone("p", "a", "b")
	relabeled.Spec.Labels["example.com/more"] = "yes"
	first := revisionOfPools("main@sha1:1", ReleasePolicy{}, ofZone("p", "a", "b"))

	t.Run("a stronger pool that was approved", func(t *testing.T) {
		cluster := carriedOut(t, Cluster{Nodes: twenty, Pools: []*v1.NodePool{weak}})
		cluster.Pools = append(cluster.Pools, strong)
		for name, change := range map[string]func(*v1.NodePool){"edited": zones("a", "b", "c"), "deleted": deleted} {
			if got := HeldReleases(edited(cluster.Pools, "weak", change), cluster.Nodes); len(got) > 0 {
				t.Errorf("%s: nodes still follow what was approved, and held is %v", name, got)
			}
		}
	})
	t.Run("a pool that is gone", func(t *testing.T) {
		cluster := carriedOut(t, Cluster{Nodes: twenty, Pools: []*v1.NodePool{byHand(strong), byHand(weak)}})
		cluster = appliedRevision(t, first, cluster)
		cluster.Pools = slices.DeleteFunc(cluster.Pools, func(pool *v1.NodePool) bool { return pool.Name == "strong" })
		d, err := Diff(revisionOfPools("main@sha1:2", ReleasePolicy{}, relabeled), cluster)
		if err != nil {
			t.Fatal(err)
		}
		if d.Pools.Held != nil || taintedWith(d.After(cluster).Nodes, "w") > 0 {
			t.Errorf("a label changes, and the revision is held: %v", d.Pools.Held)
		}
	})
	t.Run("what a source puts back", func(t *testing.T) {
		revision := revisionOfPools("main@sha1:1", ReleasePolicy{Approval: "main@sha1:1", Applied: "main@sha1:1"},
			evictingAll("base", "b", 0, "a", "b"), within(ofZone("middle", "a", "b"), "base"), within(evictingAll("special", "s", 0, "a", "b"), "middle"))
		cluster := appliedRevision(t, revision, Cluster{Nodes: twenty})
		revision.Release.ApprovalUsed = true
		cluster = carriedOutAfter(t, cluster, edit{"middle", byKubectl(func(pool *v1.NodePool) { zones("x")(pool); approvedBy("2")(pool) }), false})
		if got := taintedWith(cluster.Nodes, "b"); got != 20 {
			t.Fatalf("%d nodes have the taint of the outer pool; held are %v", got, heldNames(cluster))
		}
		if cluster = appliedRevision(t, revision, cluster); taintedWith(cluster.Nodes, "s") != 20 {
			t.Errorf("it is restored, and %d nodes have the taint of the inner pool", taintedWith(cluster.Nodes, "s"))
		}
	})
}

// Paused nodes that left a pool before, and carry it still, are no part of what it can lose.
func TestPausedNodesThatLeftBefore(t *testing.T) {
	cluster := Cluster{Nodes: inZones(map[string]int{"a": 12, "b": 20})}
	for _, node := range cluster.Nodes[12:] {
		annotate(node, v1.ReconcileAnnotation, "")
	}
	cluster = appliedRevision(t, revisionOfPools("main@sha1:1", ReleasePolicy{}, ofZone("p", "a", "b")), cluster)
	for _, node := range cluster.Nodes[12:] {
		annotate(node, v1.ReconcileAnnotation, v1.Disabled)
	}
	cluster = appliedRevision(t, revisionOfPools("main@sha1:2", ReleasePolicy{Approval: "main@sha1:2"}, ofZone("p", "a")), cluster)
	if got := carriersOf(cluster.Nodes)["p"]; got != 32 {
		t.Fatalf("%d nodes carry the pool", got)
	}
	d, err := Diff(revisionOfPools("main@sha1:3", ReleasePolicy{}, ofZone("p", "x")), cluster)
	if err != nil {
		t.Fatal(err)
	}
	if got := losers(d); !slices.Equal(got, []string{"p"}) {
		t.Errorf("all 12 members leave, and the losses are of %v", got)
	}
}
