package plan

import (
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// evictingAll puts a NoExecute taint of a value on the nodes of some zones.
func evictingAll(name, value string, priority int32, zones ...string) *v1.NodePool {
	pool := ofZone(name, zones...)
	pool.Spec.Priority = priority
	pool.Spec.Taints = []v1.Taint{{Key: "example.com/wall", Value: value, Effect: corev1.TaintEffectNoExecute}}
	return pool
}

func heldNames(c Cluster) []string {
	return slices.Sorted(maps.Keys(HeldReleases(c.Pools, c.Nodes)))
}

// taintedWith counts the nodes that have the NoExecute taint with a value.
func taintedWith(nodes []*NodeState, value string) (count int) {
	for _, node := range nodes {
		for _, taint := range node.Taints {
			if taint.Effect == corev1.TaintEffectNoExecute && taint.Value == value {
				count++
			}
		}
	}
	return count
}

// Whom a pool would evict is a question about that pool, and about those around it: no other
// pool hides it, whichever of them has its way, and whichever came first.
func TestEvictionsAreThoseThatAPoolSays(t *testing.T) {
	twenty := inZones(map[string]int{"a": 10, "b": 10})
	strong, weak := evictingAll("strong", "s", 100, "a"), evictingAll("weak", "w", 0, "a", "b")
	cases := map[string]struct {
		reason string
		pools  []*v1.NodePool
		change func(pools []*v1.NodePool) []*v1.NodePool
		want   []string
	}{
		"decoy": {"a stronger pool has its way, today", []*v1.NodePool{evictingAll("strong", "s", 100, "a", "b")},
			func(pools []*v1.NodePool) []*v1.NodePool { return append(pools, weak) }, []string{"weak"}},
		"together": {"the stronger one is for half of the nodes", nil,
			func([]*v1.NodePool) []*v1.NodePool { return []*v1.NodePool{strong, weak} }, []string{"weak"}},
		"one after the other": {"the same, whichever came first", []*v1.NodePool{strong},
			func(pools []*v1.NodePool) []*v1.NodePool { return append(pools, weak) }, []string{"weak"}},
		"outer pool": {"the inner one evicts by the change of the outer one",
			[]*v1.NodePool{ofZone("outer", "x"), within(evictingAll("inner", "i", 0, "a", "b"), "outer")},
			func(pools []*v1.NodePool) []*v1.NodePool { return edited(pools, "outer", zones("a", "b")) }, []string{"outer"}},
		"approved outer pool": {"it is what somebody has approved",
			[]*v1.NodePool{ofZone("outer", "x"), within(evictingAll("inner", "i", 0, "a", "b"), "outer")},
			func(pools []*v1.NodePool) []*v1.NodePool {
				return edited(pools, "outer", func(pool *v1.NodePool) { zones("a", "b")(pool); approvedBy("2")(pool) })
			}, nil},
		"two inner pools": {"together they evict from all nodes",
			[]*v1.NodePool{ofZone("outer", "x"), within(evictingAll("i1", "1", 0, "a"), "outer"), within(evictingAll("i2", "2", 0, "b"), "outer")},
			func(pools []*v1.NodePool) []*v1.NodePool { return edited(pools, "outer", zones("a", "b")) }, []string{"outer"}},
		"paused": {"it evicts nobody until it is resumed", nil,
			func([]*v1.NodePool) []*v1.NodePool {
				pool := evictingAll("p", "p", 0, "a", "b")
				metav1.SetMetaDataAnnotation(&pool.ObjectMeta, v1.ReconcileAnnotation, v1.Disabled)
				return []*v1.NodePool{pool}
			}, nil},
		"another taint stands": {"a stronger pool has its way on the nodes of an inner one, which were accepted",
			[]*v1.NodePool{ofZone("outer", "a", "b", "c"), evictingAll("strong", "s", 9, "a", "b"), within(evictingAll("inner", "i", 0, "a", "b"), "outer")},
			func(pools []*v1.NodePool) []*v1.NodePool { return edited(pools, "outer", zones("a", "b", "c", "d")) }, nil},
		"base": {"pools within it have put theirs on all nodes",
			[]*v1.NodePool{evictingAll("base", "b", 0, "a", "b"), within(evictingAll("special", "s", 0, "a", "b"), "base")},
			func(pools []*v1.NodePool) []*v1.NodePool { return edited(pools, "base", zones("a", "b", "c")) }, nil},
		"outer pool for half": {"ten of twenty nodes",
			[]*v1.NodePool{ofZone("outer", "x"), within(evictingAll("inner", "i", 0, "a", "b"), "outer")},
			func(pools []*v1.NodePool) []*v1.NodePool { return edited(pools, "outer", zones("a")) }, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cluster := Cluster{Nodes: twenty}
			for i := range c.pools { // none of them is for more than half, or somebody has approved it
				pool := c.pools[i].DeepCopy()
				approvedBy("1")(pool)
				cluster.Pools = append(cluster.Pools, pool)
			}
			cluster = carriedOut(t, cluster)
			cluster.Pools = c.change(cluster.Pools)
			if got := heldNames(cluster); !slices.Equal(got, c.want) {
				t.Errorf("%s: held are %v, want %v", c.reason, got, c.want)
			}
		})
	}
}

