package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

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
	o := NodeOutcomeOf(c.node, expand(pools...), NodeFacts{Rollouts: RolloutsOf(pools), Turn: Turn{In: names}, Unready: unready, Now: c.now})
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
	waits.Asks, waits.Waits = []string{pools[0].Name}, names
	return rollouts.Turns(asking([]Follower{failed, waits}), nil, now, true).Halts[pools[0].Name]
}

func limitedPairs(pairs ...string) *v1.NodePool {
	return waitingPool("p", all(labelPairs(pairs...), limited("2", time.Minute)))
}

func canaryOf(t *testing.T, before ...*v1.NodePool) *canary {
	return &canary{followed(t, longAgo, before...), closedAt}
}

// A node that fails by what it has followed does so though another key of the pool is edited
// before that is seen; and not any more when the pool says nothing of it.
func TestFailureIsSeenAfterAnotherKeyIsEdited(t *testing.T) {
	bad := limitedPairs("k", "bad", "m", "1")
	taint := tainted("v", corev1.TaintEffectNoSchedule)
	for name, c := range map[string]struct {
		follows, edited *v1.NodePool
		fails           bool
	}{
		"another key changes":              {bad, limitedPairs("k", "bad", "m", "2"), true},
		"another key comes":                {bad, limitedPairs("k", "bad", "m", "1", "n", "1"), true},
		"another key goes":                 {bad, limitedPairs("k", "bad"), true},
		"this key changes":                 {bad, limitedPairs("k", "other", "m", "1"), false},
		"this key goes":                    {bad, limitedPairs("m", "1"), false},
		"this key goes back":               {bad, limitedPairs("k", "good", "m", "1"), false},
		"one of two keys changes":          {limitedPairs("k", "bad", "m", "bad"), limitedPairs("k", "bad", "m", "2"), true},
		"both change":                      {limitedPairs("k", "bad", "m", "bad"), limitedPairs("k", "2", "m", "2"), false},
		"a key went, and another changes":  {limitedPairs("k", "good"), limitedPairs("k", "3"), true},
		"a key went, and comes again":      {limitedPairs("k", "good"), limitedPairs("k", "good", "m", "3"), false},
		"a taint came, and a label after":  {adding(limitedPairs("k", "good", "m", "1"), taint), adding(limitedPairs("k", "2", "m", "1"), taint), true},
		"a taint came, and another effect": {adding(limitedPairs("k", "good", "m", "1"), taint), adding(limitedPairs("k", "2", "m", "1"), tainted("v", corev1.TaintEffectNoExecute)), false},
	} {
		can := canaryOf(t, limitedPairs("k", "good", "m", "1"))
		can.follow(t, false, c.follows)
		if halt := can.fails(time.Minute, c.edited); halt.Holds() != c.fails {
			t.Errorf("%s: halted by %v", name, halt)
		}
	}
}

func adding(pool *v1.NodePool, changes ...func(*v1.NodePool)) *v1.NodePool {
	all(changes...)(pool)
	return pool
}

// A node that fails goes on to fail when it follows another key of its pool meanwhile, and
// what it has followed shortly before stands beside that, as long as the pool says it.
func TestFailureOutlastsAnotherKey(t *testing.T) {
	can := canaryOf(t, limitedPairs("k", "good", "m", "1"))
	can.follow(t, false, limitedPairs("k", "bad", "m", "1"))
	can.follow(t, true, limitedPairs("k", "bad", "m", "2"))
	pool := limitedPairs("k", "bad", "m", "2")
	halt := can.fails(time.Minute, pool)
	if !halt.Holds() || len(halt.Changes) != 2 {
		t.Fatalf("halted by %+v, want both keys", halt)
	}
	halts := map[string]*Halt{"p": halt}
	for m, ends := range map[string]bool{"bad": false, "other": true} {
		if left := RolloutsOf([]*v1.NodePool{limitedPairs("k", m, "m", "3")}).Standing(halts)["p"]; (left == nil) != ends {
			t.Errorf("with k=%s the halt is %v", m, left)
		}
	}
	// It has failed since it followed k, and a halt that was resumed since is not declared anew.
	resumed := *halt
	resumed.Resumed, resumed.Time = true, closedAt.Add(90*time.Second)
	failed := FollowerOf(can.node, decide(can.node, can.now, nil, pool), false)
	rollouts := RolloutsOf([]*v1.NodePool{pool})
	waits := follower(rollouts, "o", "", "p")
	waits.Asks, waits.Waits = []string{"p"}, []string{"p"}
	if again := rollouts.Turns(asking([]Follower{failed, waits}), map[string]*Halt{"p": &resumed}, can.now, true).Halts["p"]; again.Holds() {
		t.Errorf("it was resumed, and the node that had failed by then halts it again: %+v", again)
	}

	mended := canaryOf(t, limitedPairs("k", "good", "m", "1"))
	mended.follow(t, false, limitedPairs("k", "bad", "m", "1"))
	mended.follow(t, true, limitedPairs("k", "mends", "m", "1"))
	if halt := mended.fails(time.Minute, limitedPairs("k", "mends", "m", "1")); halt.Holds() {
		t.Errorf("k is mended, and the node was not ready when it followed that: %v", halt)
	}
	later := canaryOf(t, limitedPairs("k", "good", "m", "1"))
	later.follow(t, false, limitedPairs("k", "1", "m", "1"))
	later.now = later.now.Add(24 * time.Hour)
	later.follow(t, true, limitedPairs("k", "1", "m", "2"))
	if halt := later.fails(time.Minute, limitedPairs("k", "1", "m", "2")); halt.Holds() {
		t.Errorf("it was ready with k for a day, and down when it followed m: %v", halt)
	}
}

