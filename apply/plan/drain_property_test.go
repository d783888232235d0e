package plan

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// drainWorld is one node, and pools that share two keys, at random.
type drainWorld struct {
	r     *rand.Rand
	node  *NodeState
	pools map[string]*v1.NodePool
	now   time.Time
	log   []string

	// repairs are those of the node, and change is the last one that it has followed.
	repairs *Repairs
	change  LastChange
	// older is a state that the node had.
	older *NodeState
}

func (w *drainWorld) pool(name string) *v1.NodePool {
	r := w.r
	return waitingPool(name, func(p *v1.NodePool) {
		p.Spec.Priority = int32(r.IntN(3))
		p.Spec.ConflictPolicy = pick(r, []v1.ConflictPolicy{v1.ReportConflicts, v1.ReportConflicts, v1.TakeOver, v1.Adopt})
		if r.IntN(2) == 0 {
			p.Spec.Labels = map[string]v1.LabelValue{key: v1.LabelValue(pick(r, []string{"1", "2"}))}
		}
		for _, effect := range worldEffects {
			if r.IntN(2) == 0 {
				p.Spec.Taints = append(p.Spec.Taints, v1.Taint{Key: key, Value: pick(r, []string{"v", "w"}), Effect: effect})
			}
		}
		if r.IntN(4) == 0 && name > "a" {
			p.Spec.Parent = "a"
		}
		if r.IntN(6) == 0 {
			p.Spec.NodeNames = []string{"other"}
		}
		if r.IntN(3) > 0 {
			p.Spec.Rollout = &v1.Rollout{}
			if r.IntN(3) > 0 {
				p.Spec.Rollout.Drain = &v1.Drain{}
				if r.IntN(3) == 0 {
					p.Spec.Rollout.Drain.OnTimeout = v1.ForceOnTimeout
				}
			}
			if r.IntN(3) == 0 {
				p.Spec.Rollout.Windows = nightly().Windows
			}
			if r.IntN(3) == 0 {
				p.Spec.Rollout.MaxUnavailable = new(intstr.FromInt32(1))
			}
			p.Spec.Rollout.Paused = r.IntN(8) == 0
		}
		if r.IntN(10) == 0 {
			p.Annotations = map[string]string{v1.ReconcileAnnotation: v1.Disabled}
		}
	})
}

func (w *drainWorld) all() []*v1.NodePool {
	var pools []*v1.NodePool
	for _, name := range slices.Sorted(maps.Keys(w.pools)) {
		pools = append(pools, w.pools[name])
	}
	return pools
}

func (w *drainWorld) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

func (w *drainWorld) describe(p *v1.NodePool) string {
	text := fmt.Sprintf("%s prio %d %s %v taints", p.Name, p.Spec.Priority, p.Spec.ConflictPolicy, p.Spec.Labels)
	for _, taint := range p.Spec.Taints {
		text += " " + taint.Value + ":" + string(taint.Effect)
	}
	if p.Spec.Parent != "" {
		text += " in " + p.Spec.Parent
	}
	if p.Spec.NodeNames[0] != "*" {
		text += " elsewhere"
	}
	if r := p.Spec.Rollout; r != nil {
		text += fmt.Sprintf(" rollout drain %t windows %t paused %t limit %t", r.Drain != nil, r.Windows != nil, r.Paused, r.MaxUnavailable != nil)
		if r.Drain != nil {
			text += " " + string(r.Drain.OnTimeout)
		}
	}
	return text + fmt.Sprint(p.Annotations)
}

func (w *drainWorld) step() {
	switch w.r.IntN(7) {
	case 0, 1:
		name := pick(w.r, []string{"a", "b", "c"})
		if w.r.IntN(5) == 0 {
			delete(w.pools, name)
			w.note("delete %s", name)
		} else {
			w.pools[name] = w.pool(name)
			w.note("pool %s", w.describe(w.pools[name]))
		}
	case 2:
		effect := pick(w.r, worldEffects)
		w.node = w.node.DeepCopy()
		w.node.Taints = slices.DeleteFunc(w.node.Taints, func(t corev1.Taint) bool { return t.Effect == effect })
		if w.r.IntN(2) == 0 {
			w.node.Taints = append(w.node.Taints, corev1.Taint{Key: key, Effect: effect, Value: pick(w.r, []string{"v", "w", "x"})})
		}
		w.note("somebody: taints %v", taintsOf(w.node))
	case 3:
		// Somebody takes the record as well, or puts an older state of the node back.
		before := w.node
		w.node = w.node.DeepCopy()
		if w.r.IntN(2) == 0 && w.older != nil {
			w.node.Taints, w.node.Labels, w.node.Annotations = w.older.Taints, w.older.Labels, w.older.Annotations
			w.note("somebody: an older state, taints %v record %s", taintsOf(w.node), w.node.Annotations[v1.AppliedAnnotation])
		} else {
			w.node.Taints, w.node.Labels, w.node.Annotations = nil, nil, nil
			w.note("somebody: nothing of the node is left")
		}
		w.older = before
	default:
		w.now = w.now.Add(time.Duration(w.r.IntN(180)-20) * time.Minute)
		w.note("at %s", w.now.Format(time.RFC3339))
	}
}

