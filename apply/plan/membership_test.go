package plan

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func pause(pool *v1.NodePool) {
	metav1.SetMetaDataAnnotation(&pool.ObjectMeta, v1.ReconcileAnnotation, v1.Disabled)
}

func resume(pool *v1.NodePool) { delete(pool.Annotations, v1.ReconcileAnnotation) }

// nested is a cluster of 40 nodes in which an inner pool is for any of three zones, and an outer
// one for the first of them only, of 12 nodes, so that the inner one evicts on these alone.
func nested(t *testing.T) Cluster {
	t.Helper()
	return carriedOut(t, Cluster{
		Nodes: inZones(map[string]int{"a": 12, "b": 14, "c": 14}),
		Pools: []*v1.NodePool{ofZone("outer", "a"), within(evictingAll("inner", "i", 0, "a", "b", "c"), "outer")},
	})
}

// edit is one of a pool.
type edit struct {
	pool   string
	change func(*v1.NodePool)
	// metadata reports that the edit is no new generation.
	metadata bool
}

func carriedOutAfter(t *testing.T, cluster Cluster, edits ...edit) Cluster {
	t.Helper()
	for _, e := range edits {
		cluster.Pools = edited(cluster.Pools, e.pool, func(pool *v1.NodePool) {
			e.change(pool)
			if e.metadata {
				pool.Generation--
			}
		})
		cluster = carriedOut(t, cluster)
	}
	return cluster
}

// An inner pool that did not follow an outer one when that one was changed is counted when it
// does: no order of edits of two pools evicts on most nodes.
func TestInnerPoolsAccountForWhatTheyDidNotFollow(t *testing.T) {
	widen := edit{pool: "outer", change: zones("a", "b", "c")}
	for name, c := range map[string]struct {
		reason string
		edits  []edit
		want   []string
	}{
		"widened":              {"the outer pool is counted itself", []edit{widen}, []string{"outer"}},
		"inner paused":         {"the outer pool has done nothing to it meanwhile", []edit{{"inner", pause, true}, widen, {"inner", resume, true}}, []string{"inner"}},
		"inner held":           {"it was held for an edit that is undone", []edit{{"inner", zones("x"), false}, widen, {"inner", zones("a", "b", "c"), false}}, []string{"inner"}},
		"outer paused":         {"nodes of the inner pool follow also what a paused one says of its members", []edit{{"outer", pause, true}, widen}, []string{"inner"}},
		"outer paused, undone": {"nothing has followed it", []edit{{"outer", pause, true}, widen, {"outer", zones("a"), false}, {"outer", resume, true}}, nil},
		"outer paused, approved, resumed": {"and the outer one has to account for nothing then", []edit{
			{"outer", pause, true}, widen, {"inner", func(pool *v1.NodePool) { approvedBy(approvalWith(pool, widen))(pool) }, true}, {"outer", resume, true},
		}, nil},
		"approved by its generation": {"which is not changed by an edit of the outer pool", []edit{{"inner", approvedBy("1"), true}, {"outer", pause, true}, widen}, []string{"inner"}},
		"outer approved":             {"also for the pools within it", []edit{{"outer", func(pool *v1.NodePool) { widen.change(pool); approvedBy("2")(pool) }, false}}, nil},
		"outer paused, and approved": {"which is for what it does itself once it is resumed", []edit{
			{"outer", pause, true}, {"outer", func(pool *v1.NodePool) { widen.change(pool); approvedBy("2")(pool) }, false},
		}, []string{"inner"}},
		"inner approved, outer widened": {"the approval is of the edit of the inner pool alone", []edit{
			{"inner", pause, true}, {"inner", func(pool *v1.NodePool) { zones("a", "b", "c", "d")(pool); approvedBy("2")(pool) }, false}, widen, {"inner", resume, true},
		}, []string{"inner"}},
		"outer approved, inner paused": {"its message did not count the inner pool", []edit{
			{"inner", pause, true}, {"outer", func(pool *v1.NodePool) { widen.change(pool); approvedBy("2")(pool) }, false}, {"inner", resume, true},
		}, []string{"inner"}},
		"outer approved, inner held": {"its message did not count what the inner pool does once it says again what it said", []edit{
			{"inner", zones("x"), false}, {"outer", func(pool *v1.NodePool) { widen.change(pool); approvedBy("2")(pool) }, false}, {"inner", zones("a", "b", "c"), false},
		}, []string{"inner"}},
		"outer approved, inner faulty": {"its members were not known meanwhile", []edit{
			{"inner", func(pool *v1.NodePool) { pool.Spec.Parent = "nowhere" }, false},
			{"outer", func(pool *v1.NodePool) { widen.change(pool); approvedBy("2")(pool) }, false},
			{"inner", func(pool *v1.NodePool) { pool.Spec.Parent = "outer" }, false},
		}, []string{"inner"}},
		"held, then harmless": {"what an inner pool was held for is counted anew", []edit{{"outer", pause, true}, widen, {"outer", zones("a", "d"), false}}, nil},
		"another taint of the outer pool": {"its members stay the same", []edit{{"outer", func(pool *v1.NodePool) {
			pool.Spec.Taints = []v1.Taint{{Key: "example.com/other", Effect: corev1.TaintEffectNoExecute}}
		}, false}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := carriedOutAfter(t, nested(t), c.edits...)
			if got := heldNames(cluster); !slices.Equal(got, c.want) {
				t.Errorf("%s: held are %v, want %v", c.reason, got, c.want)
			}
			if count := taintedWith(cluster.Nodes, "i"); len(c.want) > 0 && count != 12 {
				t.Errorf("%s: %d nodes have the taint, want the 12 that had it", c.reason, count)
			}
		})
	}
}

