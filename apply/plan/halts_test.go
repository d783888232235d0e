package plan

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// halting is a pool with a canary that soaks, of 3 nodes: a has followed, b and c wait.
func halting(change func(*v1.NodePool)) (*v1.NodePool, func(ago time.Duration, ready bool) []Follower) {
	pool := waitingPool("p", inWaves(waveOf("canary", "1", func(w *v1.Wave) { w.Soak = &metav1.Duration{Duration: time.Hour} })))
	if change != nil {
		change(pool)
	}
	return pool, func(ago time.Duration, ready bool) []Follower {
		rollouts := RolloutsOf([]*v1.NodePool{pool})
		a, b, c := follower(rollouts, "a", "", "p"), follower(rollouts, "b", "", "p"), follower(rollouts, "c", "", "p")
		a.Change = LastChange{At: closedAt.Add(-ago), Pools: map[string]FollowedPool{"p": {At: closedAt.Add(-ago), Spec: specHash(pool)}}}
		a.Unready, a.Unavailable = !ready, !ready
		for _, f := range []*Follower{&b, &c} {
			f.Asks, f.Waits = asksFor("p"), []string{"p"}
		}
		return []Follower{a, b, c}
	}
}

// A node fails by what it has followed, soon after, and not by anything else.
func TestWhatHaltsARollout(t *testing.T) {
	failures := func(limit string) func(*v1.NodePool) {
		return func(p *v1.NodePool) { p.Spec.Rollout.MaxFailures = new(intstr.Parse(limit)) }
	}
	budget := func(p *v1.NodePool) { limited("2", time.Minute)(p) }
	for name, c := range map[string]struct {
		pool   func(*v1.NodePool)
		ago    time.Duration
		ready  bool
		change func(nodes []Follower)
		halts  bool
		turns  int
	}{
		"ready, and soaks":           {nil, time.Minute, true, nil, false, 0},
		"ready, and has soaked":      {nil, 2 * time.Hour, true, nil, false, 2},
		"not ready while it soaks":   {nil, time.Minute, false, nil, true, 0},
		"not ready in the last wave": {nil, 2 * time.Hour, false, nil, true, 0},
		"was not ready when it began": {nil, time.Minute, false, func(n []Follower) {
			n[0].Change.Pools["p"] = FollowedPool{At: n[0].Change.At, Unready: true, Spec: n[0].Change.Pools["p"].Spec}
		}, false, 0},
		"has followed something else": {nil, time.Minute, false, func(n []Follower) {
			n[0].Change.Pools = map[string]FollowedPool{"p": {At: n[0].Change.At, Spec: "other"}}
		}, false, 0},
		"is cordoned":                            {nil, time.Minute, true, func(n []Follower) { n[0].Unavailable = true }, false, 0},
		"one that has not followed":              {nil, time.Minute, true, func(n []Follower) { n[1].Unready, n[1].Unavailable = true, true }, false, 0},
		"nothing waits any more":                 {nil, time.Minute, false, func(n []Follower) { n[1].Waits, n[2].Waits, n[1].Asks, n[2].Asks = nil, nil, nil, nil }, false, 0},
		"one failure is tolerated":               {failures("1"), 2 * time.Hour, false, nil, false, 2},
		"one failure is tolerated, and it soaks": {failures("1"), time.Minute, false, nil, false, 0},
		"a third of 3 nodes may fail":            {failures("34%"), 2 * time.Hour, false, nil, false, 2},
		"a percentage is rounded down":           {failures("33%"), 2 * time.Hour, false, nil, true, 0},
		"no waves, soon after":                   {budget, 9 * time.Minute, false, nil, true, 0},
		"no waves, long after":                   {budget, 11 * time.Minute, false, nil, false, 1},
		"no waves, and ready for long":           {func(p *v1.NodePool) { limited("2", time.Hour)(p) }, 30 * time.Minute, false, nil, true, 0},
	} {
		pool, nodesOf := halting(c.pool)
		nodes := nodesOf(c.ago, c.ready)
		if c.change != nil {
			c.change(nodes)
		}
		turns := RolloutsOf([]*v1.NodePool{pool}).Turns(asking(nodes), nil, closedAt, true)
		if halt := turns.Halts["p"]; halt.Holds() != c.halts || c.halts && (halt.Node != "a" || halt.Nodes != 1) || len(turns.Nodes) != c.turns {
			t.Errorf("%s: halted: %+v, and it is the turn of %v", name, halt, turns.Nodes)
		}
	}
}

