package plan

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// What is foretold is what happens: the same writes of the same nodes at the same times, as
// stepping through every minute has them.
func TestScheduleIsWhatHappens(t *testing.T) {
	seen := happenings{}
	seeds := []uint64{1167, 2595} // where changes of several pools wait on one node
	for seed := range uint64(worlds) {
		seeds = append(seeds, seed)
	}
	for _, seed := range seeds {
		seen.compare(t, seed, newRolloutWorld(t, seed))
	}
	t.Logf("%d worlds: %+v", worlds, seen)
	if seen.writes < worlds || seen.later < worlds || seen.approvals < worlds/20 || seen.stay < worlds/20 {
		t.Error("the worlds have too little of what the property is about")
	}
}

// So it is where nodes are drained, where some are not ready, and where rollouts were halted
// when it was foretold, or are by what is found then.
func TestScheduleOfDrainsAndHaltsIsWhatHappens(t *testing.T) {
	seen, halted, drained := happenings{}, 0, 0
	worlds := max(worlds, 250) // what is rare happens in few of them
	for seed := range uint64(worlds / 2) {
		w := newRolloutWorld(t, seed)
		extra := rand.New(rand.NewPCG(seed, 31))
		w.drain(extra)
		w.nameConditions(extra)
		if seed%3 > 0 && !w.goOn(extra) {
			continue
		}
		halts, drains := len(HaltsOf(w.after)), 0
		for _, node := range w.nodes {
			drains += len(LastChangeOf(node).Drains)
		}
		failing := slices.ContainsFunc(w.nodes, func(node *NodeState) bool {
			return w.unready[node.Name] || node.Conditions == ParseConditions(gpuHealthy+"=False")
		})
		if halts+drains == 0 && !failing && seed%3 > 0 {
			continue
		}
		halted, drained, w.period = halted+halts, drained+drains, 2*time.Hour
		seen.compare(t, seed, w)
	}
	t.Logf("%d worlds: %+v; at the beginning %d rollouts were halted, and %d drains had begun", worlds/2, seen, halted, drained)
	if seen.writes < worlds/4 || seen.drains < worlds/50 || seen.halts < worlds/50 || seen.foretold == 0 || seen.lacking == 0 || halted < worlds/50 || seen.reverts == 0 {
		t.Error("the worlds have too little of what the property is about")
	}
}