// A pool that is held, and of which a stronger one takes the last key, stays held: nobody has
// approved its change.
func TestHeldPoolWithoutKeysStaysHeld(t *testing.T) {
	wall := byRole("wall")
	wall.Spec.Labels = nil
	wall.Spec.Taints = []v1.Taint{{Key: "example.com/wall", Value: "wall", Effect: corev1.TaintEffectNoSchedule}}
	nodes := inZones(map[string]int{"a": 20})
	for _, node := range nodes {
		node.Labels[v1.RoleLabel("wall")] = ""
	}
	cluster := carriedOut(t, Cluster{Pools: []*v1.NodePool{wall, ofZone("other", "x")}, Nodes: nodes})
	cluster.Pools = edited(cluster.Pools, "wall", func(pool *v1.NodePool) { pool.Spec.Parent = "other" })
	cluster = carriedOut(t, cluster)
	stronger := ofZone("stronger", "a")
	stronger.Spec.Priority = 100
	stronger.Spec.Taints = []v1.Taint{{Key: "example.com/wall", Value: "stronger", Effect: corev1.TaintEffectNoSchedule}}
	cluster.Pools = append(cluster.Pools, stronger)
	cluster = carriedOut(t, cluster)
	if carriers := carriersOf(cluster.Nodes)["wall"]; carriers != 0 {
		t.Fatalf("%d nodes carry keys of the wall, and a stronger pool wants the only one", carriers)
	}
	if got := heldNames(cluster); !slices.Equal(got, []string{"wall"}) {
		t.Errorf("held are %v", got)
	}
	cluster.Pools = edited(cluster.Pools, "wall", func(pool *v1.NodePool) { pool.Spec.Parent = "" })
	if got := heldNames(cluster); len(got) > 0 {
		t.Errorf("the change is undone, and held are %v", got)
	}
}

// byHand is a pool that is not of the source.
func byHand(pool *v1.NodePool) *v1.NodePool {
	metav1.SetMetaDataAnnotation(&pool.ObjectMeta, v1.SourceUIDAnnotation, "nobody")
	return pool
}