func (w *drainWorld) decide(facts NodeFacts) NodeOutcome {
	pools := w.all()
	facts.Rollouts, facts.Now = RolloutsOf(pools), w.now
	facts.LastChange = w.change
	facts.Backoff, facts.Repairs = DefaultRepairBackoff(), w.repairs
	return NodeOutcomeOf(w.node, expand(pools...), facts)
}

// carry carries out, and checks what must hold of each write.
func (w *drainWorld) carry(o NodeOutcome, facts NodeFacts) (problem string) {
	p, before := o.Admission.Plan, w.node
	if p == nil || p.NoOp() {
		return ""
	}
	after := p.After(before)
	recorded := o.Plan.recorded
	rollouts := RolloutsOf(w.all())
	for _, taint := range after.Taints {
		id := render.TaintID{Key: taint.Key, Effect: taint.Effect}
		if id.Effect != corev1.TaintEffectNoExecute || carriesTaint(before, id, taint.Value) || recorded.hasTaint(id, taint.Value) {
			continue
		}
		// Pools may agree, and the one that drains wait: whose taint comes says who governs it.
		want, by := o.Plan.desired.Taints[id], p.Record.Taints[id].Pool
		if rollouts == nil || want.Value != taint.Value || rollouts.drainedBy(o.Plan, by) == nil {
			continue
		}
		drained, known := recorded.Change.Drains[id]
		forced := facts.Evicted && known && rollouts.drainedBy(o.Plan, by).drain.force && !w.now.Before(drained.Since.Add(time.Hour))
		if !known || drained.Value != taint.Value || !(facts.Drained && carriesTaint(before, twinOf(id), taint.Value) || forced) {
			problem += fmt.Sprintf("early: %s=%s comes, and the node was not drained of it: %+v; ", id, taint.Value, recorded.Change.Drains)
		}
	}
	for _, taint := range before.Taints {
		id := render.TaintID{Key: taint.Key, Effect: taint.Effect}
		entry, ours := recorded.Taints[id]
		want, wanted := o.Plan.desired.Taints[id]
		gone := !slices.ContainsFunc(after.Taints, func(t corev1.Taint) bool { return t.Key == id.Key && t.Effect == id.Effect })
		if gone && wanted && want.Value == taint.Value {
			problem += fmt.Sprintf("wall: %s=%s goes, and pool %s wants it, waits: %v; ", id, taint.Value, want.Pool, o.Wait)
		}
		if gone && wanted && o.Wait.Of(want.Pool) == nil && len(o.Plan.Conflicts) == 0 {
			problem += fmt.Sprintf("wall: %s=%s goes, and pool %s wants %s, and waits for nothing; ", id, taint.Value, want.Pool, want.Value)
		}
		if !ours && !carriesTaint(after, id, taint.Value) && (!wanted || want.Policy == v1.ReportConflicts) {
			problem += fmt.Sprintf("foreign %s=%s goes: %+v; ", id, taint.Value, entry)
		}
	}
	w.node = after
	if _, err := readRecord(after); err != nil {
		problem += err.Error()
	}
	return problem
}