// What several inner pools did not follow counts together.
func TestInnerPoolsAccountTogether(t *testing.T) {
	cluster := carriedOut(t, Cluster{
		Nodes: inZones(map[string]int{"a": 15, "b": 15}),
		Pools: []*v1.NodePool{ofZone("outer", "x"), within(evictingAll("i1", "1", 0, "a"), "outer"), within(evictingAll("i2", "2", 0, "b"), "outer")},
	})
	half := carriedOutAfter(t, cluster, edit{"outer", pause, true}, edit{"outer", zones("a"), false})
	if got := taintedWith(half.Nodes, "1"); got != 15 || len(heldNames(half)) > 0 {
		t.Errorf("15 of 30 nodes are within the limit; %d nodes have the taint, and held are %v", got, heldNames(half))
	}
	all := carriedOutAfter(t, cluster, edit{"outer", pause, true}, edit{"outer", zones("a", "b"), false})
	if got := heldNames(all); !slices.Equal(got, []string{"i1", "i2"}) {
		t.Errorf("held are %v", got)
	}
}

// Nodes on which a stronger pool has its way, and that carry an inner pool already, have accepted
// that one, though it did not follow an outer one for a while.
func TestAcceptedNodesCountNoMore(t *testing.T) {
	cluster := nested(t)
	cluster.Pools = edited(cluster.Pools, "outer", func(pool *v1.NodePool) { zones("a", "b", "c")(pool); approvedBy("2")(pool) })
	cluster.Pools = append(cluster.Pools, evictingAll("strong", "s", 100, "a", "b", "c"))
	cluster.Pools = edited(cluster.Pools, "strong", approvedBy("2"))
	cluster = carriedOut(t, cluster)
	if got := taintedWith(cluster.Nodes, "s"); got != 40 {
		t.Fatalf("%d nodes have the taint of the stronger pool", got)
	}
	cluster = carriedOutAfter(t, cluster, edit{"inner", pause, true}, edit{"outer", zones("a", "b", "c", "d"), false}, edit{"inner", resume, true})
	if got := heldNames(cluster); len(got) > 0 {
		t.Errorf("no node is new to a pool, and held are %v", got)
	}
}

// An approval of the nearest pool around one does not hide what a further one says.
func TestApprovedOuterPoolHidesNoFurtherOne(t *testing.T) {
	cluster := carriedOut(t, Cluster{
		Nodes: inZones(map[string]int{"a": 12, "b": 14, "c": 14}),
		Pools: []*v1.NodePool{ofZone("furthest", "a"), within(ofZone("outer", "a", "b", "c"), "furthest"), within(evictingAll("inner", "i", 0, "a", "b", "c"), "outer")},
	})
	harmless := func(pool *v1.NodePool) { zones("a", "b", "c", "d")(pool); approvedBy("2")(pool) }
	cluster = carriedOutAfter(t, cluster, edit{"inner", pause, true}, edit{"outer", harmless, false}, edit{"furthest", zones("a", "b", "c"), false}, edit{"inner", resume, true})
	if got := heldNames(cluster); !slices.Equal(got, []string{"inner"}) || taintedWith(cluster.Nodes, "i") != 12 {
		t.Errorf("held are %v, and %d nodes have the taint", got, taintedWith(cluster.Nodes, "i"))
	}
}

