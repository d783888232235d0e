package fleet

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/nodecache"
	"github.com/nodepools/nodepools/apply/plan"
)

var turnsNow = time.Date(2026, time.November, 25, 12, 0, 0, 0, time.UTC)

func turnsPool(name string, rollout *v1.Rollout) *v1.NodePool {
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid", Generation: 1, CreationTimestamp: metav1.NewTime(turnsNow.AddDate(0, -1, 0))}}
	pool.Spec.NodeNames, pool.Spec.Rollout = []string{"*"}, rollout
	return pool
}

func turnsFleet(t *testing.T, list *poolList) *Fleet {
	t.Helper()
	f := New(list, nodecache.Live(list))
	f.turns.clock.Now = func() time.Time { return turnsNow }
	f.startup.complete.Store(true)
	return f
}

func noChanges(context.Context) (Earlier, error) { return Earlier{}, nil }

// A node that left a pool in its turn counts there for minReady, and not longer.
func TestNodeThatLeftCountsForAWhile(t *testing.T) {
	one := intstr.FromInt32(1)
	list := &poolList{pools: map[string]*v1.NodePool{"p": turnsPool("p", &v1.Rollout{MaxUnavailable: &one, MinReady: &metav1.Duration{Duration: time.Minute}})}}
	f := turnsFleet(t, list)
	f.Report("a", Observation{Epoch: 1, FollowerState: plan.FollowerState{Ready: true, Members: []string{"p"}, Recorded: []string{"p"}, Asking: &plan.Asking{Asks: []plan.Ask{{Pool: "p"}}}}}, nil)
	f.turns.give(plan.Turns{Nodes: map[string]plan.Turn{"a": {{Pool: "p"}}}}, 1)
	f.Report("a", Observation{Epoch: 1, FollowerState: plan.FollowerState{Ready: true, Members: []string{"q"}, Recorded: []string{"q"}, Change: plan.LastChange{At: turnsNow.AddDate(0, 0, -30)}}}, nil)
	// A month later it fails, in q; in p, b waits for its turn.
	f.Report("a", Observation{Epoch: 1, FollowerState: plan.FollowerState{Ready: false, Members: []string{"q"}, Recorded: []string{"q"}, Change: plan.LastChange{At: turnsNow.AddDate(0, 0, -30)}}}, nil)
	f.Report("b", Observation{Epoch: 1, FollowerState: plan.FollowerState{Ready: true, Members: []string{"p"}, Recorded: []string{"p"}, Asking: &plan.Asking{Asks: []plan.Ask{{Pool: "p"}}}}}, nil)
	var turns []string
	if _, err := f.giveTurns(t.Context(), noChanges, func(node string) { turns = append(turns, node) }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(turns, []string{"b"}) {
		t.Errorf("b never begins: a left p a month ago, and is down: %v", f.turns.known(f.counts.followers(), &Snapshot{Epoch: 1}, turnsNow))
	}
}

// Nor does it make a percentage larger than it is.
func TestNodesThatLeftRaiseNoPercentage(t *testing.T) {
	half := intstr.FromString("50%")
	list := &poolList{pools: map[string]*v1.NodePool{"p": turnsPool("p", &v1.Rollout{MaxUnavailable: &half, MinReady: &metav1.Duration{Duration: time.Minute}})}}
	f := turnsFleet(t, list)
	for i := range 4 {
		name := fmt.Sprintf("left-%d", i)
		f.Report(name, Observation{Epoch: 1, FollowerState: plan.FollowerState{Ready: true, Members: []string{"p"}, Recorded: []string{"p"}}}, nil)
		f.Report(name, Observation{Epoch: 1, FollowerState: plan.FollowerState{Ready: true, Members: []string{"q"}, Recorded: []string{"q"}, Change: plan.LastChange{At: turnsNow.AddDate(0, 0, -30)}}}, nil)
	}
	for _, name := range []string{"a", "b"} {
		f.Report(name, Observation{Epoch: 1, FollowerState: plan.FollowerState{Ready: true, Members: []string{"p"}, Recorded: []string{"p"}, Asking: &plan.Asking{Asks: []plan.Ask{{Pool: "p"}}}}}, nil)
	}
	var turns []string
	if _, err := f.giveTurns(t.Context(), noChanges, func(node string) { turns = append(turns, node) }); err != nil {
		t.Fatal(err)
	}
	if len(turns) != 1 {
		t.Errorf("50%% of the 2 nodes of p is 1, and it is the turn of %v", turns)
	}
}

// Where the last rollout that limits is removed in the middle, the wave goes, too.
func TestWaveGoesWithTheRollout(t *testing.T) {
	one := intstr.FromInt32(1)
	list := &poolList{pools: map[string]*v1.NodePool{"p": turnsPool("p", &v1.Rollout{Waves: []v1.Wave{{Name: "canary", Nodes: &one}}})}}
	f := turnsFleet(t, list)
	wait := plan.NodeWait{{Pool: "p", Restriction: &plan.Restriction{For: []string{"p"}, Turn: true}}}
	f.Report("a", Observation{Epoch: 1, FollowerState: plan.FollowerState{Ready: true, Members: []string{"p"}, Recorded: []string{"p"}, Wait: wait, Asking: &plan.Asking{Asks: []plan.Ask{{Pool: "p"}}, Selected: map[string]uint64{"p": 1}}}}, nil)
	give := func() {
		t.Helper()
		if _, err := f.giveTurns(t.Context(), noChanges, func(string) {}); err != nil {
			t.Fatal(err)
		}
	}
	give()
	if f.Wave("p") == nil {
		t.Fatal("there is no wave")
	}
	list.pools = map[string]*v1.NodePool{"p": turnsPool("p", nil)}
	list.pools["p"].Generation++
	f.changed("p")
	f.Report("a", Observation{Epoch: 2, FollowerState: plan.FollowerState{Ready: true, Members: []string{"p"}, Recorded: []string{"p"}}}, nil)
	give()
	if state := f.Wave("p"); state != nil {
		t.Errorf("p has no rollout any more, and status.rollout.wave stays: %s", state)
	}
}

// A pool that waits for the waves of another one learns that these go on by time alone.
func TestPoolThatWaitsIsToldOfTheWave(t *testing.T) {
	one := intstr.FromInt32(1)
	fleetPool := turnsPool("fleet", &v1.Rollout{Waves: []v1.Wave{{Name: "canary", Nodes: &one, Soak: &metav1.Duration{Duration: time.Minute}, Approval: v1.ApprovalRequired}}})
	fleetPool.Spec.Priority = 100
	list := &poolList{pools: map[string]*v1.NodePool{"fleet": fleetPool, "gpu": turnsPool("gpu", nil)}}
	f := turnsFleet(t, list)
	both := []string{"fleet", "gpu"}
	wait := plan.NodeWait{{Pool: "gpu", Restriction: &plan.Restriction{For: []string{"fleet"}, Turn: true}}}
	f.Report("a", Observation{Epoch: 1, FollowerState: plan.FollowerState{Ready: true, Members: both, Recorded: []string{"gpu"}, Change: plan.LastChange{At: turnsNow}, Asking: &plan.Asking{Selected: map[string]uint64{"fleet": 1}}}}, nil)
	f.Report("b", Observation{Epoch: 1, FollowerState: plan.FollowerState{Ready: true, Members: both, Recorded: []string{"gpu"}, Wait: wait, Asking: &plan.Asking{Asks: []plan.Ask{{Pool: "gpu"}}, Selected: map[string]uint64{"fleet": 1}}}}, nil)
	give := func() {
		t.Helper()
		if _, err := f.giveTurns(t.Context(), noChanges, func(string) {}); err != nil {
			t.Fatal(err)
		}
	}
	give()
	before := f.Wave("fleet").String()
	stream := f.changes.subscribe(News | Numbers | Definition | Settled)
	later := turnsNow.Add(2 * time.Minute)
	f.turns.clock.Now = func() time.Time { return later }
	give()
	after := f.Wave("fleet").String()
	if told := stream.take(); told["gpu"] == 0 {
		t.Errorf("gpu, whose 1 node waits, still says %q where it is %q by now; told are %v", before, after, told)
	}
}

// What changes of waves are to their pool, and to those that wait for it.
func TestChangesOfWaves(t *testing.T) {
	follows := plan.WaveState{Wave: "a", Waves: 3, Nodes: 10, Behind: 5}
	with := func(change func(*plan.WaveState)) *plan.WaveState {
		state := follows
		change(&state)
		return &state
	}
	for name, c := range map[string]struct {
		reason   string
		was, is  *plan.WaveState
		expected turnsChange
	}{
		"begins":      {"it is not known of before", nil, &follows, turnsChange{News, News}},
		"ends":        {"all have followed", &follows, nil, turnsChange{News, News}},
		"the same":    {"nothing is new", &follows, with(func(*plan.WaveState) {}), turnsChange{}},
		"numbers":     {"one more has followed", &follows, with(func(s *plan.WaveState) { s.Behind = 4 }), turnsChange{Numbers, Elsewhere}},
		"next wave":   {"it follows at once", &follows, with(func(s *plan.WaveState) { s.Wave, s.Index, s.Behind = "b", 1, 10 }), turnsChange{News, Elsewhere}},
		"unavailable": {"those that have begun are", &follows, with(func(s *plan.WaveState) { s.Unavailable = plan.Unavailable{Settling: 1} }), turnsChange{News, Elsewhere}},
		"soaks":       {"it is waited for from now on", &follows, with(func(s *plan.WaveState) { s.Behind, s.Soaks = 0, turnsNow }), turnsChange{News, News}},
		"goes on":     {"it is waited for no more", with(func(s *plan.WaveState) { s.Behind, s.Approval = 0, "x/a" }), &follows, turnsChange{News, News}},
	} {
		t.Run(name, func(t *testing.T) {
			turns := newTurns()
			for _, state := range []*plan.WaveState{c.was, c.is} {
				waves := map[string]*plan.WaveState{}
				if state != nil {
					waves["p"] = state
				}
				if got := turns.setWaves(waves)["p"]; state == c.is && got != c.expected {
					t.Errorf("it is %v, expected %v: %s", got, c.expected, c.reason)
				}
			}
		})
	}
}

// Where the record of a node goes backwards, as it is restored, or the node is deleted and
// made anew between two passes, passes do not go on to read past the cache.
func TestPassesReadPastTheCacheOnce(t *testing.T) {
	f := turnsFleet(t, &poolList{})
	f.Report("a", Observation{Epoch: 1, UID: "1", FollowerState: plan.FollowerState{Ready: true, Members: []string{"p"}, Recorded: []string{"p"}, Change: plan.LastChange{At: turnsNow}}}, nil)
	for range 3 { // another node of the name; it has joined, and its record has no time
		f.Report("a", Observation{Epoch: 1, UID: "2", FollowerState: plan.FollowerState{Ready: true, Members: []string{"p"}, Recorded: []string{"p"}}}, nil)
	}
	if f.Outdated("a", plan.LastChange{}) {
		t.Error("the cache shows the newest state, and is not believed")
	}
}

// A turn that was given to a node is not that of another one of its name.
func TestTurnIsOfOneNode(t *testing.T) {
	f := turnsFleet(t, &poolList{})
	f.Report("a", Observation{Epoch: 1, UID: "1", FollowerState: plan.FollowerState{Ready: true, Members: []string{"p"}, Recorded: []string{"p"}, Change: plan.LastChange{At: turnsNow}}}, nil)
	f.Report("a", Observation{Epoch: 1, UID: "2", FollowerState: plan.FollowerState{Ready: true, Members: []string{"p"}, Recorded: []string{"p"}}}, nil)
	known := f.turns.known(f.counts.followers(), &Snapshot{Epoch: 1}, turnsNow)
	if !known[0].Change.At.IsZero() {
		t.Errorf("a new node counts as changed at %v, by the one before it", known[0].Change.At)
	}
}

// A time that is ahead, by the clock of an earlier leader, is that at which it is seen.
func TestTimeThatIsAhead(t *testing.T) {
	turns := newTurns()
	ahead := time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)
	if got := turns.past("n", turnsNow.Add(skew), turnsNow); !got.Equal(turnsNow.Add(skew)) {
		t.Errorf("a clock that differs a little makes %v of it", got)
	}
	for i := range 3 {
		if got := turns.past("n", ahead, turnsNow.Add(time.Duration(i)*time.Hour)); !got.Equal(turnsNow) {
			t.Errorf("after %d hours it began at %v, want %v", i, got, turnsNow)
		}
	}
}

// A node whose availability changes each second has no status written each second, be it of the pool or
// of those that wait for it.
func TestWhoUsesUpABudgetIsANumber(t *testing.T) {
	turns := newTurns()
	one := plan.Unavailable{Nodes: 1, First: "a", Why: "has condition GPUHealthy=False"}
	other := plan.Unavailable{Nodes: 1, First: "b", Why: "is cordoned"}
	for i, unavailable := range []map[string]plan.Unavailable{{"p": one}, {}, {"p": one}, {"p": other}, {}} {
		if got := turns.setUnavailable(unavailable); len(got) != 1 || got["p"] != (turnsChange{Numbers, Elsewhere}) {
			t.Errorf("change %d: %+v", i, got)
		}
	}
	if got := turns.setUnavailable(nil); len(got) > 0 {
		t.Errorf("nothing changes: %+v", got)
	}
}
