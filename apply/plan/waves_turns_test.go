package plan

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func zoneWave(name, zone string) v1.Wave {
	return waveOf(name, "", func(w *v1.Wave) {
		w.Selector = &v1.WaveSelector{MatchLabels: map[string]v1.LabelValue{"zone": v1.LabelValue(zone)}}
	})
}

func follower(r *Rollouts, name, zone string, pools ...string) Follower {
	node := newNode(name)
	node.Labels = map[string]string{"zone": zone}
	return Follower{Name: name, Pools: pools, Selected: r.selected(pools, node.Labels)}
}

// Of two pools whose waves have another order, the stronger one goes first.
func TestWavesOfTwoPoolsDoNotWaitForEachOther(t *testing.T) {
	rollouts := RolloutsOf([]*v1.NodePool{
		waitingPool("fleet", all(inWaves(zoneWave("za", "a"), zoneWave("zb", "b")), func(p *v1.NodePool) { p.Spec.Priority = 100 })),
		waitingPool("gpu", inWaves(zoneWave("canary", "b"))),
	})
	var nodes []Follower
	for _, n := range []string{"1", "2"} {
		for _, zone := range []string{"a", "b"} {
			f := follower(rollouts, zone+n, zone, "fleet", "gpu")
			f.Asks, f.Waits = asksFor("fleet", "gpu"), []string{"gpu"}
			nodes = append(nodes, f)
		}
	}
	turns := rollouts.Turns(asking(nodes), nil, closedAt, true)
	if len(turns.Nodes) == 0 {
		t.Errorf("nobody ever begins, nothing is unavailable, again %v: fleet %q, gpu %q", turns.Again, turns.Waves["fleet"], turns.Waves["gpu"])
	}
}

// A node that joins may take the place of the canary: the soak goes on.
func TestNodeThatJoinsSkipsNoSoak(t *testing.T) {
	rollouts := RolloutsOf([]*v1.NodePool{waitingPool("p", inWaves(waveOf("canary", "1", func(w *v1.Wave) { w.Soak = &metav1.Duration{Duration: time.Hour} })))})
	b, c := follower(rollouts, "b", "", "p"), follower(rollouts, "c", "", "p")
	b.Change.At = closedAt.Add(-time.Minute)
	c.Asks, c.Waits = asksFor("p"), []string{"p"}
	if turns := rollouts.Turns(asking([]Follower{b, c}), nil, closedAt, true); len(turns.Nodes) > 0 {
		t.Fatal("no soak at all")
	}
	a := follower(rollouts, "a", "", "p") // joins: it has everything, and no time of a change
	if turns := rollouts.Turns(asking([]Follower{a, b, c}), nil, closedAt, true); len(turns.Nodes) > 0 {
		t.Errorf("after 1m of a soak of 1h, it is the turn of %v", turns.Nodes)
	}
}

// The approval of a wave is needed though its canary is deleted, or is in another wave now.
func TestApprovalOutlivesTheCanary(t *testing.T) {
	canary := zoneWave("canary", "canary")
	canary.Approval, canary.Soak = v1.ApprovalRequired, &metav1.Duration{Duration: time.Hour}
	rollouts := RolloutsOf([]*v1.NodePool{waitingPool("p", inWaves(canary))})
	a, b := follower(rollouts, "a", "canary", "p"), follower(rollouts, "b", "", "p")
	a.Change.At, a.Unavailable = closedAt.Add(-time.Minute), true // broken by the change
	b.Asks, b.Waits = asksFor("p"), []string{"p"}
	if turns := rollouts.Turns(asking([]Follower{a, b}), nil, closedAt, true); len(turns.Nodes) > 0 {
		t.Fatal("no approval at all")
	}
	if turns := rollouts.Turns(asking([]Follower{b}), nil, closedAt, true); len(turns.Nodes) > 0 {
		t.Errorf("canary deleted: it is the turn of %v", turns.Nodes)
	}
	a.Selected = nil // its label is gone
	if turns := rollouts.Turns(asking([]Follower{a, b}), nil, closedAt, true); len(turns.Nodes) > 0 {
		t.Errorf("canary in no wave: it is the turn of %v", turns.Nodes)
	}
}

