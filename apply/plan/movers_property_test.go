package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// Whatever weaker pools say of their rollouts, a key of which a pool is the mover becomes the same on a
// node, in whatever turn; pools around it aside, for which it waits. So it is where pools are nested.
func TestGatesOfWeakerPoolsCloseNothingForStrongerOnes(t *testing.T) {
	moved, waited := 0, 0
	for seed := range uint64(worlds) {
		w := newRolloutWorld(t, seed)
		r := rand.New(rand.NewPCG(seed, 41))
		strong := pick(r, w.after)
		hostile := copies(w.after)
		rollouts := AllRollouts(w.after)
		for _, pool := range hostile {
			if render.CompareRank(pool, strong) <= 0 || slices.Contains(rollouts.of(strong.Name).around, pool.Name) {
				continue
			}
			pool.Spec.Rollout = w.rollout()
			for range 1 + r.IntN(2) {
				pick(r, hostilities)(pool.Spec.Rollout)
			}
		}
		now := closedAt.Add(time.Duration(r.IntN(24*60)) * time.Minute)
		var turn Turn
		if r.IntN(2) == 0 {
			turn = turnFor(strong.Name)
		}
		for _, node := range w.nodes {
			is := NodeOutcomeOf(node, expand(w.after...), NodeFacts{Rollouts: AllRollouts(w.after), Turn: turn, Now: now})
			beside := NodeOutcomeOf(node, expand(hostile...), NodeFacts{Rollouts: AllRollouts(hostile), Turn: turn, Now: now})
			if is.Plan == nil || is.Paused || is.Plan.step != nil {
				continue
			}
			for _, key := range movedBy(rollouts, is.Plan, strong.Name) {
				a, b := valueAt(is.Admission.Plan.After(node), key), valueAt(beside.Admission.Plan.After(node), key)
				if a != b {
					t.Fatalf("seed %d: on node %s %v, which pool %s moves, becomes %q, and %q beside weaker pools with other rollouts", seed, node.Name, key, strong.Name, a, b)
				}
				if moved++; is.Wait.Of(strong.Name) != nil {
					waited++
				}
			}
		}
	}
	t.Logf("%d keys, of which %d wait", moved, waited)
	if moved < worlds || waited < worlds/10 {
		t.Error("the worlds have too little of what the property is about")
	}
}

// movedBy are the keys that a full plan changes, and of which a pool is the mover.
func movedBy(r *Rollouts, p *NodePlan, pool string) (keys []repairKey) {
	eachKey(p.recorded.Labels, p.Record.Labels, func(key string, before, after *Entry) {
		if !sameValue(before, after) && r.moverOf(before, p.desired.Labels[key], after) == pool {
			keys = append(keys, repairKey{Label, key})
		}
	})
	eachKey(p.recorded.Taints, p.Record.Taints, func(id render.TaintID, before, after *Entry) {
		if !sameValue(before, after) && r.moverOf(before, p.desired.Taints[id], after) == pool {
			keys = append(keys, repairKey{Taint, id.String()})
		}
	})
	return keys
}

func valueAt(node *NodeState, key repairKey) string {
	if key.field == Label {
		return fmt.Sprintf("%q", node.Labels[key.key])
	}
	for _, taint := range node.Taints {
		if (render.TaintID{Key: taint.Key, Effect: taint.Effect}).String() == key.key {
			return fmt.Sprintf("=%q", taint.Value)
		}
	}
	return ""
}

func copies(pools []*v1.NodePool) (all []*v1.NodePool) {
	for _, pool := range pools {
		all = append(all, pool.DeepCopy())
	}
	return all
}

// A wall that pools have put on a node, and that one of them, or another, wants still, has no gap:
// whoever gives it up, and whatever windows, waves and budgets they wait for, some value of it stands
// there with each write.
func TestWallOfTwoPoolsHasNoGap(t *testing.T) {
	writes, handed := 0, 0
	for seed := range uint64(worlds / 2) {
		w := newRolloutWorld(t, seed)
		r := rand.New(rand.NewPCG(seed, 43))
		for i, pool := range w.before { // most want the same taint, and some give it up
			wall := v1.Taint{Key: "example.com/wall", Value: fmt.Sprint(r.IntN(3)), Effect: corev1.TaintEffectNoSchedule}
			if r.IntN(4) > 0 {
				pool.Spec.Taints = append(pool.Spec.Taints, wall)
			}
			if wall.Value = fmt.Sprint(r.IntN(3)); r.IntN(3) > 0 {
				w.after[i].Spec.Taints = append(w.after[i].Spec.Taints, wall)
			}
		}
		id := render.TaintID{Key: "example.com/wall", Effect: corev1.TaintEffectNoSchedule}
		for i, node := range w.nodes {
			p, err := Node(node, expand(w.before...))
			if err != nil {
				t.Fatal(err)
			}
			w.nodes[i] = p.After(node)
		}
		s := newStepper(w)
		if s.rollouts == nil {
			continue
		}
		s.onWrite = func(node *NodeState, o NodeOutcome, _ NodeFacts) {
			before, had := o.Plan.recorded.Taints[id]
			want, wanted := o.Plan.desired.Taints[id]
			if !had || !wanted {
				return
			}
			writes++
			if before.Pool != want.Pool {
				handed++
			}
			if after := o.Admission.Plan.After(node); standingAt(after, id) < 0 {
				t.Errorf("seed %d: node %s loses %s, which pool %s had and pool %s wants: %v", seed, node.Name, id, before.Pool, want.Pool, after.Taints)
			}
		}
		s.steps(w.now, w.period/4)
	}
	t.Logf("%d writes, %d of them while the wall goes from one pool to another", writes, handed)
	if writes < worlds/2 || handed < worlds/10 {
		t.Error("the worlds have too little of what the property is about")
	}
}
