package plan

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

var sixNodes = []string{"a", "b", "c", "d", "e", "f"}

// canaryPool lets one of six nodes follow, and the others half an hour later.
func canaryPool(name string, changes ...func(*v1.NodePool)) *v1.NodePool {
	soaks := func(w *v1.Wave) { w.Soak = &metav1.Duration{Duration: 30 * time.Minute} }
	return waitingPool(name, all(labelPairs("of", name), limited("1", time.Minute), inWaves(waveOf("canary", "1", soaks)), func(p *v1.NodePool) {
		p.Spec.NodeNames = slices.Clone(sixNodes)
	}, all(changes...)))
}

// settled notes that all nodes follow pools.
func settled(pools ...*v1.NodePool) []*v1.NodePool {
	for _, pool := range pools {
		RolloutsOf(pools).Settle(&pool.Status, pool, nil)
	}
	return pools
}

// revised is a pool as it is after an edit: what is settled stays.
func revised(pool *v1.NodePool, changes ...func(*v1.NodePool)) *v1.NodePool {
	after := pool.DeepCopy()
	after.Generation++
	all(changes...)(after)
	return after
}

func named(nodes ...string) func(*v1.NodePool) {
	return func(p *v1.NodePool) { p.Spec.NodeNames = nodes }
}

// leaveIn is how many nodes have lost their label of pool gpu within a time.
func leaveIn(s *stepper, from time.Time, period time.Duration) (left int) {
	s.steps(from, period)
	for _, name := range s.names {
		if s.nodes[name].Labels["example.com/of"] != "gpu" {
			left++
		}
	}
	return left
}

// However nodes leave a pool, its waves are those of all that were members: the canary goes, and
// the others after its soak.
func TestWavesOfNodesThatLeave(t *testing.T) {
	approval := func(p *v1.NodePool) { p.Spec.Rollout.Waves[0].Approval = v1.ApprovalRequired }
	byZone := func(p *v1.NodePool) {
		p.Spec.Rollout.Waves[0].Nodes = nil
		p.Spec.Rollout.Waves[0].Selector = &v1.WaveSelector{MatchLabels: map[string]v1.LabelValue{"zone": "a"}}
	}
	gpu := canaryPool("gpu")
	for name, c := range map[string]struct {
		before, after []*v1.NodePool
		first         int // how many go before the soak is over
		asks          bool
	}{
		"it is deleted": {before: settled(gpu), after: []*v1.NodePool{revised(gpu, deletedAt(closedAt))}, first: 1},
		"other names":   {before: settled(gpu), after: []*v1.NodePool{revised(gpu, named("f"))}, first: 1},
		"a selector of none": {before: settled(gpu), after: []*v1.NodePool{revised(gpu, func(p *v1.NodePool) {
			p.Spec.NodeNames, p.Spec.Selector = nil, &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"zone": "typo"}}
		})}, first: 1},
		"a wave by label":             {before: settled(revised(gpu, byZone)), after: []*v1.NodePool{revised(settled(revised(gpu, byZone))[0], deletedAt(closedAt))}, first: 2},
		"it is copied, and emptied":   {before: settled(gpu), after: []*v1.NodePool{revised(gpu, named("nobody")), canaryPool("gpu2")}, first: 1},
		"it is copied, and deleted":   {before: settled(gpu), after: []*v1.NodePool{revised(gpu, deletedAt(closedAt)), canaryPool("gpu2")}, first: 1},
		"and nobody approves":         {before: settled(revised(gpu, approval)), after: []*v1.NodePool{revised(settled(revised(gpu, approval))[0], deletedAt(closedAt))}, first: 1, asks: true},
		"copied, and nobody approves": {before: settled(revised(gpu, approval)), after: []*v1.NodePool{revised(settled(revised(gpu, approval))[0], named("nobody")), revised(canaryPool("gpu2"), approval)}, first: 1, asks: true},
	} {
		w := followedWorld(t, sixNodes, c.before, c.after)
		for i, node := range w.nodes {
			node.Labels["zone"] = []string{"b", "a", "b", "a", "b", "b"}[i]
		}
		s := newStepper(w)
		s.approves = func(string) bool { return false }
		if early := leaveIn(s, w.now, 29*time.Minute); early != c.first {
			t.Errorf("%s: %d nodes went within 29m, want %d: %v", name, early, c.first, s.writes)
		}
		if later := leaveIn(s, w.now.Add(29*time.Minute), time.Hour); !c.asks && later < 5 || c.asks && later != c.first {
			t.Errorf("%s: %d nodes went later: %v", name, later, s.writes)
		}
	}
}