// An approval in a pool that others wait for counts for the changes of these that were
// approved, and for no later one, though the pool itself stays the same.
func TestApprovalCountsForItsChangesAlone(t *testing.T) {
	canary := waveOf("canary", "1", func(w *v1.Wave) { w.Approval = v1.ApprovalRequired })
	gpu := func(generation int64) *v1.NodePool {
		return waitingPool("gpu", func(p *v1.NodePool) { p.Generation = generation })
	}
	turns := func(generation int64) Turns {
		rollouts := RolloutsOf([]*v1.NodePool{waitingPool("fleet", all(inWaves(canary), prior(100), func(p *v1.NodePool) {
			p.Annotations = map[string]string{v1.ApproveRolloutAnnotation: ChangeID(gpu(98)) + "/canary"}
		})), gpu(generation)})
		a, b := follower(rollouts, "a", "", "fleet", "gpu"), follower(rollouts, "b", "", "fleet", "gpu")
		a.Change.At = closedAt.Add(-time.Second)
		b.Asks, b.Waits = asksFor("fleet"), []string{"gpu"}
		return rollouts.Turns(asking([]Follower{a, b}), nil, closedAt, true)
	}
	if approved := turns(98); len(approved.Nodes) != 1 {
		t.Errorf("change 98 of gpu is approved, and it is the turn of %v: %s", approved.Nodes, approved.Waves["fleet"])
	}
	if later := turns(99); len(later.Nodes) > 0 {
		t.Errorf("change 99 of gpu goes past the canary by the approval of change 98: %v", later.Nodes)
	}
}

// What a node looked like before the pools changed says nothing of who is in a pool now.
func TestNoTurnBeforeAllNodesAreKnown(t *testing.T) {
	rollouts := RolloutsOf([]*v1.NodePool{waitingPool("p", limited("1", time.Minute))})
	nodes := []Follower{
		{Name: "a", Unavailable: true}, // in p by the new selector; its pass has not ended yet
		{Name: "b", Pools: []string{"p"}, Asks: asksFor("p"), Waits: []string{"p"}},
	}
	if turns := rollouts.Turns(asking(nodes), nil, closedAt, false); len(turns.Nodes) > 0 {
		t.Errorf("not settled, a is down and in p: turn of %v, 2 of 1 unavailable", turns.Nodes)
	}
}

// A change reaches a node that the one before it may have broken.
func TestRevertReachesABrokenNode(t *testing.T) {
	rollouts := RolloutsOf([]*v1.NodePool{waitingPool("p", limited("1", time.Minute))})
	a := Follower{Name: "a", Pools: []string{"p"}, Asks: asksFor("p"), Waits: []string{"p"}, Unavailable: true, Change: LastChange{At: closedAt.Add(-time.Hour)}}
	if turns := rollouts.Turns(asking([]Follower{a}), nil, closedAt, true); len(turns.Nodes) == 0 {
		t.Error("the only node, broken by the change, does not get the revert; it counts already and would cost nothing")
	}
}

// What a wave waits for is all said.
func TestWaveText(t *testing.T) {
	for want, s := range map[string]*WaveState{
		"wave canary, 1 of 2, has 1 of 3 nodes":                                                                                          {Nodes: 3, Behind: 2},
		"wave canary, 1 of 2, has 1 of 1 nodes; node a is cordoned":                                                                      {Nodes: 1, Unavailable: Unavailable{Nodes: 1, First: "a", Why: "is cordoned"}, Soaks: closedAt},
		"wave canary, 1 of 2, has 1 of 2 nodes; 1 node is settling":                                                                      {Nodes: 2, Behind: 1, Unavailable: Unavailable{Settling: 1}},
		"wave canary, 1 of 2, has 4 of 4 nodes; 2 nodes are not available: node a is not ready, for one; 2 nodes are settling":           {Nodes: 4, Unavailable: Unavailable{2, "a", "is not ready", 2}},
		"wave canary, 1 of 2, has 1 of 1 nodes; the next wave begins at 2026-11-25T12:00:00Z":                                            {Nodes: 1, Soaks: closedAt},
		"wave canary, 1 of 2, has 1 of 1 nodes; the next wave waits for an approval":                                                     {Nodes: 1, Approval: "abcdef/canary"},
		"wave canary, 1 of 2, has 1 of 1 nodes; the next wave begins at 2026-11-25T12:00:00Z at the earliest, and waits for an approval": {Nodes: 1, Soaks: closedAt, Approval: "abcdef/canary"},
	} {
		if s.Wave, s.Waves = "canary", 2; s.String() != want {
			t.Errorf("it says %q, want %q", s, want)
		}
	}
}

func manyNodes(nodes int, asks bool, names []string, waves int) []Follower {
	var all []Follower
	for i := range nodes {
		f := Follower{Name: fmt.Sprintf("n%05d", i), Pools: names}
		if asks {
			f.Asks, f.Waits = asksFor(names...), names
		}
		f.Selected = map[string]uint64{}
		if waves > 0 {
			for _, n := range names {
				f.Selected[n] = 1<<waves - 1
			}
		}
		all = append(all, f)
	}
	return all
}

