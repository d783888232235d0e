package plan

import (
	"fmt"
	"testing"
	"time"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func selects(key, value string) func(*v1.Wave) {
	return func(w *v1.Wave) {
		w.Selector = &v1.WaveSelector{MatchLabels: map[string]v1.LabelValue{key: v1.LabelValue(value)}}
	}
}

// A wave that no node is in is found, be it that it selects none, or that others have them; by
// the labels that no pool has put there.
func TestEmptyWaves(t *testing.T) {
	a, b := newNode("a"), newNode("b")
	a.Labels = map[string]string{"zone": "a"}
	b.Labels = map[string]string{"zone": "b"}
	nodes := []*NodeState{a, b}
	for what, c := range map[string]struct {
		pool func(*v1.NodePool)
		want string
	}{
		"each has some":    {inWaves(waveOf("one", "1", nil), waveOf("b", "", selects("zone", "b"))), "[]"},
		"a typing error":   {inWaves(waveOf("canary", "", selects("zone", "A"))), `[no node of pool "p" is in its wave canary]`},
		"others have them": {inWaves(waveOf("b", "", selects("zone", "b")), waveOf("again", "1", selects("zone", "b"))), `[no node of pool "p" is in its wave again: waves before it have all that it selects]`},
		"a label of ours":  {all(labelled("x"), inWaves(waveOf("canary", "", selects(key, "x")))), `[no node of pool "p" is in its wave canary]`},
		"nothing is left":  {inWaves(waveOf("all", "100%", nil), waveOf("one", "1", nil), waveOf("none", "", selects("zone", "c"))), `[no node of pool "p" is in its wave one: waves before it have all that it selects no node of pool "p" is in its wave none]`},
		"no waves":         {limited("1", time.Minute), "[]"},
		"no nodes":         {func(pool *v1.NodePool) { pool.Spec.NodeNames = []string{"c"}; inWaves(waveOf("one", "1", nil))(pool) }, "[]"},
	} {
		pool := waitingPool("p", c.pool)
		pool.Status.Accepted = AcceptedSpecOf(pool)
		if got := fmt.Sprint(EmptyWaves([]*v1.NodePool{pool}, nil, nodes, closedAt)); got != c.want {
			t.Errorf("%s: %s, want %s", what, got, c.want)
		}
	}
}

// A difference has those of the pools that it changes, as they are afterwards.
func TestDifferenceHasEmptyWaves(t *testing.T) {
	canary := inWaves(waveOf("canary", "", selects("zone", "A")))
	changed, same, gone := waitingPool("changed", nil), waitingPool("same", canary), waitingPool("gone", canary)
	after := changed.DeepCopy()
	canary(after)
	d := &Difference{
		Pools: &PoolsPlan{}, PoolChanges: []PoolChange{{Name: "changed", Action: Update, Live: changed, Want: after}, {Name: "gone", Action: Delete, Live: gone}},
	}
	cluster := Cluster{Pools: []*v1.NodePool{changed, same, gone}, Nodes: []*NodeState{newNode("a")}}
	d.Pools.Changes = d.PoolChanges
	d.accept(Revision{}, cluster)
	if got, want := fmt.Sprint(d.EmptyWaves(cluster, closedAt)), `[no node of pool "changed" is in its wave canary]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