// What somebody has changed by hand, and nobody has approved, hides nothing of a revision, and
// has none of it held.
func TestHeldPoolsBesideARevision(t *testing.T) {
	base := Cluster{Nodes: inZones(map[string]int{"a": 10, "b": 10})}
	team := func(name string, pools ...*v1.NodePool) Revision {
		return revisionOfPools(name, ReleasePolicy{}, pools...)
	}

	t.Run("what a pool hides", func(t *testing.T) {
		for name, value := range map[string]string{"another value": "q", "the same value": "p"} {
			cluster := base
			cluster.Pools = []*v1.NodePool{byHand(evictingAll("p", "p", 10, "a", "b"))}
			cluster = carriedOut(t, cluster)
			if got := heldNames(cluster); !slices.Equal(got, []string{"p"}) {
				t.Fatalf("held are %v", got)
			}
			d, err := Diff(team("main@sha1:1", evictingAll("q", value, 0, "a", "b")), cluster)
			if err != nil {
				t.Fatal(err)
			}
			if d.Pools.Held == nil || len(d.Pools.Held.Losses) != 1 || d.Pools.Held.Losses[0].Pool != "q" {
				t.Errorf("%s: the revision evicts everything, and is held by %v", name, d.Pools.Held)
			}
			if after := d.After(cluster); taintedWith(after.Nodes, value) > 0 {
				t.Errorf("%s: %d nodes got a NoExecute taint that nobody has approved", name, taintedWith(after.Nodes, value))
			}
		}
	})
	t.Run("what an outer pool does", func(t *testing.T) {
		cluster := base
		cluster.Pools = []*v1.NodePool{byHand(ofZone("outer", "a", "b"))}
		inner := within(ofZone("inner", "a"), "outer")
		cluster = appliedRevision(t, team("main@sha1:1", inner), carriedOut(t, cluster))
		cluster.Pools = edited(cluster.Pools, "outer", zones("x"))
		cluster = carriedOut(t, cluster)
		relabeled := inner.DeepCopy()
		relabeled.Spec.Labels["example.com/inner"] = "other"
		d, err := Diff(team("main@sha1:2", relabeled), cluster)
		if err != nil {
			t.Fatal(err)
		}
		if d.Pools.Held != nil {
			t.Errorf("a revision of a label is held for what somebody has changed by hand: %v", d.Pools.Held)
		}
	})
	t.Run("an inner pool that evicts, in what an outer one says", func(t *testing.T) {
		cluster := base
		cluster.Pools = []*v1.NodePool{byHand(ofZone("outer", "a"))}
		cluster = carriedOut(t, cluster)
		cluster.Pools = edited(cluster.Pools, "outer", zones("x"))
		cluster = carriedOut(t, cluster)
		inner := within(evictingAll("inner", "i", 0, "a", "b"), "outer")
		d, err := Diff(team("main@sha1:1", inner), cluster)
		if err != nil {
			t.Fatal(err)
		}
		cluster = report(d.After(cluster))
		cluster.Pools = edited(cluster.Pools, "outer", func(pool *v1.NodePool) { zones("a", "b")(pool) })
		if got := heldNames(cluster); !slices.Equal(got, []string{"inner"}) {
			t.Errorf("nobody has approved what the inner pool does by the other change, and held are %v", got)
		}
	})
}

// An edit of an inner pool that is held does not evict by the taint of the pool around it.
func TestHeldEditOfAnInnerPoolEvictsNobody(t *testing.T) {
	cluster := Cluster{
		Nodes: inZones(map[string]int{"a": 20}),
		Pools: []*v1.NodePool{evictingAll("base", "b", 0, "a"), within(evictingAll("special", "s", 1, "a"), "base")},
	}
	for _, pool := range cluster.Pools {
		approvedBy("1")(pool)
	}
	cluster = carriedOut(t, cluster)
	if count := taintedWith(cluster.Nodes, "s"); count != 20 {
		t.Fatalf("%d nodes have the taint of the inner pool", count)
	}
	untaint := func(pool *v1.NodePool) { pool.Spec.Taints = nil }
	detach := func(pool *v1.NodePool) { pool.Spec.Parent = "" }
	for name, edits := range map[string][]func(*v1.NodePool){
		"held": {zones("x"), untaint}, "paused": {pause, untaint},
		"detached, held": {zones("x"), detach}, "detached, paused": {pause, detach}, "detached and untainted": {pause, detach, untaint},
	} {
		after := cluster
		after.Pools = edited(cluster.Pools, "special", func(pool *v1.NodePool) {
			for _, edit := range edits {
				edit(pool)
			}
		})
		after = carriedOut(t, after)
		if count := taintedWith(after.Nodes, "b"); count > 0 {
			t.Errorf("%s: %d nodes got the taint of the outer pool", name, count)
		}
	}
}

// What a source restores was allowed when it came. That is not so of a pool that could not follow
// then, as one around it was held.
func TestRestoredPoolThatWasNeverCounted(t *testing.T) {
	cluster := carriedOut(t, Cluster{Pools: []*v1.NodePool{byHand(ofZone("outer", "a", "b"))}, Nodes: inZones(map[string]int{"a": 10, "b": 10})})
	cluster.Pools = edited(cluster.Pools, "outer", zones("x"))
	cluster = carriedOut(t, cluster)
	revision := revisionOfPools("main@sha1:1", ReleasePolicy{Applied: "main@sha1:1"}, within(evictingAll("inner", "i", 0, "a", "b"), "outer"))
	cluster = appliedRevision(t, revision, cluster)
	cluster.Pools = edited(cluster.Pools, "outer", zones("a", "b"))
	if got := heldNames(cluster); !slices.Equal(got, []string{"inner"}) {
		t.Fatalf("held are %v", got)
	}
	cluster = report(cluster)
	cluster.Pools = edited(cluster.Pools, "inner", func(pool *v1.NodePool) {
		zones("a", "b", "c")(pool)
		pool.ManagedFields = append(pool.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: "kubectl-edit", Operation: metav1.ManagedFieldsOperationUpdate, FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:selector":{}}}`),
		})
	})
	d, err := Diff(revision, cluster)
	if err != nil {
		t.Fatal(err)
	}
	if d.Pools.Held == nil {
		t.Errorf("nobody has approved the taint, and it comes to %d nodes", taintedWith(d.After(cluster).Nodes, "i"))
	}
}

