package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// rolloutWorld is a cluster with pools that overlap, before and after a commit.
type rolloutWorld struct {
	r             *rand.Rand
	before, after []*v1.NodePool
	nodes         []*NodeState
	unready       map[string]bool
	// now is when what happens and what is foretold begin, and period for how long they are
	// compared.
	now    time.Time
	period time.Duration
}

func newRolloutWorld(t *testing.T, seed uint64) *rolloutWorld {
	w := &rolloutWorld{r: rand.New(rand.NewPCG(seed, 18)), unready: map[string]bool{}, now: closedAt, period: 8 * time.Hour}
	names := make([]string, 2+w.r.IntN(6))
	for i := range names {
		names[i] = fmt.Sprintf("n%d", i)
	}
	for i := range 1 + w.r.IntN(3) {
		pool := waitingPool(fmt.Sprintf("p%d", i), nil)
		pool.Spec.Priority, pool.UID, pool.Generation = int32(w.r.IntN(2)), "uid", 1
		if w.oneIn(3) {
			pool.Spec.NodeNames = nil
			for _, name := range names {
				if !w.oneIn(3) {
					pool.Spec.NodeNames = append(pool.Spec.NodeNames, name)
				}
			}
			pool.Spec.NodeNames = append(pool.Spec.NodeNames, "nobody")
		}
		if i > 0 && w.oneIn(4) {
			pool.Spec.Parent = "p0"
		}
		w.want(pool)
		w.before = append(w.before, pool)
	}
	for _, pool := range w.before {
		after := pool.DeepCopy()
		if !w.oneIn(4) {
			w.want(after)
			after.Generation++
		}
		if w.oneIn(6) {
			after.Spec.NodeNames = []string{pick(w.r, names)}
		}
		if !w.oneIn(4) {
			after.Spec.Rollout = w.rollout()
		}
		if w.oneIn(8) {
			at := metav1.NewTime(closedAt)
			after.DeletionTimestamp, after.Finalizers = &at, []string{v1.ReleaseFinalizer}
		}
		w.after = append(w.after, after)
	}
	if rollouts := RolloutsOf(w.after); seed%4 > 0 {
		for i, pool := range w.before {
			rollouts.Settle(&w.after[i].Status, pool, Around(pool, byName(w.before).get))
		}
	}
	for _, name := range names {
		node := newNode(name)
		node.Created = metav1.NewTime(closedAt.AddDate(-1, 0, 0))
		node.Labels = map[string]string{"zone": pick(w.r, []string{"a", "b"})}
		p, err := Node(node, expand(w.before...))
		if err != nil {
			t.Fatal(err)
		}
		node = p.After(node)
		switch w.r.IntN(30) {
		case 0:
			node.Unschedulable = true
		case 1:
			node.Annotations[v1.ReconcileAnnotation] = v1.Disabled
		case 2:
			node.Created = metav1.NewTime(closedAt.Add(-time.Duration(w.r.IntN(60)) * time.Minute))
		}
		w.nodes = append(w.nodes, node)
	}
	w.nameConditions(rand.New(rand.NewPCG(seed, 19)))
	return w
}

// nameConditions has some of the pools name a condition that some of the nodes do not meet,
// in some of the worlds.
func (w *rolloutWorld) nameConditions(r *rand.Rand) {
	if r.IntN(4) > 0 {
		return
	}
	for _, pool := range w.after {
		if pool.Spec.Rollout != nil && r.IntN(3) > 0 {
			pool.Spec.Rollout.NodeConditions = []v1.NodeCondition{{Type: gpuHealthy}}
		}
	}
	for _, node := range w.nodes {
		node.Conditions = ParseConditions(pick(r, []string{"", "GPUHealthy=False", "GPUHealthy=True", "GPUHealthy=True", "GPUHealthy=True", "GPUHealthy=True"}))
	}
}

func (w *rolloutWorld) oneIn(n int) bool { return w.r.IntN(n) == 0 }

func (w *rolloutWorld) minutes(most int) metav1.Duration {
	return metav1.Duration{Duration: time.Duration(w.r.IntN(most+1)) * time.Minute}
}

// want makes a pool want something, some of it what others want, too.
func (w *rolloutWorld) want(pool *v1.NodePool) {
	value, key := fmt.Sprint(w.r.IntN(4)), "example.com/"+pool.Name
	if w.oneIn(4) {
		key = "example.com/shared"
	}
	pool.Spec.Labels = map[string]v1.LabelValue{key: v1.LabelValue(value)}
	pool.Spec.Taints = nil
	if !w.oneIn(3) {
		pool.Spec.Taints = []v1.Taint{{Key: key, Value: value, Effect: corev1.TaintEffectNoSchedule}}
	}
}