// The time of a halt is rounded up, as those at which nodes began are: whoever resumes the rollout
// resumes it for each node that had begun by then.
func TestTimeOfAHaltIsRoundedUp(t *testing.T) {
	pool, nodesOf := halting(func(p *v1.NodePool) { limited("3", time.Minute)(p) })
	now := closedAt.Add(300 * time.Millisecond)
	nodes, rollouts := nodesOf(time.Minute, false), RolloutsOf([]*v1.NodePool{pool})
	began := func(f *Follower) {
		f.Asks, f.Waits = nil, nil
		f.Change = LastChange{At: inSeconds(now), Pools: map[string]FollowedPool{"p": {At: inSeconds(now), Spec: specHash(pool)}}}
	}
	began(&nodes[1])
	halt := rollouts.Turns(asking(nodes), nil, now, true).Halts["p"]
	if !halt.Holds() || halt.Time.Before(now) {
		t.Fatalf("halted at %v: %+v", now, halt)
	}
	pool.Annotations = map[string]string{v1.ResumeRolloutAnnotation: halt.Resume()}
	rollouts = RolloutsOf([]*v1.NodePool{pool})
	nodes[1].Unready, nodes[1].Unavailable = true, true
	if again := rollouts.Turns(asking(nodes), map[string]*Halt{"p": halt}, now.Add(time.Minute), true).Halts["p"]; again.Holds() {
		t.Errorf("it was resumed, and node b, which had begun before, halts it again: %+v", again)
	}
}

// A node of a wave that has ended fails by what it has followed soon after, and not for
// ever.
func TestFailureOfAnEarlierWave(t *testing.T) {
	pool := waitingPool("p", inWaves(waveOf("one", "1", nil), waveOf("two", "1", nil)))
	rollouts := RolloutsOf([]*v1.NodePool{pool})
	for ago, halts := range map[time.Duration]bool{9 * time.Minute: true, 11 * time.Minute: false} {
		a, b, c := follower(rollouts, "a", "", "p"), follower(rollouts, "b", "", "p"), follower(rollouts, "c", "", "p")
		for _, f := range []*Follower{&a, &b} {
			f.Change = LastChange{At: closedAt.Add(-ago), Pools: map[string]FollowedPool{"p": {At: closedAt.Add(-ago), Spec: specHash(pool)}}}
		}
		a.Unready, a.Unavailable = true, true
		c.Asks, c.Waits = asksFor("p"), []string{"p"}
		if turns := rollouts.Turns(asking([]Follower{a, b, c}), nil, closedAt, true); turns.Halts["p"].Holds() != halts || len(turns.Nodes) > 0 {
			t.Errorf("%v after its change, in a wave before the last that has begun: halted %v, turn of %v", ago, turns.Halts["p"], turns.Nodes)
		}
	}
}

// A halt stays: over a restart, a day, and the recovery of the node; until this very halt
// is resumed, or the pool says something else.
func TestHaltStays(t *testing.T) {
	pool, nodesOf := halting(nil)
	rollouts := func() *Rollouts { return RolloutsOf([]*v1.NodePool{pool}) }
	halt := rollouts().Turns(asking(nodesOf(time.Minute, false)), nil, closedAt, true).Halts["p"]
	if !halt.Holds() {
		t.Fatal("it is not halted")
	}
	pool.Status.Rollout = &v1.RolloutStatus{Halt: halt.Status()}
	halts := map[string]*Halt{"p": HaltOf(pool)} // by the status, as a new leader has it
	if !halts["p"].Equal(halt) {
		t.Fatalf("the status has %+v of %+v", halts["p"], halt)
	}
	later := closedAt.Add(24 * time.Hour)
	for _, value := range []string{"", "abcdef/" + halt.Time.Format(time.RFC3339), ChangeID(pool), ChangeID(pool) + "/canary", halt.Resume() + " "} {
		pool.Annotations = map[string]string{v1.ResumeRolloutAnnotation: value, v1.ApproveRolloutAnnotation: ChangeID(pool) + "/canary", v1.ExpediteRolloutAnnotation: ChangeID(pool)}
		if turns := rollouts().Turns(asking(nodesOf(time.Minute, true)), halts, later, true); len(turns.Nodes) > 0 || !turns.Halts["p"].Equal(halt) {
			t.Errorf("with %q, and the canary ready again, it is the turn of %v, halted by %+v", value, turns.Nodes, turns.Halts["p"])
		}
		if turns := rollouts().Turns(asking(nodesOf(time.Minute, false)), halts, later, true); !turns.Halts["p"].Equal(halt) {
			t.Errorf("with %q, it is halted anew: %+v", value, turns.Halts["p"])
		}
	}
	if turns := rollouts().Turns(nil, halts, later, false); !turns.Halts["p"].Equal(halt) {
		t.Error("it is forgotten before the nodes are known")
	}
	pool.Annotations = map[string]string{v1.ResumeRolloutAnnotation: halt.Resume()}
	turns := rollouts().Turns(asking(nodesOf(time.Minute, false)), halts, later, true)
	resumed := turns.Halts["p"]
	if len(turns.Nodes) != 2 || resumed == nil || resumed.Holds() {
		t.Fatalf("resumed, with the canary down, it is the turn of %v: %+v", turns.Nodes, resumed)
	}
	nodes := nodesOf(time.Minute, false)
	nodes[1].Change, nodes[1].Waits, nodes[1].Asks = LastChange{At: later, Pools: map[string]FollowedPool{"p": {At: later, Spec: specHash(pool)}}}, nil, nil
	nodes[1].Unready, nodes[1].Unavailable = true, true
	again := rollouts().Turns(asking(nodes), turns.Halts, later, true).Halts["p"]
	if !again.Holds() || again.Node != "b" || again.Resume() == halt.Resume() {
		t.Errorf("another node fails after it was resumed: %+v", again)
	}
	pool.Generation++
	pool.Spec.Rollout.MaxUnavailable = new(intstr.FromInt32(3))
	if turns := rollouts().Turns(asking(nodesOf(time.Minute, true)), map[string]*Halt{"p": again}, later, true); !turns.Halts["p"].Equal(again) {
		t.Errorf("the rollout says something else, and the halt is %+v", turns.Halts["p"])
	}
	pool.Spec.Labels = map[string]v1.LabelValue{key: "2"}
	if turns := rollouts().Turns(asking(nodesOf(time.Minute, true)), map[string]*Halt{"p": again}, later, true); turns.Halts["p"] != nil {
		t.Errorf("the pool says something else, and is halted by %+v", turns.Halts["p"])
	}
}