// A controller that is started anew does not know when a canary left that has no record any more:
// its soak begins anew, unless the status says that the wave is over.
func TestSoakBeginsAnewUnlessLatched(t *testing.T) {
	gpu := canaryPool("gpu")
	w := followedWorld(t, sixNodes, settled(gpu), []*v1.NodePool{revised(gpu, deletedAt(closedAt))})
	s := newStepper(w)
	restart := func() *stepper {
		again := *w
		again.nodes = nil
		for _, name := range s.names {
			again.nodes = append(again.nodes, s.nodes[name])
		}
		again.after[0].Status.Rollout = &v1.RolloutStatus{Over: s.rollouts.Over("gpu", s.latches["gpu"])}
		return newStepper(&again)
	}
	s.steps(w.now, 20*time.Minute)
	s = restart()
	if early := leaveIn(s, w.now.Add(20*time.Minute), 29*time.Minute); early != 1 {
		t.Errorf("%d nodes went 29m after the start, and nobody knows when the canary did", early-1)
	}
	if later := leaveIn(s, w.now.Add(49*time.Minute), 2*time.Minute); later <= 1 {
		t.Fatalf("%d nodes went when the soak was over", later)
	}
	s = restart()
	if later := leaveIn(s, w.now.Add(51*time.Minute), 6*time.Minute); later != 6 {
		t.Errorf("the canary is over by %q, and %d nodes went within 6m", w.after[0].Status.Rollout.Over, later)
	}
	if left := RolloutsOf([]*v1.NodePool{revised(w.after[0])}).latches["gpu"][ChangeID(revised(w.after[0]))]; left.Over != 0 {
		t.Errorf("the pool says something else, and its waves are over: %+v", left)
	}
}

// A node that joined since the change is in no wave: no canary.
func TestNodeThatJoinedIsNoCanary(t *testing.T) {
	gpu := canaryPool("gpu")
	before := canaryPool("gpu", labelPairs("of", "other"))
	after := revised(gpu, func(p *v1.NodePool) { p.CreationTimestamp = metav1.NewTime(closedAt.Add(-time.Minute)) })
	w := followedWorld(t, sixNodes[1:], settled(before), []*v1.NodePool{after})
	joined := newNode("a")
	joined.Created = metav1.NewTime(closedAt)
	w.nodes = append(w.nodes, joined)
	s := newStepper(w)
	s.minute(w.now)
	if _, began := s.writes["b"]; len(s.writes) != 2 || !began {
		t.Errorf("a gets all at once, and b is the canary: %v", s.writes)
	}
	waves := s.rollouts.WaveNodes("gpu", []Follower{s.observed["a"], s.observed["b"], s.observed["c"]}, w.now)
	if !slices.Equal(waves[0].Followed, []string{"b"}) {
		t.Errorf("the waves are %+v", waves)
	}
}