func (w *rolloutWorld) rollout() *v1.Rollout {
	r := &v1.Rollout{}
	for range w.r.IntN(3) {
		window := v1.Window{
			Schedule: pick(w.r, []v1.Schedule{"0 13 * * *", "*/40 * * * *", "30 */2 * * *", "15 14-18 * * *"}),
			TimeZone: pick(w.r, []v1.TimeZone{"", "Europe/Berlin", "America/St_Johns"}),
		}
		window.Duration = metav1.Duration{Duration: time.Duration(1+w.r.IntN(50)) * time.Minute}
		r.Windows = append(r.Windows, window)
	}
	if w.oneIn(5) {
		start := metav1.NewTime(closedAt.Add(time.Duration(w.r.IntN(90)) * time.Minute))
		end := metav1.NewTime(start.Add(time.Duration(1+w.r.IntN(90)) * time.Minute))
		r.Exclusions = []v1.Exclusion{{Start: &start, End: &end}}
	}
	if !w.oneIn(3) {
		limit := intstr.Parse(pick(w.r, []string{"0", "1", "1", "2", "50%"}))
		ready := w.minutes(20)
		r.MaxUnavailable, r.MinReady = &limit, &ready
	}
	if w.oneIn(2) {
		for _, name := range []string{"canary", "second"}[:1+w.r.IntN(2)] {
			r.Waves = append(r.Waves, w.wave(name))
		}
	}
	r.Paused = w.oneIn(20)
	return r
}

func (w *rolloutWorld) wave(name string) v1.Wave {
	return waveOf(name, pick(w.r, []string{"1", "2", "50%"}), func(wave *v1.Wave) {
		if w.oneIn(2) {
			wave.Selector = &v1.WaveSelector{MatchLabels: map[string]v1.LabelValue{"zone": "b"}}
		}
		if soak := w.minutes(30); !w.oneIn(3) {
			wave.Soak = &soak
		}
		if w.oneIn(3) {
			wave.Approval = v1.ApprovalRequired
		}
	})
}

// written is what stands on a node when it is written at a time.
func written(at time.Time, node *NodeState) string {
	values := []string{}
	for field, keys := range standing(node) {
		for key, value := range keys {
			if strings.HasPrefix(key, "example.com/") {
				values = append(values, fmt.Sprintf("%s %s=%s", field, key, value))
			}
		}
	}
	slices.Sort(values)
	return at.Format("15:04:05 ") + strings.Join(values, " ")
}

// stepper is a controller with a clock that somebody moves from minute to minute. It goes
// by what a controller remembers, and has nothing of what foretells.
type stepper struct {
	pools     []*v1.NodePool
	expansion *render.Expansion
	rollouts  *Rollouts
	nodes     map[string]*NodeState
	unready   map[string]bool
	names     []string
	observed  map[string]Follower
	changed   map[string]LastChange
	settles   map[string]time.Time
	halts     map[string]*Halt
	latches   Latches
	approvals int
	// approves reports whether somebody approves waves of a pool; nil for all.
	approves func(pool string) bool
	// onWrite sees what is decided before it is written; nil for nobody.
	onWrite func(node *NodeState, o NodeOutcome, facts NodeFacts)

	writes map[string][]string
}

func newStepper(w *rolloutWorld) *stepper {
	s := &stepper{
		expansion: expand(w.after...), rollouts: RolloutsOf(w.after), nodes: map[string]*NodeState{}, observed: map[string]Follower{},
		changed: map[string]LastChange{}, writes: map[string][]string{},
		unready: w.unready, settles: map[string]time.Time{}, halts: HaltsOf(w.after),
	}
	for _, pool := range w.after {
		s.pools = append(s.pools, pool.DeepCopy())
	}
	for _, node := range w.nodes {
		s.nodes[node.Name] = node
		s.names = append(s.names, node.Name)
	}
	slices.Sort(s.names)
	return s
}