// Nodes that have followed go back to what they were before at once: in no window, no wave,
// and a halted rollout, but within the budget; all else waits.
func TestRevertWaitsForItsTurnAlone(t *testing.T) {
	before, after, now := waitingPool("p", labelled("1")), waitingPool("p", all(labelled("2"), tainted("2", corev1.TaintEffectNoSchedule))), closedAt
	closedLimits := func(pool *v1.NodePool) *v1.NodePool {
		pool = pool.DeepCopy()
		pool.Generation++
		pool.Spec.Rollout = nightly()
		pool.Spec.Rollout.MaxUnavailable = new(intstr.FromInt32(1))
		pool.Spec.Rollout.Waves = []v1.Wave{waveOf("canary", "1", nil)}
		return pool
	}
	outcome := func(node *NodeState, pool *v1.NodePool, turns ...string) NodeOutcome {
		pools := []*v1.NodePool{pool}
		return NodeOutcomeOf(node, expand(pools...), NodeFacts{Rollouts: RolloutsOf(pools), Turn: turnFor(turns...), Now: now})
	}
	node := followed(t, 365*24*time.Hour, before)
	open := after.DeepCopy()
	open.Spec.Rollout = &v1.Rollout{MaxUnavailable: new(intstr.FromInt32(1))}
	o := outcome(node, open, "p")
	if !o.Begins || len(reverting(o)) > 0 {
		t.Fatalf("it begins: %t, to go back: %v", o.Begins, reverting(o))
	}
	node = o.Admission.Plan.After(node)

	if o := outcome(node, closedLimits(waitingPool("p", labelled("3")))); len(o.Asks) > 0 || len(reverting(o)) > 0 || o.Wait.Of("p") == nil {
		t.Errorf("another change: it asks %v, and waits for %v", o.Asks, o.Wait)
	}
	revert := closedLimits(before)
	o = outcome(node, revert)
	if !slices.Equal(asked(o), []string{"p"}) || !slices.Equal(reverting(o), []string{"p"}) {
		t.Fatalf("a revert: it asks %v, to go back: %v; %v", o.Asks, reverting(o), o.Wait)
	}
	paused := revert.DeepCopy()
	paused.Spec.Rollout.Paused = true
	if o := outcome(node, paused); len(o.Asks) > 0 {
		t.Errorf("paused, it asks %v", o.Asks)
	}
	if now = closedAt.Add(revertPeriod + time.Hour); len(outcome(node, revert).Asks) > 0 {
		t.Errorf("%v later, it is a change like any other", revertPeriod)
	}
	now = closedAt
	o = outcome(node, revert, "p")
	if !o.Begins || LastChangeOf(o.Admission.Plan.After(node)).Pools["p"].Previous != "" {
		t.Errorf("in its turn, it begins: %t, and what it goes back to can be gone back to: %v", o.Begins, o.Admission.Plan.Record.Change)
	}
	node = o.Admission.Plan.After(node)
	want := followed(t, 365*24*time.Hour, before)
	if node.Labels[key] != want.Labels[key] || len(node.Taints) != len(want.Taints) {
		t.Errorf("reverted, it has the labels %v and the taints %v", node.Labels, node.Taints)
	}

	rollouts := RolloutsOf([]*v1.NodePool{revert})
	var nodes []Follower
	for _, name := range []string{"a", "b", "c"} {
		f := follower(rollouts, name, "", "p")
		f.Asks, f.Waits = back(asksFor("p")), []string{"p"}
		nodes = append(nodes, f)
	}
	nodes[0].Asks = nil // the canary waits for a window
	halt := map[string]*Halt{"p": {Time: closedAt, Changes: []string{specHash(revert)}}}
	if turns := rollouts.Turns(asking(nodes), halt, closedAt, true); len(turns.Nodes) != 1 || turns.Nodes["b"] == nil {
		t.Errorf("it is the turn of %v, want one node at a time, in whatever wave and halt", turns.Nodes)
	}
}