// A pool is held for what it does itself: not where one around it is held for that, and not
// when that is over.
func TestPoolsWithinAHeldOneAreNotHeld(t *testing.T) {
	cluster := carriedOut(t, Cluster{
		Nodes: inZones(map[string]int{"a": 12}),
		Pools: []*v1.NodePool{ofZone("outer", "a"), within(ofZone("inner", "a"), "outer")},
	})
	cluster.Pools = edited(cluster.Pools, "outer", zones("x"))
	cluster = carriedOut(t, cluster)
	cluster.Pools = edited(cluster.Pools, "inner", zones("a", "b"))
	cluster = carriedOut(t, cluster)
	if got := heldNames(cluster); !slices.Equal(got, []string{"outer"}) {
		t.Errorf("held are %v", got)
	}
	cluster.Pools = edited(cluster.Pools, "outer", zones("a"))
	if got := heldNames(cluster); len(got) > 0 {
		t.Errorf("the change is undone, and held are %v", got)
	}
}

// A pool of a source counts for whatever it says anew, also where another one has its way, and
// for what it has its way with anew; not for what it has said before of the same nodes.
func TestEvictionsOfARevision(t *testing.T) {
	team := func(name string, pools ...*v1.NodePool) Revision {
		return revisionOfPools(name, ReleasePolicy{}, pools...)
	}
	strong := evictingAll("strong", "s", 100, "a", "b")
	raised := evictingAll("weak", "w", 1000, "a", "b")
	relabeled := evictingAll("weak", "w", 0, "a", "b")
	relabeled.Spec.Labels["example.com/more"] = "yes"
	renamed := evictingAll("renamed", "s", 100, "a", "b")
	approved := func(name string, pools ...*v1.NodePool) Revision {
		return revisionOfPools(name, ReleasePolicy{Approval: name}, pools...)
	}
	for name, c := range map[string]struct {
		before, after []*v1.NodePool
		want          []string
	}{
		"a new one that does not have its way": {[]*v1.NodePool{strong}, []*v1.NodePool{strong, evictingAll("weak", "w", 0, "a", "b")}, []string{"weak"}},
		"another label of it":                  {[]*v1.NodePool{strong, evictingAll("weak", "w", 0, "a", "b")}, []*v1.NodePool{strong, relabeled}, nil},
		"a higher priority":                    {[]*v1.NodePool{strong, evictingAll("weak", "w", 0, "a", "b")}, []*v1.NodePool{strong, raised}, []string{"weak"}},
		"the same taint of another pool":       {[]*v1.NodePool{strong, ofZone("p", "a", "b")}, []*v1.NodePool{renamed, ofZone("p", "a", "b"), ofZone("strong", "a", "b")}, nil},
		"two, each on a half": {
			[]*v1.NodePool{ofZone("p", "a"), ofZone("q", "b")},
			[]*v1.NodePool{evictingAll("p", "s", 0, "a"), evictingAll("q", "s", 0, "b")}, []string{"p"},
		},
		"a paused one": {
			[]*v1.NodePool{paused(ofZone("p", "a", "b"))}, []*v1.NodePool{paused(evictingAll("p", "s", 0, "a", "b"))}, nil,
		},
		"one that is resumed": {
			[]*v1.NodePool{paused(evictingAll("p", "s", 0, "a", "b"))}, []*v1.NodePool{evictingAll("p", "s", 0, "a", "b")}, []string{"p"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := appliedRevision(t, approved("main@sha1:1", c.before...), Cluster{Nodes: inZones(map[string]int{"a": 10, "b": 10})})
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
