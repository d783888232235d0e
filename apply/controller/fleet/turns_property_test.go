package fleet

import (
	"context"
	"flag"
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
	"github.com/nodepools/nodepools/apply/plan"
)

// A world goes on in one goroutine.
var worlds = flag.Int("worlds", 100, "try so many worlds in which nodes take turns")

// fleetWorld is a cluster with pools that overlap, a cache that is behind, and a leader
// that may be killed at any moment. The leader is the code of this package, and the plan.
type fleetWorld struct {
	t   *testing.T
	r   *rand.Rand
	now time.Time

	pools []*v1.NodePool
	// truth is what the API server has, cache what the leader sees of it, ready a condition.
	truth, cache map[string]*plan.NodeState
	ready        map[string]bool
	names        []string

	snapshot *Snapshot
	epoch    uint64
	counts   *counts
	turns    *turns

	// halts are those that the statuses of pools have.
	halts map[string]*plan.Halt

	// governed are, by node, the pools that the change waited for which it last began.
	governed map[string]map[string]bool

	begun, killed, waited, halted, resumed, reverted, drained int
}

func newFleetWorld(t *testing.T, seed uint64) *fleetWorld {
	w := &fleetWorld{
		t: t, r: rand.New(rand.NewPCG(seed, 18)), now: time.Date(2026, time.November, 25, 12, 0, 0, 0, time.UTC),
		truth: map[string]*plan.NodeState{}, cache: map[string]*plan.NodeState{}, ready: map[string]bool{},
		governed: map[string]map[string]bool{}, halts: map[string]*plan.Halt{},
	}
	for i := range 4 + w.r.IntN(8) {
		name := fmt.Sprintf("n%02d", i)
		w.names = append(w.names, name)
		w.truth[name] = &plan.NodeState{Name: name, UID: "uid", ResourceVersion: "1", Created: metav1.NewTime(w.now.AddDate(-1, 0, 0))}
		w.ready[name] = true
	}
	for i := range 1 + w.r.IntN(4) {
		w.pools = append(w.pools, w.pool(fmt.Sprintf("p%d", i)))
	}
	w.start()
	return w
}

// pool chooses some of the nodes, and most have a budget.
func (w *fleetWorld) pool(name string) *v1.NodePool {
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid", Generation: 1, CreationTimestamp: metav1.NewTime(w.now.AddDate(0, -1, 0))}}
	pool.Spec.Priority = int32(w.r.IntN(3))
	for _, node := range w.names {
		if w.r.IntN(3) > 0 {
			pool.Spec.NodeNames = append(pool.Spec.NodeNames, node)
		}
	}
	if pool.Spec.NodeNames == nil {
		pool.Spec.NodeNames = []string{"*"}
	}
	if w.r.IntN(4) > 0 {
		pool.Spec.Rollout = &v1.Rollout{MaxUnavailable: w.limit(), MinReady: &metav1.Duration{Duration: time.Duration(w.r.IntN(40)) * time.Second}}
	}
	if pool.Spec.Rollout != nil && w.r.IntN(2) == 0 {
		one, half := intstr.FromInt32(1), intstr.FromString("50%")
		pool.Spec.Rollout.Waves = []v1.Wave{{Name: "one", Nodes: &one}, {Name: "half", Nodes: &half}}
		if w.r.IntN(2) == 0 {
			pool.Spec.Rollout.MaxUnavailable = nil
		}
	}
	if pool.Spec.Rollout != nil && w.r.IntN(2) == 0 { // or else one failure is the end
		all := intstr.FromString("100%")
		pool.Spec.Rollout.MaxFailures = &all
	}
	if pool.Spec.Rollout != nil && w.r.IntN(3) == 0 {
		pool.Spec.Rollout.Drain = &v1.Drain{}
	}
	if pool.Spec.Rollout != nil && w.r.IntN(3) == 0 {
		pool.Spec.Rollout.NodeConditions = []v1.NodeCondition{{Type: "GPUHealthy"}}
	}
	w.change(pool)
	return pool
}