// A pool that is within a held one follows none around that either, whoever has approved them.
func TestPoolWithinAHeldOneFollowsNoFurtherOne(t *testing.T) {
	cluster := carriedOut(t, Cluster{
		Nodes: inZones(map[string]int{"a": 12, "b": 14, "c": 14}),
		Pools: []*v1.NodePool{ofZone("furthest", "a"), within(ofZone("outer", "a", "b", "c"), "furthest"), within(evictingAll("inner", "i", 0, "a", "b", "c"), "outer")},
	})
	wide := func(pool *v1.NodePool) { zones("a", "b", "c")(pool); approvedBy("2")(pool) }
	cluster = carriedOutAfter(t, cluster, edit{"outer", zones("x"), false}, edit{"furthest", wide, false}, edit{"outer", zones("a", "b", "c"), false})
	if got := heldNames(cluster); !slices.Equal(got, []string{"inner"}) || taintedWith(cluster.Nodes, "i") != 12 {
		t.Errorf("held are %v, and %d nodes have the taint", got, taintedWith(cluster.Nodes, "i"))
	}
}

// A pool is not held for what the others do that are within the same one.
func TestInnocentInnerPoolIsNotHeld(t *testing.T) {
	cluster := nested(t)
	cluster.Pools = append(cluster.Pools, within(ofZone("innocent", "a"), "outer"))
	cluster = carriedOutAfter(t, carriedOut(t, cluster), edit{"outer", pause, true}, edit{"outer", zones("a", "b", "c"), false})
	if got := heldNames(cluster); !slices.Equal(got, []string{"inner"}) {
		t.Errorf("held are %v", got)
	}
}

// Both of two edits count for a pool that one of them is of, and the other one is around it.
func TestEditsOfInnerAndOuterPoolCountTogether(t *testing.T) {
	cluster := carriedOut(t, Cluster{
		Nodes: inZones(map[string]int{"a": 20, "b": 20}),
		Pools: []*v1.NodePool{ofZone("outer", "x"), within(evictingAll("i1", "1", 0, "a"), "outer"), within(evictingAll("i2", "2", 0, "b"), "outer")},
	})
	cluster.Pools = edited(cluster.Pools, "outer", zones("a", "b"))
	cluster.Pools = edited(cluster.Pools, "i1", zones("a", "nowhere"))
	cluster = carriedOut(t, cluster)
	if got := heldNames(cluster); !slices.Equal(got, []string{"outer"}) {
		t.Errorf("held are %v", got)
	}
}

// approvalWith is the approval of an inner pool within an edited outer one.
func approvalWith(inner *v1.NodePool, outer edit) string {
	around := ofZone("outer", "a")
	outer.change(around)
	around.Generation++
	pools := byName([]*v1.NodePool{around})
	inner = inner.DeepCopy()
	inner.Generation-- // an approval is no new one
	return pools.approval(inner)
}

// What an inner pool is told to be approved with approves it, for what the outer one says now.
func TestApprovalOfAnInnerPool(t *testing.T) {
	cluster := carriedOutAfter(t, nested(t), edit{"outer", pause, true}, edit{"outer", zones("a", "b", "c"), false})
	held := HeldReleases(cluster.Pools, cluster.Nodes)["inner"]
	message := held.Error()
	if want := `it has not followed so far what pool "outer" around it says of its members`; !strings.Contains(message, want) {
		t.Errorf("the message is %q, and lacks %q", message, want)
	}
	cluster = carriedOutAfter(t, cluster, edit{"inner", approvedBy(held.Approval), true})
	if got := taintedWith(cluster.Nodes, "i"); got != 40 {
		t.Errorf("after the approval %d nodes have the taint", got)
	}
	gone := carriedOutAfter(t, cluster, edit{"outer", zones("x"), false})
	if got := heldNames(gone); !slices.Equal(got, []string{"inner"}) {
		t.Errorf("the outer pool is edited again, and held are %v", got)
	}
	again := carriedOutAfter(t, cluster, edit{"outer", zones("a", "b"), false}, edit{"outer", zones("b"), false}, edit{"outer", zones("a", "b", "c"), false})
	if got := heldNames(again); !slices.Equal(got, []string{"inner"}) || taintedWith(again.Nodes, "i") != 14 {
		t.Errorf("it says again what was approved before; held are %v, and %d nodes have the taint", got, taintedWith(again.Nodes, "i"))
	}
}

// An outer pool that was approved may have been reported before those within it, whose nodes
// take their turns: they are not held for that.
func TestApprovedOuterPoolAccountsForThoseWithin(t *testing.T) {
	cluster := nested(t)
	cluster.Pools = edited(cluster.Pools, "outer", func(pool *v1.NodePool) {
		zones("a", "b", "c")(pool)
		approvedBy("2")(pool)
		pool.Status.ObservedMembership = Membership(pool)
	})
	if got := heldNames(cluster); len(got) > 0 {
		t.Errorf("held are %v", got)
	}
}