// 5,000 nodes; each in few pools, or in all.
func BenchmarkTurnsOfManyPools(b *testing.B) {
	for _, c := range []struct{ pools, waves, per int }{{1000, 0, 1}, {1000, 0, 5}, {100, 3, 1}, {100, 3, 100}, {100, 63, 5}, {1, 63, 1}} {
		b.Run(fmt.Sprintf("%dpools-%dwaves-%dper", c.pools, c.waves, c.per), func(b *testing.B) {
			var defs []*v1.NodePool
			var names []string
			for i := range c.pools {
				name := fmt.Sprintf("p%04d", i)
				names = append(names, name)
				change := limited("1", time.Minute)
				if c.waves > 0 {
					var waves []v1.Wave
					for w := range c.waves {
						waves = append(waves, waveOf(fmt.Sprintf("w%d", w), "1", nil))
					}
					change = all(change, inWaves(waves...))
				}
				defs = append(defs, waitingPool(name, change))
			}
			r := RolloutsOf(defs)
			nodes := manyNodes(5000, true, names[:c.per], c.waves)
			for i := range nodes {
				var mine []string
				for j := range c.per {
					mine = append(mine, names[(i+j)%len(names)])
				}
				slices.Sort(mine)
				nodes[i].Pools, nodes[i].Asks, nodes[i].Waits = mine, asksFor(mine...), mine
				nodes[i].Selected = map[string]uint64{}
				for _, n := range mine {
					nodes[i].Selected[n] = 1<<c.waves - 1
				}
			}
			nodes = asking(nodes)
			for b.Loop() {
				r.Turns(nodes, nil, closedAt, true)
			}
		})
	}
}

// A node that is paused, or whose record cannot be read, stays in its wave.
func TestNodeThatIsLeftAloneStaysInItsWave(t *testing.T) {
	pools := []*v1.NodePool{waitingPool("p", inWaves(zoneWave("canary", "b")))}
	for annotation, value := range map[string]string{v1.ReconcileAnnotation: v1.Disabled, v1.AppliedAnnotation: "no record"} {
		node := newNode("n")
		node.Labels, node.Annotations = map[string]string{"zone": "b"}, map[string]string{annotation: value}
		outcome := NodeOutcomeOf(node, expand(pools...), NodeFacts{Rollouts: RolloutsOf(pools), Now: closedAt})
		if outcome.State == NodeStateChanging || outcome.Selected["p"] != 1 {
			t.Errorf("%s: the node is %s, and may be in the waves %b, want the first", annotation, outcome.State, outcome.Selected["p"])
		}
	}
}

// A wave soaks once: that later ones follow does not begin it anew.
func TestLaterWavesRestartNoSoak(t *testing.T) {
	soaking := waveOf("canary", "1", func(w *v1.Wave) { w.Soak = &metav1.Duration{Duration: time.Hour} })
	rollouts := RolloutsOf([]*v1.NodePool{waitingPool("p", inWaves(soaking))})
	a, b, c := follower(rollouts, "a", "", "p"), follower(rollouts, "b", "", "p"), follower(rollouts, "c", "", "p")
	a.Change.At, b.Change.At = closedAt.Add(-61*time.Minute), closedAt.Add(-time.Second)
	c.Asks, c.Waits = asksFor("p"), []string{"p"}
	if turns := rollouts.Turns(asking([]Follower{a, b, c}), nil, closedAt, true); len(turns.Nodes) != 1 {
		t.Errorf("the canary has soaked, another node began a second ago, and it is the turn of %v: %s", turns.Nodes, turns.Waves["p"])
	}
}

// When a node no longer counts in a pool that it has left, it is decided anew.
func TestPlacesOfNodesThatLeftComeFree(t *testing.T) {
	rollouts := RolloutsOf([]*v1.NodePool{waitingPool("p", limited("1", time.Minute))})
	gone := Follower{Name: "a", Change: LastChange{At: closedAt.Add(-20 * time.Second), Pools: map[string]FollowedPool{"p": {At: closedAt.Add(-20 * time.Second)}}}}
	b := follower(rollouts, "b", "", "p")
	b.Asks, b.Waits = asksFor("p"), []string{"p"}
	turns := rollouts.Turns(asking([]Follower{gone, b}), nil, closedAt, true)
	if want := closedAt.Add(40 * time.Second); len(turns.Nodes) > 0 || !turns.Again.Equal(want) {
		t.Errorf("it is the turn of %v, and decided again at %v, want nobody's, and %v", turns.Nodes, turns.Again, want)
	}
}