// What is expedited waits for no window, no wave, no soak and no approval of the pool that
// says so; for a pause, the budget and other pools it does.
func TestExpedited(t *testing.T) {
	canary := waveOf("canary", "1", func(w *v1.Wave) { w.Soak, w.Approval = &metav1.Duration{Duration: time.Hour}, v1.ApprovalRequired })
	expedited := func(pool *v1.NodePool, value string) *v1.NodePool {
		pool = pool.DeepCopy()
		pool.Annotations = map[string]string{v1.ExpediteRolloutAnnotation: value}
		return pool
	}
	p := waitingPool("p", all(labelled("2"), inWaves(canary)))
	p.Spec.Rollout.Windows, p.Spec.Rollout.MaxUnavailable = nightly().Windows, new(intstr.FromInt32(2))
	id := ChangeID(p)
	paused := p.DeepCopy()
	paused.Spec.Rollout.Paused = true
	fleet := waitingPool("fleet", all(prior(1), closed))
	for name, c := range map[string]struct {
		pools []*v1.NodePool
		asks  bool
	}{
		"not":                   {[]*v1.NodePool{p}, false},
		"another change":        {[]*v1.NodePool{expedited(p, "abcdef")}, false},
		"this one":              {[]*v1.NodePool{expedited(p, id)}, true},
		"among others":          {[]*v1.NodePool{expedited(p, "abcdef."+id)}, true},
		"paused":                {[]*v1.NodePool{expedited(paused, id)}, false},
		"not by a closed fleet": {[]*v1.NodePool{expedited(p, id), fleet}, false},
		"by a closed fleet":     {[]*v1.NodePool{expedited(p, id), expedited(fleet, id)}, true},
	} {
		node := followed(t, 365*24*time.Hour, waitingPool("p", labelled("1")), waitingPool("fleet", prior(1)))
		if o := NodeOutcomeOf(node, expand(c.pools...), NodeFacts{Rollouts: RolloutsOf(c.pools), Now: closedAt}); len(o.Asks) > 0 != c.asks {
			t.Errorf("%s: it asks %v, and waits for %v", name, o.Asks, o.Wait)
		}
	}
	for value, want := range map[string]int{id: 2, "abcdef": 1} {
		rollouts := RolloutsOf([]*v1.NodePool{expedited(p, value)})
		var nodes []Follower
		for _, name := range []string{"a", "b", "c", "d"} {
			f := follower(rollouts, name, "", "p")
			f.Asks, f.Waits = asksFor("p"), []string{"p"}
			nodes = append(nodes, f)
		}
		if turns := rollouts.Turns(asking(nodes), nil, closedAt, true); len(turns.Nodes) != want {
			t.Errorf("with %s expedited it is the turn of %v, want %d", value, turns.Nodes, want)
		}
	}
}

// Nodes follow by zone where the pool says so, and by name otherwise.
func TestOrderOfTurns(t *testing.T) {
	for order, want := range map[v1.RolloutOrder]string{"": "a", v1.OrderByName: "a", v1.OrderByZone: "b"} {
		pool := waitingPool("p", limited("1", time.Minute))
		pool.Spec.Rollout.Order = order
		rollouts := RolloutsOf([]*v1.NodePool{pool})
		var nodes []Follower
		for name, zone := range map[string]string{"a": "z2", "b": "z1", "c": "z1"} {
			f := follower(rollouts, name, "", "p")
			f.Asks, f.Waits, f.Zone = asksFor("p"), []string{"p"}, zone
			nodes = append(nodes, f)
		}
		if turns := rollouts.Turns(asking(nodes), nil, closedAt, true); len(turns.Nodes) != 1 || turns.Nodes[want] == nil {
			t.Errorf("in the order %q it is the turn of %v first, want %s", order, turns.Nodes, want)
		}
	}
}