// Halts that are there, and those that are found, are foretold; what takes the change back goes
// at once, and so does everything when the rollout is resumed.
func TestScheduleOfHaltedRollouts(t *testing.T) {
	const halted = ` 2 nodes do not follow: the rollout of pool "p" is halted since 2026-11-25T12:01:00Z, as node a is not ready after it has followed`
	pool := func(value string) *v1.NodePool {
		p := waitingPool("p", all(labelled(value), limited("1", 10*time.Minute)))
		p.Generation = 1
		return p
	}
	for name, c := range map[string]struct {
		found   bool // when it is foretold, or before
		value   string
		resumed bool
		want    []string
		halt    bool
	}{
		"it goes on":         {false, "2", false, []string{"p: 2 nodes, 0 windows", "  [], stay: b c", halted}, true},
		"found now":          {true, "2", false, []string{"p: 2 nodes, 0 windows", "  [], stay: b c", halted}, true},
		"another value":      {false, "3", false, []string{"p: 3 nodes, 0 windows", "  [a] Wed 2026-11-25 12:01 UTC, stay: b c", ` 2 nodes do not follow: 1 of 3 nodes of pool "p" are unavailable, and no more may be`}, false},
		"resumed":            {false, "2", true, []string{"p: 2 nodes, 0 windows", "  [], stay: b c", ` 2 nodes do not follow: 1 of 3 nodes of pool "p" are unavailable, and no more may be`}, false},
		"taken back by then": {false, "1", false, []string{"p: 1 nodes, 0 windows, ends Wed 2026-11-25 12:11 UTC", "  [a] Wed 2026-11-25 12:01 UTC"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := &rolloutWorld{before: []*v1.NodePool{pool("1")}, after: []*v1.NodePool{pool("2")}, unready: map[string]bool{}, now: closedAt}
			for _, name := range []string{"a", "b", "c"} {
				node := followed(t, 365*24*time.Hour, w.before...)
				node.Name = name
				w.nodes = append(w.nodes, node)
			}
			s := newStepper(w)
			s.steps(closedAt, time.Minute)
			w.unready["a"] = true
			now, third := closedAt.Add(time.Minute), pool(c.value)
			if !c.found {
				s.minute(now)
				third.Status.Rollout = &v1.RolloutStatus{Halt: s.halts["p"].Status()}
			}
			if c.resumed {
				third.Annotations = map[string]string{v1.ResumeRolloutAnnotation: s.halts["p"].Resume()}
			}
			cluster := Cluster{Pools: []*v1.NodePool{third}, Unready: w.unready}
			for _, name := range s.names {
				cluster.Nodes = append(cluster.Nodes, s.nodes[name])
			}
			schedules := newSchedules(newForesight(cluster, expand(third), RolloutsOf(cluster.Pools), now)).foretell()
			if diff := cmp.Diff(c.want, reportedSchedules(schedules)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(schedules) != 1 || (schedules[0].Halt != nil) != c.halt || schedules[0].Foretold != c.found {
				t.Errorf("it is halted: %+v", schedules)
			}
		})
	}
}

// happenings counts what has happened in worlds.
type happenings struct {
	writes, later, approvals, stay int
	// halts are rollouts that stay halted, of which foretold were not halted before, and lacking
	// are by a condition; drains are those that have ended, and reverts the writes of nodes while
	// their pool is halted.
	halts, foretold, lacking, drains, reverts int
}

// compare steps through a world, and compares that with what is foretold of it.
func (h *happenings) compare(t *testing.T, seed uint64, w *rolloutWorld) {
	t.Helper()
	stepped := newStepper(w)
	stepped.steps(w.now, w.period)
	cluster := Cluster{Pools: w.after, Nodes: w.nodes, Unready: w.unready}
	f := newForesight(cluster, expand(w.after...), RolloutsOf(w.after), w.now)
	if f.rollouts == nil {
		return
	}
	foretold := map[string][]string{}
	schedules := observe(f, func(node *foreseen, drained []string) {
		if !f.now.Before(w.now.Add(w.period)) {
			return
		}
		foretold[node.state.Name] = append(foretold[node.state.Name], written(f.now, node.state))
		if len(drained) > 0 {
			h.drains++
		}
		if slices.ContainsFunc(node.follower.Pools, func(pool string) bool { return f.halts[pool].Holds() }) {
			h.reverts++
		}
	})
	if diff := cmp.Diff(stepped.writes, foretold); diff != "" {
		t.Fatalf("seed %d: what happens, and what is foretold (-happens +foretold):\n%s", seed, diff)
	}
	h.approvals += stepped.approvals
	for _, of := range foretold {
		for _, write := range of {
			h.writes++
			if !strings.HasPrefix(write, w.now.Format("15:04:05")) {
				h.later++
			}
		}
	}
	for _, schedule := range schedules {
		if schedule.Stays != "" {
			h.stay++
		}
		if schedule.Halt != nil {
			h.halts++
			if schedule.Halt.Lacks != "" {
				h.lacking++
			}
		}
		if schedule.Foretold {
			h.foretold++
		}
	}
}

// drain has pools of the second commit want NoExecute taints, and drain nodes.
func (w *rolloutWorld) drain(r *rand.Rand) {
	for _, pool := range w.after {
		if pool.Spec.Rollout == nil {
			pool.Spec.Rollout = &v1.Rollout{}
		}
		if r.IntN(4) > 0 {
			pool.Spec.Rollout.Windows, pool.Spec.Rollout.Exclusions, pool.Spec.Rollout.Paused = nil, nil, false
			limit, ready := intstr.FromInt(1+r.IntN(2)), metav1.Duration{Duration: time.Duration(r.IntN(15)) * time.Minute}
			pool.Spec.Rollout.MaxUnavailable, pool.Spec.Rollout.MinReady = &limit, &ready
		}
		for i := range pool.Spec.Taints {
			if r.IntN(3) > 0 {
				pool.Spec.Taints[i].Effect = corev1.TaintEffectNoExecute
			}
		}
		if r.IntN(3) > 0 {
			pool.Spec.Rollout.Drain = &v1.Drain{Timeout: &metav1.Duration{Duration: time.Duration(1+r.IntN(90)) * time.Minute}}
			if r.IntN(2) == 0 {
				pool.Spec.Rollout.Drain.OnTimeout = v1.ForceOnTimeout
			}
		}
	}
	for _, node := range w.nodes {
		foreign := corev1.Taint{Key: "example.com/" + pick(r, w.after).Name, Value: "foreign", Effect: corev1.TaintEffectNoSchedule}
		if r.IntN(8) == 0 && !slices.ContainsFunc(node.Taints, func(taint corev1.Taint) bool { return foreign.MatchTaint(&taint) }) {
			node.Taints = append(node.Taints, foreign) // where nodes are drained, pods would come again
		}
	}
}

// goOn carries out the second commit for some time, in which nodes may fail, and makes the
// state of then that before a third one. It reports whether there is one.
func (w *rolloutWorld) goOn(r *rand.Rand) bool {
	s := newStepper(w)
	if s.rollouts == nil {
		return false
	}
	period := time.Duration(r.IntN(40)) * time.Minute
	s.steps(w.now, period)
	w.now = w.now.Add(period)
	for _, name := range s.names {
		began := !LastChangeOf(s.nodes[name]).At.IsZero()
		w.unready[name] = r.IntN(20) == 0 || began && r.IntN(3) == 0
		if node := s.nodes[name]; began && node.Conditions.Known() && r.IntN(2) == 0 {
			s.nodes[name] = node.DeepCopy()
			s.nodes[name].Conditions = ParseConditions(gpuHealthy + "=False")
		}
	}
	if r.IntN(3) > 0 { // or it is found when it is foretold
		s.steps(w.now, time.Minute)
		w.now = w.now.Add(time.Minute)
	}
	reverted := w.before
	w.nodes, w.before, w.after = nil, w.after, nil
	for _, name := range s.names {
		w.nodes = append(w.nodes, s.nodes[name])
	}
	third := r.IntN(4) % 3
	for i, pool := range s.pools {
		pool = pool.DeepCopy()
		switch {
		case third == 0 || !pool.DeletionTimestamp.IsZero(): // it goes on
		case third == 1 && r.IntN(4) > 0: // a revert, of some
			pool.Spec.Labels, pool.Spec.Taints = maps.Clone(reverted[i].Spec.Labels), slices.Clone(reverted[i].Spec.Taints)
			pool.Generation++
		case r.IntN(2) == 0:
			w.want(pool)
			pool.Generation++
		}
		if halt := s.halts[pool.Name]; halt != nil {
			pool.Status.Rollout = &v1.RolloutStatus{Halt: halt.Status()}
			if r.IntN(4) == 0 {
				pool.Annotations = map[string]string{v1.ResumeRolloutAnnotation: halt.Resume()}
			}
		}
		w.after = append(w.after, pool)
	}
	return true
}