// The drain of a weaker pool on the canary stops no wave of a stronger one.
func TestWeakDrainStopsNoWave(t *testing.T) {
	weak := func(v string) *v1.NodePool {
		return waitingPool("weak", all(tainted(v, corev1.TaintEffectNoExecute), limited("6", 0), func(p *v1.NodePool) { p.Spec.Rollout.Drain = &v1.Drain{} }))
	}
	strong := func(v string) *v1.NodePool {
		return waitingPool("strong", all(prior(9), labelPairs("of", v), inWaves(waveOf("canary", "1", nil))))
	}
	node := followed(t, longAgo, strong("1"), waitingPool("weak", nothing))
	pools := []*v1.NodePool{strong("2"), weak("v")}
	rollouts := RolloutsOf(pools)
	var followers []Follower
	for i := range 2 {
		one := node.DeepCopy()
		one.Name = fmt.Sprint(i)
		if i == 0 {
			one = carry(one, decide(one, closedAt.Add(-time.Hour), []string{"strong", "weak"}, pools...))
		}
		followers = append(followers, FollowerOf(one, decide(one, closedAt, nil, pools...), true))
	}
	if len(followers[0].Change.Drains) == 0 {
		t.Fatalf("it is not drained: %+v", followers[0])
	}
	turns := rollouts.Turns(asking(followers), nil, closedAt, true)
	if turns.Nodes["1"] == nil {
		t.Errorf("the canary is drained for the weaker pool, and it is the turn of %v: %v", turns.Nodes, turns.Waves["strong"])
	}
}

// What is settled is read as it is written, whoever has written it, and left alone while it is the same.
func TestSettledInTheStatus(t *testing.T) {
	outer := waitingPool("outer", nothing)
	pool := canaryPool("p", inside("outer"))
	rollouts := RolloutsOf([]*v1.NodePool{pool, outer})
	rollouts.Settle(&pool.Status, pool, []*v1.NodePool{outer})
	if is := SettledOf(pool); is == nil || len(is.Members) != 2 || !slices.Equal(is.Members[0].NodeNames, sixNodes) || is.Labels["example.com/of"] != "p" {
		t.Fatalf("settled is %+v", is)
	}
	raw := pool.Status.Settled
	raw.Raw = append([]byte(" "), raw.Raw...) // as the API server may have it
	if rollouts.Settle(&pool.Status, pool, []*v1.NodePool{outer}); pool.Status.Settled != raw {
		t.Error("it is written though it is the same")
	}
	for _, text := range []string{"", "{}", "[]", `{"members":1}`, "null"} {
		pool.Status.Settled.Raw = []byte(text)
		if is := SettledOf(pool); is != nil {
			t.Errorf("%q is read as %+v", text, is)
		}
	}
	if RolloutsOf([]*v1.NodePool{outer}).Settle(&pool.Status, pool, nil); pool.Status.Settled != nil {
		t.Error("no rollout says when nodes follow it")
	}
}

// A node that leaves a pool, and then begins to follow another one, counts in the first still, be it
// that nothing of that disturbed it.
func TestNodeThatLeftTwiceCountsInBoth(t *testing.T) {
	one := limited("1", time.Hour)
	p := waitingPool("p", all(labelPairs("p", "1"), one))
	q := waitingPool("q", all(annotated("q"), one))
	rest := func(v string) *v1.NodePool { return waitingPool("rest", all(prior(-1), labelPairs("m", v))) }
	node := followed(t, longAgo, p, q, rest("1"))
	node = carry(node, decide(node, closedAt, []string{"p"}, revised(p, elsewhere), q, rest("1")))
	pools := []*v1.NodePool{revised(p, elsewhere), revised(q, elsewhere), rest("2")}
	node = carry(node, decide(node, closedAt.Add(time.Minute), []string{"p"}, pools...))
	f := FollowerOf(node, decide(node, closedAt.Add(2*time.Minute), nil, pools...), true)
	for name, leaves := range map[string]bool{"p": true, "q": true, "rest": false} {
		if is := f.isLeaving(RolloutsOf(pools).of(name), closedAt.Add(2*time.Minute)); is != leaves {
			t.Errorf("pool %s: it counts there %t; it has followed %+v", name, is, f.Change)
		}
	}
	if f.isLeaving(RolloutsOf(pools).of("p"), closedAt.Add(2*time.Hour)) {
		t.Error("it counts in p for longer than minReady")
	}
}
