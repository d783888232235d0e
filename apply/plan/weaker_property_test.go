package plan

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// hostilities are what the author of a pool may write for its changes never to come.
var hostilities = []func(*v1.Rollout){
	func(r *v1.Rollout) { r.MaxUnavailable = new(intstr.FromInt32(0)) },
	func(r *v1.Rollout) { r.NodeConditions = []v1.NodeCondition{{Type: "Never"}} },
	func(r *v1.Rollout) {
		r.Waves = []v1.Wave{waveOf("never", "1", func(w *v1.Wave) { w.Approval = v1.ApprovalRequired })}
	},
	func(r *v1.Rollout) { r.Windows, r.Exclusions = []v1.Window{{Schedule: "0 0 29 2 *"}}, nil },
	func(r *v1.Rollout) { r.Paused = true },
}

// Whatever the rollouts of weaker pools are, the nodes that follow the strongest one are the
// same: no pool keeps what a stronger one says off a node.
func TestWeakerRolloutsKeepNothingOfAStrongerOffNodes(t *testing.T) {
	const period = 26 * time.Hour // in which every window opens
	compared, changed := 0, 0
	for seed := range uint64(worlds / 6) {
		w := newRolloutWorld(t, seed)
		strongest := slices.MinFunc(w.after, render.CompareRank)
		if strongest.Spec.Parent != "" || len(w.after) < 2 || strongest.DeletionTimestamp != nil {
			continue
		}
		if strongest.Spec.Rollout != nil {
			strongest.Spec.Rollout.NodeConditions = nil // a node that has begun may go on without
		}
		weaker := slices.DeleteFunc(slices.Clone(w.after), func(pool *v1.NodePool) bool { return pool == strongest })
		ends := func(halted bool, change func(*v1.NodePool)) map[string]string {
			for _, pool := range weaker {
				change(pool)
			}
			s := newStepper(w)
			for _, pool := range weaker {
				if halted && w.oneIn(3) {
					s.halts[pool.Name] = &Halt{Time: w.now, Changes: []string{specHash(pool)}, Nodes: 1, Node: "n"}
				}
			}
			s.approves = func(pool string) bool { return pool == strongest.Name }
			s.steps(w.now, period)
			found := map[string]string{}
			for name, node := range s.nodes {
				if value, has := node.Labels["example.com/"+strongest.Name]; has && !node.Unschedulable {
					found[name] = value
				}
			}
			return found
		}
		before := map[string]string{}
		for _, node := range w.nodes {
			if value, has := node.Labels["example.com/"+strongest.Name]; has && !node.Unschedulable {
				before[node.Name] = value
			}
		}
		alone := ends(false, func(pool *v1.NodePool) { pool.Spec.Rollout = nil })
		r := rand.New(rand.NewPCG(seed, 13))
		beside := ends(true, func(pool *v1.NodePool) {
			pool.Spec.Rollout = w.rollout()
			for range 1 + r.IntN(2) {
				pick(r, hostilities)(pool.Spec.Rollout)
			}
		})
		if !maps.Equal(alone, beside) {
			t.Errorf("seed %d: pool %s ends on %v, and beside weaker pools whose changes never come on %v", seed, strongest.Name, alone, beside)
		}
		compared++
		if !maps.Equal(before, alone) {
			changed++
		}
	}
	t.Logf("%d worlds, in %d of which the strongest pool changes its nodes", compared, changed)
	if changed < worlds/50 {
		t.Error("the worlds have too little of what the property is about")
	}
}
