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

// drainingPool is a pool that gives its nodes a NoExecute taint, and has them drained.
func drainingPool(change func(*v1.NodePool)) *v1.NodePool {
	return waitingPool("p", all(labelled("2"), tainted("v", corev1.TaintEffectNoExecute), func(p *v1.NodePool) {
		p.Spec.Rollout = &v1.Rollout{Drain: &v1.Drain{}}
		if change != nil {
			change(p)
		}
	}))
}

func taintsOf(node *NodeState) (taints []string) {
	for _, taint := range node.Taints {
		taints = append(taints, taint.Value+":"+string(taint.Effect))
	}
	slices.Sort(taints)
	return taints
}

// A node is drained between two writes: the first has all but the NoExecute taint, and a
// NoSchedule taint in its place, the second one puts that right.
func TestNodeIsDrained(t *testing.T) {
	node, pool := followed(t, longAgo, waitingPool("p", labelled("1"))), drainingPool(nil)
	facts := NodeFacts{Rollouts: RolloutsOf([]*v1.NodePool{pool}), Now: closedAt}
	decide := func() NodeOutcome { return NodeOutcomeOf(node, expand(pool), facts) }
	if o := decide(); !slices.Equal(asked(o), []string{"p"}) || o.Drain != nil {
		t.Fatalf("before its turn it asks %v, and is drained: %+v", o.Asks, o.Drain)
	}
	facts.Turn = turnFor("p")
	o := decide()
	if o.Drain == nil || o.Drain.Began || !o.Begins || o.State != NodeStateChanging {
		t.Fatalf("in its turn: %+v, begins %t, %s", o.Drain, o.Begins, o.State)
	}
	node = o.Admission.Plan.After(node)
	if got := taintsOf(node); !slices.Equal(got, []string{"v:NoSchedule"}) || node.Labels[key] != "2" {
		t.Fatalf("it has the taints %v and the labels %v", got, node.Labels)
	}
	facts.Turn, facts.Now = nil, closedAt.Add(30*time.Minute)
	o = decide()
	want := []corev1.Taint{{Key: key, Value: "v", Effect: corev1.TaintEffectNoExecute}}
	if o.Drain == nil || !o.Drain.Began || o.Drain.Overdue || !slices.Equal(o.Drain.Taints, want) || !slices.Equal(LastChangeOf(node).Drained(), []string{"p"}) || !o.Admission.Plan.NoOp() || len(o.Wait) > 0 {
		t.Fatalf("while it is drained: %+v, waits for %v, writes %v", o.Drain, o.Wait, o.Admission.Plan.Changes)
	}
	if f := FollowerOf(node, o, true); !f.occupies(facts.Rollouts.pools["p"], facts.Now) {
		t.Error("a node that is drained does not count as unavailable")
	}
	facts.Now = closedAt.Add(2 * time.Hour)
	if o = decide(); o.Drain == nil || !o.Drain.Overdue || !o.Admission.Plan.NoOp() {
		t.Errorf("after the default of an hour: %+v, writes %v", o.Drain, o.Admission.Plan.Changes)
	}
	facts.Drained = true
	if o = decide(); o.Drain != nil || !o.Begins {
		t.Fatalf("it is drained, and still %+v; begins: %t", o.Drain, o.Begins)
	}
	node = o.Admission.Plan.After(node)
	if got := taintsOf(node); !slices.Equal(got, []string{"v:NoExecute"}) {
		t.Errorf("it ends with the taints %v", got)
	}
	change := LastChangeOf(node)
	if len(change.Drains) > 0 || !change.At.Equal(facts.Now) {
		t.Errorf("its record has %+v", change)
	}
	facts.Drained = false
	if o = decide(); !o.Plan.NoOp() || o.Drain != nil {
		t.Errorf("afterwards: %+v, %v", o.Drain, o.Plan.Changes)
	}
}

