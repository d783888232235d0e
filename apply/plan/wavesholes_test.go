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
	return Follower{Name: name, Pools: pools, Selected: r.selected(node, &NodePlan{Pools: pools})}
}

// Two pools whose waves have another order keep each other's nodes waiting for ever.
func TestWavesOfTwoPoolsDoNotWaitForEachOther(t *testing.T) {
	rollouts := RolloutsOf([]*v1.NodePool{
		waitingPool("fleet", all(inWaves(zoneWave("za", "a"), zoneWave("zb", "b")), func(p *v1.NodePool) { p.Spec.Priority = 100 })),
		waitingPool("gpu", inWaves(zoneWave("canary", "b"))),
	})
	var nodes []Follower
	for _, n := range []string{"1", "2"} {
		for _, zone := range []string{"a", "b"} {
			f := follower(rollouts, zone+n, zone, "fleet", "gpu")
			f.Asks, f.Waits = []string{"fleet", "gpu"}, []string{"gpu"}
			nodes = append(nodes, f)
		}
	}
	turns := rollouts.Turns(nodes, closedAt, true)
	if len(turns.Nodes) == 0 {
		t.Errorf("nobody ever begins, nothing is unavailable, again %v: fleet %q, gpu %q", turns.Again, turns.Waves["fleet"], turns.Waves["gpu"])
	}
}

// A node that joins takes the place of the canary, and with it goes the soak.
func TestNodeThatJoinsSkipsNoSoak(t *testing.T) {
	rollouts := RolloutsOf([]*v1.NodePool{waitingPool("p", inWaves(waveOf("canary", "1", func(w *v1.Wave) { w.Soak = &metav1.Duration{Duration: time.Hour} })))})
	b, c := follower(rollouts, "b", "", "p"), follower(rollouts, "c", "", "p")
	b.Changed = closedAt.Add(-time.Minute)
	c.Asks, c.Waits = []string{"p"}, []string{"p"}
	if turns := rollouts.Turns([]Follower{b, c}, closedAt, true); len(turns.Nodes) > 0 {
		t.Fatal("no soak at all")
	}
	a := follower(rollouts, "a", "", "p") // joins: it has everything, and no time of a change
	if turns := rollouts.Turns([]Follower{a, b, c}, closedAt, true); len(turns.Nodes) > 0 {
		t.Errorf("after 1m of a soak of 1h, it is the turn of %v", turns.Nodes)
	}
}

// The canary that is deleted, or paused, or whose record cannot be read, takes the approval
// and the soak with it.
func TestApprovalOutlivesTheCanary(t *testing.T) {
	canary := zoneWave("canary", "canary")
	canary.Approval, canary.Soak = v1.ApprovalRequired, &metav1.Duration{Duration: time.Hour}
	rollouts := RolloutsOf([]*v1.NodePool{waitingPool("p", inWaves(canary))})
	a, b := follower(rollouts, "a", "canary", "p"), follower(rollouts, "b", "", "p")
	a.Changed, a.Unavailable = closedAt.Add(-time.Minute), true // broken by the change
	b.Asks, b.Waits = []string{"p"}, []string{"p"}
	if turns := rollouts.Turns([]Follower{a, b}, closedAt, true); len(turns.Nodes) > 0 {
		t.Fatal("no approval at all")
	}
	if turns := rollouts.Turns([]Follower{b}, closedAt, true); len(turns.Nodes) > 0 {
		t.Errorf("canary deleted: it is the turn of %v", turns.Nodes)
	}
	a.Selected = nil // what a pass over a paused node, or an unreadable record, reports
	if turns := rollouts.Turns([]Follower{a, b}, closedAt, true); len(turns.Nodes) > 0 {
		t.Errorf("canary paused: it is the turn of %v", turns.Nodes)
	}
}

// An approval of the rollout of a pool around, or a stronger one, counts for every later
// change of the pools that wait for it: its generation stays.
func TestApprovalCountsForItsChangesAlone(t *testing.T) {
	approved := func(p *v1.NodePool) {
		p.Spec.Priority = 100
		p.Annotations = map[string]string{v1.ApproveRolloutAnnotation: "7/canary"}
	}
	canary := waveOf("canary", "1", func(w *v1.Wave) { w.Approval = v1.ApprovalRequired })
	rollouts := RolloutsOf([]*v1.NodePool{
		waitingPool("fleet", all(inWaves(canary), approved)),
		waitingPool("gpu", func(p *v1.NodePool) { p.Generation = 99 }), // changed long after the approval
	})
	a, b := follower(rollouts, "a", "", "fleet", "gpu"), follower(rollouts, "b", "", "fleet", "gpu")
	a.Changed = closedAt.Add(-time.Second)
	b.Asks, b.Waits = []string{"fleet"}, []string{"gpu"}
	if turns := rollouts.Turns([]Follower{a, b}, closedAt, true); len(turns.Nodes) > 0 {
		t.Errorf("change 99 of gpu goes past the canary by the approval of an earlier change: %v", turns.Nodes)
	}
}

// What a node looked like before the pools changed says nothing of who is in a pool now.
func TestNoTurnBeforeAllNodesAreKnown(t *testing.T) {
	rollouts := RolloutsOf([]*v1.NodePool{waitingPool("p", limited("1", time.Minute))})
	nodes := []Follower{
		{Name: "a", Unavailable: true}, // in p by the new selector; its pass has not ended yet
		{Name: "b", Pools: []string{"p"}, Asks: []string{"p"}, Waits: []string{"p"}},
	}
	if turns := rollouts.Turns(nodes, closedAt, false); len(turns.Nodes) > 0 {
		t.Errorf("not settled, a is down and in p: turn of %v, 2 of 1 unavailable", turns.Nodes)
	}
}

// The change that is to bring back what nodes were broken by never reaches them.
func TestRevertReachesABrokenNode(t *testing.T) {
	rollouts := RolloutsOf([]*v1.NodePool{waitingPool("p", limited("1", time.Minute))})
	a := Follower{Name: "a", Pools: []string{"p"}, Asks: []string{"p"}, Waits: []string{"p"}, Unavailable: true, Changed: closedAt.Add(-time.Hour)}
	if turns := rollouts.Turns([]Follower{a}, closedAt, true); len(turns.Nodes) == 0 {
		t.Error("the only node, broken by the change, does not get the revert; it counts already and would cost nothing")
	}
}

// Two waits of other kinds that end at the same time.
func TestWaveText(t *testing.T) {
	s := WaveState{Wave: "canary", Waves: 2, Nodes: 1, Soaks: closedAt, Approval: "7/canary"}
	t.Logf("%s", &s)
}

func manyNodes(nodes int, asks bool, names []string, waves int) []Follower {
	var all []Follower
	for i := range nodes {
		f := Follower{Name: fmt.Sprintf("n%05d", i), Pools: names}
		if asks {
			f.Asks, f.Waits = names, names
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
				nodes[i].Pools, nodes[i].Asks, nodes[i].Waits = mine, mine, mine
				nodes[i].Selected = map[string]uint64{}
				for _, n := range mine {
					nodes[i].Selected[n] = 1<<c.waves - 1
				}
			}
			for b.Loop() {
				r.Turns(nodes, closedAt, true)
			}
		})
	}
}
