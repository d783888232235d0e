package plan

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// canary is a node that follows pools one after the other; another node waits for all of them.
type canary struct {
	node *NodeState
	now  time.Time
}

// follow has it follow in its turn, a minute after the last time.
func (c *canary) follow(t *testing.T, unready bool, pools ...*v1.NodePool) {
	t.Helper()
	c.now = c.now.Add(time.Minute)
	var names []string
	for _, pool := range pools {
		names = append(names, pool.Name)
	}
	o := NodeOutcomeOf(c.node, expand(pools...), NodeFacts{Rollouts: RolloutsOf(pools), Turn: turnFor(names...), Unready: unready, Now: c.now})
	if !o.Begins {
		t.Fatalf("it does not begin: %v", o.Wait)
	}
	c.node = carry(c.node, o)
}

// fails decides what becomes of the rollout of the first pool when the node is not ready.
func (c *canary) fails(after time.Duration, pools ...*v1.NodePool) *Halt {
	now := c.now.Add(after)
	failed := FollowerOf(c.node, decide(c.node, now, nil, pools...), false)
	rollouts := RolloutsOf(pools)
	var names []string
	for _, pool := range pools {
		names = append(names, pool.Name)
	}
	waits := follower(rollouts, "o", "", names...)
	waits.Asks, waits.Waits = asksFor(pools[0].Name), names
	return rollouts.Turns(asking([]Follower{failed, waits}), nil, now, true).Halts[pools[0].Name]
}

func limitedPairs(pairs ...string) *v1.NodePool {
	return waitingPool("p", all(labelPairs(pairs...), limited("2", time.Minute)))
}

func canaryOf(t *testing.T, before ...*v1.NodePool) *canary {
	return &canary{followed(t, longAgo, before...), closedAt}
}

func adding(pool *v1.NodePool, changes ...func(*v1.NodePool)) *v1.NodePool {
	all(changes...)(pool)
	return pool
}

// A node that fails after one write for several pools has failed by those that still say what it
// has followed.
func TestFailureOfOneOfSeveralPools(t *testing.T) {
	fleet := func() *v1.NodePool { return waitingPool("fleet", all(prior(100), limited("2", time.Minute))) }
	gpu := func(v string) *v1.NodePool { return waitingPool("gpu", all(prior(2), labelPairs("k", v))) }
	web := func(v string) *v1.NodePool { return waitingPool("web", all(prior(1), labelPairs("m", v))) }
	can := canaryOf(t, fleet(), gpu("1"), web("1"))
	can.follow(t, false, fleet(), gpu("2"), web("2"))
	for name, c := range map[string]struct {
		gpu, web string
		specs    int
	}{"neither is edited": {"2", "2", 2}, "one is": {"2", "3", 1}, "the other is": {"3", "2", 1}, "both are": {"3", "3", 0}} {
		halt := can.fails(time.Minute, fleet(), gpu(c.gpu), web(c.web))
		if halt.Holds() != (c.specs > 0) || halt != nil && len(halt.Changes) != c.specs {
			t.Errorf("%s: halted by %+v, want %d specs", name, halt, c.specs)
		}
	}
}

// A halt ends when its pool says other labels or taints, and goes on when it says the same; so does
// one by a pool that the node has left.
func TestHaltEndsWithItsSpec(t *testing.T) {
	pool := func(k string, changes ...func(*v1.NodePool)) *v1.NodePool {
		return adding(limitedPairs("k", k, "m", "1"), changes...)
	}
	more := tainted("v", corev1.TaintEffectNoSchedule)
	for name, c := range map[string]struct {
		follows, edited *v1.NodePool
		holds           bool
	}{
		"nothing changes":       {pool("bad"), pool("bad"), true},
		"an annotation":         {pool("bad"), pool("bad", annotated("x")), true},
		"the label goes back":   {pool("bad"), pool("good"), false},
		"another label":         {pool("bad"), limitedPairs("k", "bad", "m", "2"), false},
		"a taint":               {pool("bad"), pool("bad", more), false},
		"left, and it is back":  {pool("good", elsewhere), pool("good"), true},
		"left, and other label": {pool("good", elsewhere), pool("bad", elsewhere), false},
	} {
		can := canaryOf(t, pool("good"), waitingPool("other", labelPairs("o", "1")))
		can.follow(t, false, c.follows, waitingPool("other", labelPairs("o", "1")))
		halt := &Halt{Time: can.now, Changes: []string{LastChangeOf(can.node).Pools["p"].Spec}, Nodes: 1, Node: "n"}
		if left := RolloutsOf([]*v1.NodePool{c.edited}).Standing(map[string]*Halt{"p": halt})["p"]; left.Holds() != c.holds {
			t.Errorf("%s: the halt is %+v", name, left)
		}
	}
}

// A node that left a pool by a wrong selector goes back at once when that is reverted.
func TestLeavingIsReverted(t *testing.T) {
	fleet := guarded()
	x := func(changes ...func(*v1.NodePool)) *v1.NodePool {
		return waitingPool("x", all(append(changes, prior(2), labelled("1"), tainted("1", corev1.TaintEffectNoSchedule))...))
	}
	y := waitingPool("y", labelPairs("m", "1")) // else nothing on the node would say what it had
	node := followed(t, longAgo, y, x())
	node = inWindow(t, node, opensAt, fleet, y, x(elsewhere))
	o := decide(node, opensAt.Add(5*time.Hour), nil, fleet, y, x())
	if !slices.Equal(reverting(o), []string{"x"}) {
		t.Errorf("it is back in the pool, which is no revert: it waits for %v", o.Wait)
	}
	back := carry(node, decide(node, opensAt.Add(5*time.Hour), []string{"fleet"}, fleet, y, x()))
	outside(t, back, opensAt.Add(6*time.Hour), fleet, y, x(elsewhere))
}

// Of a change that came in two writes, the node goes back as after one, and fails by the first, too.
func TestRestOfAChange(t *testing.T) {
	can := canaryOf(t, limitedPairs("k", "1"))
	can.follow(t, false, limitedPairs("k", "2"))
	first := LastChangeOf(can.node).Pools["p"]
	can.node = can.node.DeepCopy()
	record := mustRecord(t, can.node)
	record.Labels["example.com/k"] = Entry{Pool: "p", Value: "1"} // as if the label had not been written yet
	can.node.Labels["example.com/k"] = "1"
	setRecord(can.node, record)
	can.follow(t, true, limitedPairs("k", "2"))
	if rest := LastChangeOf(can.node).Pools["p"]; rest.Previous != first.Previous || rest.Unready || !rest.At.Equal(first.At) {
		t.Errorf("it has followed %+v, and with the rest %+v", first, rest)
	}
}

// What a record notes of a pool is short, and read as it is written.
func TestFollowedSpecInRecords(t *testing.T) {
	can := canaryOf(t, limitedPairs("k", "1"))
	can.follow(t, false, limitedPairs("k", "2"))
	record := mustRecord(t, can.node)
	if followed := record.Change.Pools["p"]; len(followed.Spec) != 12 || len(followed.Previous) != 12 {
		t.Errorf("it has followed %+v", followed)
	}
	if again, err := ParseRecord(record.String()); err != nil || !again.Change.Equal(record.Change) {
		t.Errorf("read as %+v, %v", again.Change, err)
	}
}