// Whoever takes the NoSchedule taint off gets it back, and a change that is taken back ends
// the drain at once, outside a window.
func TestDrainIsHeldAndTakenBack(t *testing.T) {
	before := waitingPool("p", labelled("1"))
	node, pool := followed(t, longAgo, before), drainingPool(nil)
	decide := func(turn Turn, pool *v1.NodePool) NodeOutcome {
		return NodeOutcomeOf(node, expand(pool), NodeFacts{Rollouts: RolloutsOf([]*v1.NodePool{pool}), Turn: turn, Now: closedAt})
	}
	node = decide(turnFor("p"), pool).Admission.Plan.After(node)
	taints := node.Taints
	node.Taints = nil
	node = decide(nil, pool).Admission.Plan.After(node)
	if got := taintsOf(node); !slices.Equal(got, []string{"v:NoSchedule"}) {
		t.Errorf("taken off by hand, the taints are %v", got)
	}
	node.Taints = taints
	back := before.DeepCopy()
	back.Spec.Rollout = nightly()
	back.Spec.Rollout.MaxUnavailable = new(intstr.FromInt32(1))
	if o := decide(nil, back); !slices.Equal(reverting(o), []string{"p"}) || !slices.Equal(asked(o), []string{"p"}) {
		t.Fatalf("taken back, it asks %v to go back with %v; %v", o.Asks, reverting(o), o.Wait)
	}
	node = decide(turnFor("p"), back).Admission.Plan.After(node)
	if len(node.Taints) > 0 || node.Labels[key] != "1" {
		t.Errorf("taken back, it has %v and %v", node.Taints, node.Labels)
	}
}

// Force gives the taints when the time is over, within a window.
func TestForcedDrain(t *testing.T) {
	for name, c := range map[string]struct {
		after   time.Duration
		windows bool
		forced  bool
	}{
		"before the time is over": {59 * time.Second, false, false},
		"at the end of the time":  {time.Minute, false, true},
		"outside a window":        {2 * time.Minute, true, false},
		"in the next one":         {opensAt.Sub(closedAt), true, true},
	} {
		pool := drainingPool(func(p *v1.NodePool) {
			p.Spec.Rollout.Drain = &v1.Drain{Timeout: &metav1.Duration{Duration: time.Minute}, OnTimeout: v1.ForceOnTimeout}
		})
		node := followed(t, longAgo, waitingPool("p", labelled("1")))
		decide := func(turn Turn, now time.Time) NodeOutcome {
			return NodeOutcomeOf(node, expand(pool), NodeFacts{Rollouts: RolloutsOf([]*v1.NodePool{pool}), Turn: turn, Now: now})
		}
		node = decide(turnFor("p"), closedAt).Admission.Plan.After(node)
		if c.windows {
			pool.Spec.Rollout.Windows = nightly().Windows
		}
		if o := decide(nil, closedAt.Add(c.after)); o.Drain == nil {
			t.Errorf("%s: no pod was asked to go, and the taints come", name)
		}
		o := NodeOutcomeOf(node, expand(pool), NodeFacts{Rollouts: RolloutsOf([]*v1.NodePool{pool}), Evicted: true, Now: closedAt.Add(c.after)})
		if forced := o.Drain == nil && !o.Admission.Plan.NoOp(); forced != c.forced {
			t.Errorf("%s: drained %+v, writes %v", name, o.Drain, o.Admission.Plan.Changes)
		}
	}
}