// A node that fails by one of several pools that it has followed with one write does so though
// the others are edited.
func TestFailureOfOneOfSeveralPools(t *testing.T) {
	fleet := func() *v1.NodePool { return waitingPool("fleet", all(prior(100), limited("2", time.Minute))) }
	gpu := func(v string) *v1.NodePool { return waitingPool("gpu", all(prior(2), labelPairs("k", v))) }
	web := func(v string) *v1.NodePool { return waitingPool("web", all(prior(1), labelPairs("m", v))) }
	can := canaryOf(t, fleet(), gpu("1"), web("1"))
	can.follow(t, false, fleet(), gpu("2"), web("2"))
	for name, c := range map[string]struct {
		gpu, web string
		keys     int
	}{"neither is edited": {"2", "2", 2}, "one is": {"2", "3", 1}, "the other is": {"3", "2", 1}, "both are": {"3", "3", 0}} {
		halt := can.fails(time.Minute, fleet(), gpu(c.gpu), web(c.web))
		if halt.Holds() != (c.keys > 0) || halt != nil && len(halt.Changes) != c.keys {
			t.Errorf("%s: halted by %+v, want %d keys", name, halt, c.keys)
		}
	}
}

// What a stronger pool gives a node of a key is no change of a weaker one that wants it, too.
func TestKeysOfStrongerPoolsAreNotFollowed(t *testing.T) {
	strong := func(v string) *v1.NodePool { return waitingPool("a", all(prior(5), labelPairs("k", v))) }
	weak := func(m string) *v1.NodePool {
		return waitingPool("p", all(labelPairs("k", "mine", "m", m), limited("2", time.Minute)))
	}
	can := canaryOf(t, strong("1"), waitingPool("p", labelPairs("k", "mine", "m", "1")))
	can.follow(t, false, weak("2"), strong("1"))
	if halt := can.fails(time.Minute, weak("3"), strong("1")); halt.Holds() {
		t.Errorf("p says nothing any more of what the node has followed: halted by %+v", halt)
	}
}

// The last wave that has begun is that of what the node has followed: nodes that followed
// another key long ago, in all waves, are no reason to take a failure for another one.
func TestLastWaveIsOfWhatHasFailed(t *testing.T) {
	soon := func(m string) *v1.NodePool {
		return waitingPool("p", all(labelPairs("k", "1", "m", m), inWaves(waveOf("canary", "1", func(w *v1.Wave) { w.Soak = &metav1.Duration{Duration: time.Minute} }))))
	}
	can := canaryOf(t, waitingPool("p", labelPairs("k", "1", "m", "1")))
	can.follow(t, false, soon("2"))
	old := canaryOf(t, waitingPool("p", labelPairs("k", "0", "m", "1")))
	old.node.Name = "z"
	old.now = closedAt.Add(-90 * 24 * time.Hour)
	old.follow(t, false, soon("1"))
	pool := soon("2")
	rollouts, now := RolloutsOf([]*v1.NodePool{pool}), can.now.Add(24*time.Hour) // an approval takes its time
	failed := FollowerOf(can.node, decide(can.node, now, nil, pool), false)
	waits := FollowerOf(old.node, decide(old.node, now, nil, pool), true)
	failed.Name, waits.Name = "a", "z"
	if halt := rollouts.Turns(asking([]Follower{failed, waits}), nil, now, true).Halts["p"]; !halt.Holds() {
		t.Error("the canary has failed a day after it followed m, and no other node has followed m: not halted")
	}
}

