package plan

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// turnsFollowers are nodes that have followed pools, by a pass that knows others.
func turnsFollowers(t *testing.T, before, after []*v1.NodePool, count int) []Follower {
	t.Helper()
	rollouts, expansion := RolloutsOf(after), expand(after...)
	var all []Follower
	for i := range count {
		node := followed(t, 60*24*time.Hour, before...)
		node.Name = fmt.Sprintf("n%d", i)
		o := NodeOutcomeOf(node, expansion, NodeFacts{Rollouts: rollouts, Now: closedAt})
		f := Follower{Name: node.Name, Pools: slices.Compact(slices.Sorted(slices.Values(append(o.Members, o.CarriedAfter()...)))), Asks: o.Asks, Selected: o.Selected}
		for _, w := range o.Wait {
			f.Waits = append(f.Waits, w.Pool)
		}
		all = append(all, f)
	}
	return all
}

// Nodes are released in waves, where the pool is deleted, and where they leave it.
func TestReleaseGoesInWaves(t *testing.T) {
	canary := waveOf("canary", "1", func(w *v1.Wave) { w.Approval = v1.ApprovalRequired })
	pool := func() *v1.NodePool {
		return waitingPool("p", all(inWaves(canary), tainted("1", corev1.TaintEffectNoSchedule)))
	}
	deleted := pool()
	at := metav1.NewTime(closedAt.Add(-time.Minute))
	deleted.DeletionTimestamp, deleted.Finalizers = &at, []string{"x"}
	left := pool()
	left.Spec.NodeNames = []string{"others-*"}
	for name, after := range map[string]*v1.NodePool{"deleted": deleted, "left": left} {
		nodes := turnsFollowers(t, []*v1.NodePool{pool()}, []*v1.NodePool{after}, 3)
		turns := RolloutsOf([]*v1.NodePool{after}).Turns(asking(nodes), nil, closedAt, true)
		if len(turns.Nodes) != 1 {
			t.Errorf("%s: want the canary, and it is the turn of %v; first is %+v", name, slices.Sorted(maps.Keys(turns.Nodes)), nodes[0])
		}
	}
}