// The command of a pool that is held for an edit of its own is for those around it as well, where
// they have changed with it.
func TestApprovalOfTwoEdits(t *testing.T) {
	cluster := carriedOut(t, Cluster{
		Nodes: inZones(map[string]int{"a": 20, "b": 20}), Pools: []*v1.NodePool{ofZone("outer", "a", "b"), within(ofZone("inner", "a", "b"), "outer")},
	})
	cluster = carriedOutAfter(t, cluster, edit{"inner", zones("x"), false}, edit{"outer", zones("a"), false})
	cluster.Pools = edited(cluster.Pools, "outer", func(pool *v1.NodePool) { pool.Generation-- })
	held := HeldReleases(cluster.Pools, cluster.Nodes)["inner"]
	cluster = carriedOutAfter(t, cluster, edit{"inner", approvedBy(held.Approval), true})
	if got := heldNames(cluster); len(got) > 0 || carriersOf(cluster.Nodes)["inner"] > 0 {
		t.Errorf("it is approved; held are %v, and %d nodes carry it", got, carriersOf(cluster.Nodes)["inner"])
	}
}

// A pool that is moved into another one is approved by its own generation.
func TestMovedPool(t *testing.T) {
	for name, c := range map[string]struct {
		pools []*v1.NodePool
		want  int
	}{
		"from another one": {[]*v1.NodePool{ofZone("outer", "a"), ofZone("other", "a", "b", "c"), within(evictingAll("moved", "m", 0, "a", "b", "c"), "outer")}, 40},
		"from none":        {[]*v1.NodePool{ofZone("other", "a"), evictingAll("moved", "m", 0, "a", "b", "c")}, 12},
	} {
		t.Run(name, func(t *testing.T) {
			approvedBy("1")(c.pools[len(c.pools)-1])
			cluster := carriedOut(t, Cluster{Nodes: inZones(map[string]int{"a": 12, "b": 14, "c": 14}), Pools: c.pools})
			before := taintedWith(cluster.Nodes, "m")
			cluster = carriedOutAfter(t, cluster, edit{"moved", func(pool *v1.NodePool) { pool.Spec.Parent = "other" }, false})
			if got := taintedWith(cluster.Nodes, "m"); got != before {
				t.Errorf("nobody has approved it, and %d nodes have the taint, after %d", got, before)
			}
			block := HeldReleases(cluster.Pools, cluster.Nodes)["moved"]
			if want := "undo the change, or approve it with: nodepools approve moved"; block == nil || !strings.HasSuffix(block.Error(), want) {
				t.Fatalf("it is held by %v", block)
			}
			cluster = carriedOutAfter(t, cluster, edit{"moved", approvedBy("2"), true})
			if got := taintedWith(cluster.Nodes, "m"); got != c.want || len(heldNames(cluster)) > 0 {
				t.Errorf("it is approved, and %d nodes have the taint, want %d; held are %v", got, c.want, heldNames(cluster))
			}
		})
	}
}

// A cluster of an earlier version does not say what inner pools have followed.
func TestInnerPoolsOfAnEarlierVersion(t *testing.T) {
	cluster := nested(t)
	cluster.Pools = edited(cluster.Pools, "inner", func(pool *v1.NodePool) {
		pool.Generation--
		pool.Status.ObservedOuterPools = nil
	})
	if got := heldNames(cluster); len(got) > 0 {
		t.Errorf("held are %v", got)
	}
	cluster.Pools = edited(cluster.Pools, "outer", zones("a", "b", "c"))
	if got := heldNames(cluster); !slices.Equal(got, []string{"outer"}) {
		t.Errorf("held are %v, want the outer pool", got)
	}
}

// A frozen pool that says nothing of a NoExecute taint any more keeps it from the pools around
// it. A stronger pool within it, which was counted for itself, gets the key.
func TestStrongerInnerPoolGetsAKeyOfAFrozenOne(t *testing.T) {
	cluster := carriedOut(t, Cluster{
		Nodes: inZones(map[string]int{"a": 8, "b": 12}), Pools: []*v1.NodePool{evictingAll("base", "b", 0, "a")},
	})
	cluster = carriedOutAfter(t, cluster, edit{"base", func(pool *v1.NodePool) { pause(pool); pool.Spec.Taints = nil }, false})
	if got := taintedWith(cluster.Nodes, "b"); got != 8 {
		t.Fatalf("%d nodes have the taint of the paused pool", got)
	}
	cluster.Pools = append(cluster.Pools, within(evictingAll("special", "s", 1000, "a"), "base"))
	cluster = carriedOut(t, cluster)
	if got := taintedWith(cluster.Nodes, "s"); got != 8 {
		t.Errorf("%d nodes have the taint of the stronger pool, want 8", got)
	}
}
