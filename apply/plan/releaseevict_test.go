package plan

import (
	"slices"
	"testing"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A taint that comes because another pool gives the key up counts for the revision by which it
// does.
func TestYieldedTaintsOfARevision(t *testing.T) {
	team := func(name string, pools ...*v1.NodePool) Revision {
		return revisionOfPools(name, ReleasePolicy{Approval: "main@sha1:1"}, pools...)
	}
	base, special := evictingAll("base", "b", 0, "a", "b"), within(evictingAll("special", "s", 1, "a", "b"), "base")
	for name, c := range map[string]struct {
		after []*v1.NodePool
		want  []string
	}{
		"untainted":    {[]*v1.NodePool{base, within(ofZone("special", "a", "b"), "base")}, []string{"base"}},
		"lowered":      {[]*v1.NodePool{base, within(evictingAll("special", "s", -1, "a", "b"), "base")}, []string{"base"}},
		"pruned":       {[]*v1.NodePool{base}, []string{"special", "base"}},
		"another zone": {[]*v1.NodePool{base, within(evictingAll("special", "s", 1, "a", "b", "c"), "base")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := appliedRevision(t, team("main@sha1:1", base, special), Cluster{Nodes: inZones(map[string]int{"a": 10, "b": 10})})
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
			evictingAll("base", "b", 0, "a", "b"), within(ofZone("middle", "a", "b"), "base"), within(evictingAll("special", "s", 1, "a", "b"), "middle"))
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