// obstructed says of which taints the node is drained, at rest, though that would never end, and
// which turn it asks for and does not take.
func (w *drainWorld) obstructed(t *testing.T) (problem string) {
	if mustNot(w.node) {
		return ""
	}
	o := w.decide(NodeFacts{})
	rollouts := RolloutsOf(w.all())
	// What keeps pods off stays while whoever wants something else there waits.
	p := o.Plan
	if rollouts != nil {
		p = rollouts.Allow(w.node, p, w.now, nil, nil).Plan
	}
	for id, drained := range mustRecord(t, w.node).Change.Drains {
		want, wanted := p.desired.Taints[id]
		if !wanted || want.Value != drained.Value || rollouts == nil || p.pools.Holds(want.Pool) {
			continue
		}
		entry, ours := p.recorded.Taints[twinOf(id)]
		text := rollouts.obstacle(twinState{w.node, p, p.desired, entry, ours}, id, want)
		if by := rollouts.drainedBy(p, want.Pool); text != "" && by != nil && !by.drain.force {
			problem += "drained of " + id.String() + ", and " + text + "; "
		}
	}
	// One that is drained has its place already, and may ask for another change of that key.
	if len(o.Asks) > 0 && o.Admission.Plan.NoOp() && len(LastChangeOf(w.node).Drains) == 0 {
		if taken := w.decide(NodeFacts{Turn: o.Asks}); taken.Admission.Plan.NoOp() && taken.Admission.Held == nil {
			problem += fmt.Sprintf("asks %v for a turn, which it does not take: %v", o.Asks, taken.Wait)
		}
	}
	return problem
}

// In random worlds of one node and pools that share a key, no NoExecute taint comes before the
// node is drained, no foreign taint is lost, no wanted wall falls, the record stays readable,
// and deciding comes to rest; then the node is drained of nothing that cannot end, and, where
// it is not drained, asks for no turn that it would not take.
func TestRandomDrainProperties(t *testing.T) {
	found := map[string]int{}
	for seed := range uint64(4 * worlds) {
		w := &drainWorld{r: rand.New(rand.NewPCG(seed, 7)), node: newNode("n"), pools: map[string]*v1.NodePool{}, now: closedAt}
		w.node.Created = metav1.NewTime(closedAt.Add(-longAgo))
		fail := func(kind, format string, args ...any) {
			found[kind]++
			if found[kind] <= 2 {
				t.Errorf("seed %d: %s: %s", seed, kind, fmt.Sprintf(format, args...))
				for _, line := range w.log {
					t.Log("   ", line)
				}
			}
		}
	steps:
		for range 14 {
			w.step()
			var turn []string
			if w.r.IntN(2) == 0 {
				turn = []string{"a", "b", "c"}
			}
			facts := NodeFacts{Turn: turnFor(turn...), Drained: w.r.IntN(3) == 0}
			facts.Evicted = facts.Drained
			for pass := range 5 {
				o := w.decide(facts)
				again := w.decide(facts)
				if a, b := o.Admission.Plan, again.Admission.Plan; a != nil && (a.Record.String() != b.Record.String() || a.NoOp() != b.NoOp()) {
					fail("not the same twice", "%s and %s", a.Record, b.Record)
				}
				w.repairs = o.Admission.Written(w.now)
				noop := o.Admission.Plan == nil || o.Admission.Plan.NoOp()
				problem := w.carry(o, facts)
				w.note("  pass %d turn %v drained %t: %s taints %v drains %+v waits %d begins %v record %s", pass, turn, facts.Drained, o.State, taintsOf(w.node), LastChangeOf(w.node).Drained(), len(o.Wait), o.Begins, w.node.Annotations[v1.AppliedAnnotation])
				if problem != "" {
					fail(problem[:4], "%s", problem)
					break steps
				}
				if noop && o.Begins {
					fail("begins", "without a write")
				}
				if state := FollowerStateOf(w.node, o, true); w.change.Behind(state.Change) {
					w.change = state.Change
				}
				if noop {
					if problem := w.obstructed(t); problem != "" {
						fail("obstructed", "%s", problem)
						break steps
					}
					break
				}
				if len(w.node.Annotations[v1.AppliedAnnotation]) > 0 && mustRecord(t, w.node).Pools()[""] {
					fail("empty", "a pool without a name")
					break steps
				}
				if pass == 4 || pass >= 1 && !facts.Drained && pass > 1 {
					fail("loop", "pass %d still writes: %v", pass, o.Admission.Plan.Changes)
					break steps
				}
			}
		}
		if len(w.log) > 0 && mustNot(w.node) {
			continue
		}
		w.pools = map[string]*v1.NodePool{}
		w.now = w.now.Add(time.Hour) // what somebody undoes again and again is put right later
		for range 3 {
			w.carry(w.decide(NodeFacts{}), NodeFacts{})
		}
		if text := w.node.Annotations[v1.AppliedAnnotation]; text != "" {
			fail("left", "no pool is left, and the record is %s", text)
		}
	}
	t.Log(found)
}

func mustNot(node *NodeState) bool {
	_, err := readRecord(node)
	return err != nil
}