// A halt after a revert that has failed is of its keys: editing another one does not end it.
func TestHaltOfARevertIsOfKeys(t *testing.T) {
	can := canaryOf(t, limitedPairs("k", "good", "m", "1"))
	can.follow(t, false, limitedPairs("k", "bad", "m", "1", "n", "1"))
	revert := limitedPairs("k", "good", "m", "1")
	if o := decide(can.node, can.now, nil, revert); !slices.Equal(o.Reverts, []string{"p"}) {
		t.Fatalf("no revert: %v", o.Wait)
	}
	can.follow(t, false, revert)
	if len(LastChangeOf(can.node).Pools["p"].Labels) > 0 {
		t.Error("a revert can be reverted")
	}
	halt := can.fails(time.Minute, revert)
	if !halt.Holds() {
		t.Fatal("it is not halted")
	}
	for name, c := range map[string]struct {
		edited *v1.NodePool
		halts  bool
	}{
		"another key is edited":         {limitedPairs("k", "good", "m", "2"), true},
		"one more key":                  {limitedPairs("k", "good", "m", "1", "o", "1"), true},
		"the key is edited":             {limitedPairs("k", "2", "m", "1"), true}, // n is gone still
		"and what went comes once more": {limitedPairs("k", "2", "m", "1", "n", "2"), false},
	} {
		rollouts := RolloutsOf([]*v1.NodePool{c.edited})
		if left := rollouts.Standing(map[string]*Halt{"p": halt})["p"]; left.Holds() != c.halts {
			t.Errorf("%s: the halt is %+v", name, left)
		}
		if later := can.fails(time.Minute, c.edited); later.Holds() != c.halts {
			t.Errorf("%s before the failure is seen: halted by %+v", name, later)
		}
	}
}

// What a node has followed is in its record as long as there is room, bounded, and read as it
// is written; a record without it means what it did.
func TestFollowedKeysInRecords(t *testing.T) {
	pairs := func(value string) []string {
		var pairs []string
		for i := range 64 {
			pairs = append(pairs, "key-"+string(rune('a'+i%26))+strings.Repeat("x", i/26), value)
		}
		return pairs
	}
	can := canaryOf(t, limitedPairs(pairs("1")...))
	can.follow(t, false, limitedPairs(pairs("2")...))
	record := mustRecord(t, can.node)
	if keys := record.Change.Pools["p"].Keys; len(keys) != 64 || len(strings.Join(keys, ".")) > 1000 {
		t.Errorf("%d keys, of %d bytes", len(keys), len(strings.Join(keys, ".")))
	}
	text := record.String()
	if again, err := ParseRecord(text); err != nil || !again.Change.Equal(record.Change) {
		t.Errorf("read as %+v, %v", again.Change, err)
	}

	for _, keys := range []string{"x", "0c44d9e1f2a", "0C44D9E1F2A8", "0c44d9e1f2a8.0c44d9e1f2a8", "b1d0775c6e3f.0c44d9e1f2a8", ".", "0c44d9e1f2a8--"} {
		text := `{"version":1,"pools":{"p":{"labels":{"k":"1"}}},"change":{"at":"2026-11-25T02:00:07Z","pools":{"p":{"keys":"` + keys + `"}}}}`
		if record, err := ParseRecord(text); err == nil {
			t.Errorf("%q is read as %+v", keys, record.Change)
		}
	}
}

// What changes without a turn is nothing that a node has followed any more.
func TestKeysThatChangeWithoutATurn(t *testing.T) {
	can := canaryOf(t, waitingPool("p", labelPairs("k", "good", "m", "1")))
	can.follow(t, false, limitedPairs("k", "bad", "m", "2"))
	free := waitingPool("p", all(labelPairs("k", "other", "m", "2"), func(p *v1.NodePool) { p.Spec.Rollout = &v1.Rollout{MaxFailures: new(intstr.FromInt32(0))} }))
	can.node = carry(can.node, decide(can.node, can.now, nil, free))
	if keys := LastChangeOf(can.node).Pools["p"].Keys; len(keys) != 1 {
		t.Errorf("k has changed without a turn, and it has followed %v", keys)
	}
}