// pass is one of the node reconciler. It reports whether it has written.
func (s *stepper) pass(name string, turn Turn, now time.Time) bool {
	node := s.nodes[name]
	facts := NodeFacts{Rollouts: s.rollouts, Turn: turn, Unready: s.unready[name], Now: now}
	o := NodeOutcomeOf(node, s.expansion, facts)
	delete(s.settles, name)
	if o.Drain != nil && o.Drain.Began { // all pods are gone as soon as that is believed
		s.settles[name] = o.Drain.Settles(time.Time{})
		facts.Drained, facts.Evicted = len(o.Drain.Taints) > 0 && !now.Before(o.Drain.Settles(time.Time{})), true
		o = NodeOutcomeOf(node, s.expansion, facts)
	}
	f := Follower{Name: name, Asks: o.Asks, Selected: o.Selected, Unmet: o.Unmet, Stuck: o.State == NodeStatePaused}
	f.Unready, f.Unavailable = s.unready[name], s.unready[name] || node.Unschedulable
	f.Pools = slices.Sorted(slices.Values(slices.Concat(o.Members, o.CarriedAfter())))
	f.Pools = slices.Compact(f.Pools)
	for _, wait := range o.Wait {
		f.Waits = append(f.Waits, wait.Pool)
	}
	p := o.Admission.Plan
	wrote := p != nil && !p.NoOp()
	if wrote {
		if s.onWrite != nil {
			s.onWrite(node, o, facts)
		}
		if o.Begins {
			s.changed[name] = p.Record.Change
		}
		s.nodes[name] = p.After(node)
		s.writes[name] = append(s.writes[name], written(now, s.nodes[name]))
	}
	if f.Change = s.changed[name]; o.Plan != nil && !f.Change.At.After(o.Plan.recorded.Change.At) {
		f.Change = o.Plan.recorded.Change
	}
	f.Created = node.Created.Time
	f.Left = slices.DeleteFunc(slices.Clone(o.Settled), func(pool string) bool { return slices.Contains(f.Pools, pool) })
	s.observed[name] = f
	return wrote
}

// minute is all that a controller does at one time: a pass over each node, and then over
// those that it has written, and those whose turn it is. What such a pass has found is
// known until the next one.
func (s *stepper) minute(now time.Time) {
	due := slices.Clone(s.names)
	for range 1000 {
		again := false
		for len(due) > 0 {
			due = slices.DeleteFunc(due, func(name string) bool { return !s.pass(name, nil, now) })
		}
		var followers []Follower
		for _, name := range s.names {
			followers = append(followers, s.observed[name])
		}
		turns := s.rollouts.Turns(followers, s.halts, now, true)
		s.halts, s.latches = turns.Halts, turns.Latches
		s.rollouts.Keep(s.latches)
		for _, name := range s.names {
			if turn := turns.Nodes[name]; len(turn) > 0 {
				asked := s.observed[name].Asks
				if s.pass(name, turn, now) {
					due = append(due, name)
				}
				again = again || len(due) > 0 || !slices.EqualFunc(asked, s.observed[name].Asks, Ask.equal)
			}
		}
		if !again && !s.approve(turns.Waves) {
			return
		}
	}
	panic("it never comes to rest")
}

// waits reports whether something may happen at a time within a minute, or later in it: a node
// that begins twice at the same time has begun a second later, and drains take some seconds.
func (s *stepper) waits(at time.Time) bool {
	if at.Second() == 0 {
		return false
	}
	for name, f := range s.observed {
		if f.Change.At.Second() >= at.Second() || !s.settles[name].Before(at) {
			return true
		}
	}
	return false
}

// steps goes through a time.
func (s *stepper) steps(from time.Time, period time.Duration) {
	for now := from; now.Before(from.Add(period)); now = now.Add(time.Minute) {
		s.minute(now)
		for at := now.Add(time.Second); s.waits(at); at = at.Add(time.Second) {
			s.minute(at)
		}
	}
}

// approve is somebody who approves what waits for nothing else.
func (s *stepper) approve(waves map[string]*WaveState) (approved bool) {
	for _, pool := range s.pools {
		state := waves[pool.Name]
		if s.approves != nil && !s.approves(pool.Name) {
			continue
		}
		if state == nil || state.Approval == "" || !state.Unavailable.None() || !state.Soaks.IsZero() || pool.Annotations[v1.ApproveRolloutAnnotation] == state.Approval {
			continue
		}
		if pool.Annotations == nil {
			pool.Annotations = map[string]string{}
		}
		pool.Annotations[v1.ApproveRolloutAnnotation] = state.Approval
		approved = true
		s.approvals++
	}
	if approved {
		s.rollouts = RolloutsOf(s.pools)
		s.rollouts.Keep(s.latches)
	}
	return approved
}

// observe foretells, and calls a function with each node that is written.
func observe(f *foresight, write func(node *foreseen, drained []string)) []PoolSchedule {
	s := newSchedules(f)
	f.onWrite = func(node *foreseen, pools, drained []string) {
		s.note(node, pools, drained)
		write(node, drained)
	}
	schedules := s.foretell()
	if schedules == nil { // nobody waits for anything, and what is written is compared all the same
		f.run()
	}
	return schedules
}