// What is not drained: taints of another effect, those that a node has, and pools that say
// nothing of it. A stronger pool that drains does so for weaker ones.
func TestWhatIsDrained(t *testing.T) {
	turn := turnFor("p", "fleet")
	fleet := waitingPool("fleet", all(prior(1), func(p *v1.NodePool) { p.Spec.Rollout = &v1.Rollout{Drain: &v1.Drain{}} }))
	limits := func(p *v1.NodePool) { p.Spec.Rollout = &v1.Rollout{MaxUnavailable: new(intstr.FromInt32(1))} }
	for name, c := range map[string]struct {
		age    time.Duration
		before *v1.NodePool
		pools  []*v1.NodePool
		drains bool
	}{
		"a new taint":    {longAgo, waitingPool("p", labelled("1")), []*v1.NodePool{drainingPool(nil)}, true},
		"a new value":    {longAgo, waitingPool("p", tainted("w", corev1.TaintEffectNoExecute)), []*v1.NodePool{drainingPool(nil)}, true},
		"the same value": {longAgo, waitingPool("p", tainted("v", corev1.TaintEffectNoExecute)), []*v1.NodePool{drainingPool(nil)}, false},
		"NoSchedule":     {longAgo, waitingPool("p", labelled("1")), []*v1.NodePool{drainingPool(tainted("v", corev1.TaintEffectNoSchedule))}, false},
		"it had that as NoSchedule": {longAgo, waitingPool("p", tainted("v", corev1.TaintEffectNoSchedule)), []*v1.NodePool{drainingPool(func(p *v1.NodePool) {
			p.Spec.Taints = append(p.Spec.Taints, v1.Taint{Key: key, Value: "v", Effect: corev1.TaintEffectNoSchedule})
		})}, true},
		"it joins":             {time.Minute, waitingPool("other", nil), []*v1.NodePool{drainingPool(nil)}, true},
		"a pool without":       {longAgo, waitingPool("p", labelled("1")), []*v1.NodePool{drainingPool(limits)}, false},
		"by a stronger pool":   {longAgo, waitingPool("p", labelled("1")), []*v1.NodePool{fleet, drainingPool(limits)}, true},
		"not by a weaker pool": {longAgo, waitingPool("p", labelled("1")), []*v1.NodePool{fleet, drainingPool(all(limits, prior(2)))}, false},
	} {
		node := followed(t, c.age, c.before)
		o := NodeOutcomeOf(node, expand(c.pools...), NodeFacts{Rollouts: RolloutsOf(c.pools), Turn: turn, Now: closedAt})
		if (o.Drain != nil) != c.drains || o.Admission.Plan.NoOp() && name != "the same value" {
			t.Errorf("%s: drained %+v, waits for %v, writes %v", name, o.Drain, o.Wait, o.Admission.Plan.Changes)
			continue
		}
		d := &Difference{Pools: &PoolsPlan{}, accepted: &Acceptance{Pools: c.pools}, Nodes: []NodeDifference{{node.Name, o.Plan}}}
		if foreseen := d.Drains(Cluster{Pools: c.pools, Nodes: []*NodeState{node}}, closedAt); (len(foreseen[node.Name]) > 0) != c.drains {
			t.Errorf("%s: a difference has the drains %v", name, foreseen)
		}
		if !c.drains {
			continue
		}
		// It goes on from its record, whatever stood there before.
		node = o.Admission.Plan.After(node)
		if o = NodeOutcomeOf(node, expand(c.pools...), NodeFacts{Rollouts: RolloutsOf(c.pools), Now: closedAt.Add(time.Minute)}); o.Drain == nil || !o.Drain.Began {
			t.Errorf("%s: a minute later it is drained %+v", name, o.Drain)
		}
	}
}

// A node that ends to be drained for one pool with the same write with which it begins to
// follow another one is drained no more.
func TestDrainEndsWithAnotherChange(t *testing.T) {
	pool := drainingPool(nil)
	other := func(value string) *v1.NodePool { return waitingPool("other", all(prior(1), labelPairs("m", value))) }
	node := followed(t, longAgo, waitingPool("p", labelled("1")), other("1"))
	write := func(drained bool, pools ...*v1.NodePool) {
		o := NodeOutcomeOf(node, expand(pools...), NodeFacts{Rollouts: RolloutsOf(pools), Turn: turnFor("p"), Drained: drained, Now: closedAt})
		node = o.Admission.Plan.After(node)
	}
	write(false, pool, other("1"))
	write(true, pool, other("2"))
	if change := LastChangeOf(node); len(change.Drains) > 0 || node.Labels["example.com/m"] != "2" || !slices.Equal(taintsOf(node), []string{"v:NoExecute"}) {
		t.Errorf("it has the labels %v, the taints %v, and the record %+v", node.Labels, taintsOf(node), change)
	}
}