// wave is that of a node of a pool: the first by name is the first, half of them the
// second.
func (w *fleetWorld) wave(pool *v1.NodePool, node string) int {
	members := w.members(pool)
	switch at := slices.Index(members, node); {
	case at == 0:
		return 0
	case at < 1+max(1, len(members)/2):
		return 1
	}
	return 2
}

// members are the nodes of a pool, sorted.
func (w *fleetWorld) members(pool *v1.NodePool) (members []string) {
	for _, name := range w.names {
		if in, err := plan.Members(w.truth[name], w.snapshot.Expansion); err == nil && slices.Contains(in, pool.Name) {
			members = append(members, name)
		}
	}
	return members
}

// behind reports whether a node has not followed what waits for a pool, of pools up to the
// weakest one.
func (w *fleetWorld) behind(pool *v1.NodePool, node string, weakest *v1.NodePool) bool {
	outcome := plan.NodeOutcomeOf(w.truth[node], w.snapshot.Expansion, plan.NodeFacts{Rollouts: w.snapshot.Rollouts, Now: w.now})
	return slices.ContainsFunc(outcome.Asks, func(ask plan.Ask) bool {
		waits := w.named(ask.Pool)
		return waits == nil || !stronger(waits, pool) && !stronger(weakest, waits)
	})
}

func (w *fleetWorld) limit() *intstr.IntOrString {
	limit := intstr.FromInt32(int32(w.r.IntN(4)))
	if w.r.IntN(2) == 0 {
		limit = intstr.FromString(fmt.Sprintf("%d%%", 10*w.r.IntN(11)))
	}
	return &limit
}

// change makes a pool want something else.
func (w *fleetWorld) change(pool *v1.NodePool) {
	value := fmt.Sprint(w.r.IntN(3))
	key := v1.Domain + ".example.com/" + pool.Name
	if w.r.IntN(3) == 0 {
		key = "example.com/shared"
	}
	pool.Spec.Labels = map[string]v1.LabelValue{key: v1.LabelValue(value)}
	pool.Spec.Taints = []v1.Taint{{Key: key, Value: value, Effect: corev1.TaintEffectNoSchedule}}
	if w.r.IntN(2) == 0 {
		pool.Spec.Taints[0].Effect = corev1.TaintEffectNoExecute
	}
	pool.Generation++
}

// changePools is a commit.
func (w *fleetWorld) changePools() {
	for i := range w.pools {
		if w.r.IntN(2) == 0 {
			w.pools[i] = w.pools[i].DeepCopy()
			w.change(w.pools[i])
			if rollout := w.pools[i].Spec.Rollout; rollout != nil && rollout.MaxUnavailable != nil && w.r.IntN(3) == 0 {
				rollout.MaxUnavailable = w.limit()
			}
		}
	}
	w.follow()
}

func (w *fleetWorld) follow() {
	w.epoch++
	for i, pool := range w.pools {
		w.pools[i] = pool.DeepCopy()
		w.pools[i].Status.Accepted = plan.AcceptedSpecOf(pool)
	}
	w.snapshot = newSnapshot(w.pools, nil, plan.Accept(w.pools, nil, nil, plan.AcceptFacts{}), time.Time{}, w.epoch, w.snapshot)
}

// start is a new leader: its cache may be behind from the beginning.
func (w *fleetWorld) start() {
	for _, name := range w.names {
		if w.cache[name] == nil || w.r.IntN(2) == 0 {
			w.cache[name] = w.truth[name]
		}
	}
	w.snapshot = nil
	w.follow()
	w.counts, w.turns = newCounts(&publisher{}), newTurns()
	for _, name := range w.names {
		w.pass(name, false)
	}
	if err := w.turns.sync(w.t.Context(), func(context.Context) (Earlier, error) {
		earlier := Earlier{Changes: map[string]plan.LastChange{}, Halts: maps.Clone(w.halts)}
		for name, node := range w.truth {
			earlier.Changes[name] = plan.LastChangeOf(node)
		}
		return earlier, nil
	}); err != nil {
		w.t.Fatal(err)
	}
}

