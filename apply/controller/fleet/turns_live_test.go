package fleet

import (
	"maps"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// All nodes follow in the end, when nothing more happens, all are ready, and no budget is 0.
func TestAllNodesFollowInTheEnd(t *testing.T) {
	stuck := 0
	for seed := range uint64(300) {
		w := newFleetWorld(t, seed)
		for range 60 {
			name := w.names[w.r.IntN(len(w.names))]
			switch w.r.IntN(8) {
			case 0:
				w.changePools()
			case 1:
				w.ready[name] = w.r.IntN(4) > 0
			case 2:
				w.now = w.now.Add(time.Duration(w.r.IntN(15_000)) * time.Millisecond)
			case 3:
				w.cache[name] = w.truth[name]
			case 4:
				w.giveTurns()
			default:
				w.pass(name, true)
			}
		}
		for i, pool := range w.pools {
			if pool.Spec.Rollout != nil && pool.Spec.Rollout.Drain != nil { // what lets pods come may stay for good
				w.pools[i] = pool.DeepCopy()
				w.pools[i].Spec.Rollout.Drain = &v1.Drain{Timeout: &metav1.Duration{Duration: time.Minute}, OnTimeout: v1.ForceOnTimeout}
				pool = w.pools[i]
			}
			if pool.Spec.Rollout != nil && pool.Spec.Rollout.MaxUnavailable != nil {
				one := intstr.FromInt32(1)
				w.pools[i] = pool.DeepCopy()
				w.pools[i].Spec.Rollout.MaxUnavailable = &one
				w.pools[i].Generation++
			}
			if rollout := w.pools[i].Spec.Rollout; rollout != nil && w.r.IntN(2) == 0 {
				first, second := intstr.FromInt32(int32(1+w.r.IntN(3))), intstr.FromInt32(int32(1+w.r.IntN(4)))
				w.pools[i] = w.pools[i].DeepCopy()
				w.pools[i].Spec.Rollout.Waves = []v1.Wave{{Name: "one", Nodes: &first}, {Name: "half", Nodes: &second}}
				w.pools[i].Generation++
			}
		}
		w.follow()
		world := w.t
		w.t = &testing.T{} // what the world checks is of its own waves
		for range 200 {
			for _, name := range w.names {
				w.ready[name] = true
				w.cache[name] = w.truth[name]
				w.pass(name, false)
			}
			w.giveTurns()
			w.halts = maps.Clone(w.turns.halts)
			for _, halt := range w.halts {
				if halt.Holds() {
					w.resume()
					break
				}
			}
			w.now = w.now.Add(20 * time.Second)
		}
		w.t = world
		for _, name := range w.names {
			if o := plan.NodeOutcomeOf(w.truth[name], w.snapshot.Expansion, plan.NodeFacts{Rollouts: w.snapshot.Rollouts, Now: w.now}); len(o.Wait) > 0 {
				stuck++
				if stuck < 4 {
					t.Errorf("seed %d: %s waits for ever: asks %v, turn %v; waves %v", seed, name, o.Asks, w.turns.of(name), w.turns.waves)
				}
			}
		}
		if t.Failed() && stuck >= 4 {
			break
		}
	}
	t.Log(stuck)
}