// A NoSchedule taint of somebody else stays as it is, whatever the policy of the pool is.
// Where it lets other pods come, none is evicted, and the taint comes by force alone.
func TestDrainLeavesForeignTaintsAlone(t *testing.T) {
	for _, policy := range []v1.ConflictPolicy{v1.ReportConflicts, v1.TakeOver, v1.Adopt} {
		for _, value := range []string{"v", "theirs"} {
			pool := drainingPool(func(p *v1.NodePool) {
				p.Spec.ConflictPolicy, p.Spec.Rollout.Drain.OnTimeout = policy, v1.ForceOnTimeout
			})
			node := followed(t, longAgo, waitingPool("p", labelled("1")))
			node.Taints = []corev1.Taint{{Key: key, Value: value, Effect: corev1.TaintEffectNoSchedule}}
			for i, drained := range []bool{false, false, true, true} {
				o := NodeOutcomeOf(node, expand(pool), NodeFacts{Rollouts: RolloutsOf([]*v1.NodePool{pool}), Turn: turnFor("p"), Drained: drained, Now: closedAt})
				if len(o.Plan.Conflicts) > 0 {
					t.Errorf("%s, %s: conflicts %v", policy, value, o.Plan.Conflicts)
				}
				if value == "theirs" && (o.Drain == nil || o.Drain.Obstacle == "" || len(o.Drain.Taints) > 0 || i > 0 && !o.Admission.Plan.NoOp()) {
					t.Errorf("%s, %s: drained %+v, writes %v", policy, value, o.Drain, o.Admission.Plan.Changes)
				}
				node = o.Admission.Plan.After(node)
			}
			o := NodeOutcomeOf(node, expand(pool), NodeFacts{Rollouts: RolloutsOf([]*v1.NodePool{pool}), Evicted: true, Now: closedAt.Add(time.Hour)})
			node = o.Admission.Plan.After(node)
			if want := []string{"v:NoExecute", value + ":NoSchedule"}; !slices.Equal(taintsOf(node), slices.Sorted(slices.Values(want))) {
				t.Errorf("%s: the taints end as %v, want %v", policy, taintsOf(node), want)
			}
		}
	}
}

// A drain that is taken out of the rollout gives no taint without its turn.
func TestDrainThatIsTakenOut(t *testing.T) {
	for name, c := range map[string]struct {
		rollout *v1.Rollout
		waits   bool
	}{
		"with the rollout":    {nil, false},
		"but for a budget":    {&v1.Rollout{MaxUnavailable: new(intstr.FromInt32(1))}, true},
		"and paused":          {&v1.Rollout{Paused: true}, true},
		"paused, and drained": {&v1.Rollout{Paused: true, Drain: &v1.Drain{}}, true},
	} {
		node := followed(t, longAgo, waitingPool("p", labelled("1")))
		node = decide(node, closedAt, []string{"p"}, drainingPool(nil)).Admission.Plan.After(node)
		o := decide(node, closedAt.Add(time.Minute), nil, drainingPool(func(p *v1.NodePool) { p.Spec.Rollout = c.rollout }))
		node = o.Admission.Plan.After(node)
		if waits := slices.Equal(taintsOf(node), []string{"v:NoSchedule"}); waits != c.waits {
			t.Errorf("%s: it has the taints %v, waits for %v, and is drained %+v", name, taintsOf(node), o.Wait, o.Drain)
		}
	}
}

// The taint that keeps pods off is that of the stronger pool, and the weaker one gets its
// own back. Where the stronger one lets pods come, none is evicted.
func TestDrainGoesBeforeWeakerPools(t *testing.T) {
	for priority, want := range map[int32][]string{2: {"v:NoSchedule", "v:NoExecute", "w:NoSchedule"}, 0: {"w:NoSchedule", "w:NoSchedule"}} {
		other := waitingPool("other", all(prior(1), tainted("w", corev1.TaintEffectNoSchedule)))
		pools := []*v1.NodePool{drainingPool(prior(priority)), other}
		node := followed(t, longAgo, waitingPool("p", all(prior(priority), labelled("1"))), other)
		node = decide(node, closedAt, []string{"p"}, pools...).Admission.Plan.After(node)
		if got := taintsOf(node); !slices.Equal(got, want[:1]) {
			t.Errorf("with priority %d, it is drained with the taints %v, want %s", priority, got, want[:1])
		}
		o := NodeOutcomeOf(node, expand(pools...), NodeFacts{Rollouts: RolloutsOf(pools), Drained: true, Now: closedAt.Add(time.Minute)})
		if got := taintsOf(o.Admission.Plan.After(node)); !slices.Equal(got, want[1:]) {
			t.Errorf("with priority %d, it ends with the taints %v; waits for %v", priority, got, o.Wait)
		}
	}
}