// pass is one of the node reconciler. Where it may die, the leader may be killed before
// or after its write.
func (w *fleetWorld) pass(name string, mayDie bool) {
	seen := w.cache[name]
	if w.turns.outdated(name, plan.LastChangeOf(seen)) {
		seen = w.truth[name]
	}
	for range 2 {
		facts := plan.NodeFacts{Rollouts: w.snapshot.Rollouts, Turn: w.turns.of(name).by(w.snapshot), Unready: !w.ready[name], Now: w.now}
		outcome := plan.NodeOutcomeOf(seen, w.snapshot.Expansion, facts)
		drain := outcome.Drain
		if drain != nil && drain.Began && w.r.IntN(3) == 0 { // no pod is left
			facts.Drained, facts.Evicted = true, true
			outcome = plan.NodeOutcomeOf(seen, w.snapshot.Expansion, facts)
		}
		found := Observation{Epoch: w.epoch, UID: "uid", FollowerState: plan.FollowerStateOf(seen, outcome, w.ready[name])}
		found.Change = outcome.Plan.Recorded().Change
		if last := w.counts.Last(name); last != nil && found.Change.Behind(last.Change) {
			found.Change = last.Change
		}
		p := outcome.Admission.Plan
		if p.NoOp() {
			w.report(name, found)
			return
		}
		fate := w.r.IntN(12)
		if mayDie && fate == 0 {
			w.killed++
			w.start()
			return
		}
		if seen.ResourceVersion != w.truth[name].ResourceVersion {
			seen = w.truth[name]
			continue
		}
		if fate != 1 { // or else the request is lost
			w.write(name, outcome)
		}
		switch {
		case fate <= 2: // the answer is
			found.Failed, found.Problem = true, "no answer"
		case mayDie && fate == 3:
			w.killed++
			w.start()
			return
		case outcome.Begins:
			found.Change = p.Record.Change
		}
		w.report(name, found)
		return
	}
}

func (w *fleetWorld) report(name string, found Observation) {
	w.turns.ended(name, &found)
	w.counts.Report(name, found, nil)
}

// write is the API server. It holds every write to the budgets that it had to wait for. What
// a stronger pool changes counts in the budget of a weaker one, and does not wait for it.
func (w *fleetWorld) write(name string, outcome plan.NodeOutcome) {
	before, already := plan.LastChangeOf(w.truth[name]), w.drains(name)
	after := outcome.Admission.Plan.After(w.truth[name])
	after.ResourceVersion = w.truth[name].ResourceVersion + "1"
	w.truth[name] = after
	if !outcome.Begins {
		return
	}
	if completes(before, plan.LastChangeOf(after)) {
		w.drained++
		return
	}
	w.begun++
	reverts := slices.ContainsFunc(w.turns.of(name).Turn, func(ask plan.Ask) bool { return ask.Reverts })
	if reverts {
		w.reverted++
	}
	w.governed[name] = map[string]bool{}
	ordering := w.ordering(outcome)
	weakest := w.weakestCause(outcome)
	for _, pool := range w.pools {
		rollout := pool.Spec.Rollout
		if rollout == nil || !slices.Contains(outcome.Members, pool.Name) || !w.governs(pool, outcome) {
			continue
		}
		w.governed[name][pool.Name] = true
		if w.turns.halts[pool.Name].Holds() && !reverts {
			w.t.Errorf("%s begins, and the rollout of %s is halted", name, pool.Name)
		}
		unavailable, members := 0, w.members(pool)
		for _, other := range members {
			change := plan.LastChangeOf(w.truth[other])
			if other == name || w.governed[other][pool.Name] && (w.now.Before(change.At.Add(rollout.MinReady.Duration)) || w.drains(other)) {
				unavailable++
			}
			if ordering == pool && !reverts && w.wave(pool, other) < w.wave(pool, name) && w.behind(pool, other, weakest) {
				w.t.Errorf("%s begins in wave %d of %s, and %s of an earlier wave has not followed", name, w.wave(pool, name), pool.Name, other)
			}
		}
		if reverts && !w.available(pool, name) {
			delete(w.governed[name], pool.Name) // others that go back as well are not counted against
		}
		if rollout.MaxUnavailable == nil {
			continue
		}
		if most := mostOf(*rollout.MaxUnavailable, len(members)); unavailable > most && (!reverts || w.available(pool, name)) && !already {
			w.t.Errorf("%s begins, and %d of %d nodes of %s are unavailable for it, want %d at the most", name, unavailable, len(members), pool.Name, most)
		}
	}
}

// giveTurns is one decision of the leader.
func (w *fleetWorld) giveTurns() {
	if !w.snapshot.Rollouts.Limited() {
		return
	}
	turns := w.snapshot.Rollouts.Turns(w.turns.known(w.counts.followers(), w.snapshot, w.now), w.turns.halts, w.now, w.counts.isSettled(w.snapshot.Epoch))
	w.turns.give(turns, w.snapshot.Epoch)
	before := w.turns.halts
	w.turns.setHalts(turns.Halts)
	for pool, halt := range turns.Halts {
		if halt.Holds() && !before[pool].Holds() {
			w.halted++
		}
	}
	if w.r.IntN(2) == 0 { // the statuses of the pools are written
		w.halts = maps.Clone(turns.Halts)
	}
}

// No budget is exceeded by what nodes begin: with pools that overlap, a cache that is
// behind, nodes that fail by themselves, requests of which the answer is lost, and a leader
// that is killed between any two writes.
func TestTurnsKeepEveryBudget(t *testing.T) {
	begun, killed, waited, halted, resumed, reverted, drained := 0, 0, 0, 0, 0, 0, 0
	for seed := range uint64(*worlds) {
		w := newFleetWorld(t, seed)
		for range 250 {
			name := w.names[w.r.IntN(len(w.names))]
			switch w.r.IntN(10) {
			case 0:
				switch w.r.IntN(8) {
				case 0, 1:
					w.changePools()
				case 2:
					w.resume()
				}
			case 1:
				if w.ready[name] = w.r.IntN(4) > 0; w.r.IntN(3) == 0 {
					w.monitor(name)
				}
			case 2:
				w.now = w.now.Add(time.Duration(w.r.IntN(15_000)) * time.Millisecond)
			case 3, 4:
				w.cache[name] = w.truth[name]
			case 5:
				w.giveTurns()
			default:
				w.pass(name, true)
			}
			if last := w.counts.Last(name); last != nil && last.Asks() {
				w.waited++
			}
		}
		begun, killed, waited = begun+w.begun, killed+w.killed, waited+w.waited
		halted, resumed, reverted, drained = halted+w.halted, resumed+w.resumed, reverted+w.reverted, drained+w.drained
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d worlds: nodes began %d times, %d of them to go back, were drained %d times, waited %d times, rollouts were halted %d times and resumed %d times, and the leader was killed %d times",
		*worlds, begun, reverted, drained, waited, halted, resumed, killed)
	least := *worlds / 50
	if begun < *worlds || waited < *worlds || killed < *worlds || reverted < least/4 || drained < least || halted < least || resumed < least {
		t.Error("the worlds have too little of what the property is about")
	}
}

// resume is somebody who resumes a rollout that is halted, as far as the status has it.
func (w *fleetWorld) resume() {
	for i, pool := range w.pools {
		if halt := w.halts[pool.Name]; halt.Holds() {
			w.pools[i] = pool.DeepCopy()
			w.pools[i].Annotations = map[string]string{v1.ResumeRolloutAnnotation: halt.Resume()}
			w.resumed++
		}
	}
	w.follow()
	for _, name := range w.names {
		w.pass(name, false)
	}
}
