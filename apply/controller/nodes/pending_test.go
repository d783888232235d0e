package nodes

import (
	"testing"
	"time"

	"github.com/nodepools/nodepools/apply/metrics"
)

// clock is a time that the test sets.
type clock struct{ at time.Time }

func (c *clock) pass(d time.Duration) { c.at = c.at.Add(d) }

func newPendingTest() (*Reconciler, *clock) {
	c := &clock{time.Unix(1_800_000_000, 0)}
	p := newPending()
	p.now = func() time.Time { return c.at }
	return &Reconciler{pending: p, repairs: newRepairs(plainBackoff()), refusals: newRefusals(), absences: newAbsences()}, c
}

// A node is pending from the first thing that happens to it, until a pass that began
// afterwards has ended well.
func TestPending(t *testing.T) {
	r, clock := newPendingTest()
	began := clock.at
	pending := func(want int, since time.Time, reason string) {
		t.Helper()
		if nodes, got := r.Pending(); nodes != want || !got.Equal(since) {
			t.Errorf("%d nodes are pending since %v, want %d since %v: %s", nodes, got, want, since, reason)
		}
	}
	pending(0, time.Time{}, "nothing has happened")
	r.pending.add("a", metrics.PoolChanged)
	clock.pass(time.Minute)
	r.pending.add("a", metrics.NodeChanged)
	r.pending.add("b", metrics.NodeJoined)
	pending(2, began, "a waits longest")

	r.pending.begin("a")
	clock.pass(time.Minute)
	pending(2, began, "the pass may fail")
	was, ok := r.pending.end("a")
	if !ok || was.cause != metrics.PoolChanged || !was.at.Equal(began) {
		t.Errorf("the pass was for %v, want for what happened first", was)
	}
	pending(1, began.Add(time.Minute), "a is up to date")

	r.pending.begin("b")
	clock.pass(time.Minute)
	r.pending.add("b", metrics.NodeChanged)
	if was, _ := r.pending.end("b"); was.cause != metrics.NodeJoined {
		t.Errorf("the pass was for %v, want for the node's coming", was)
	}
	pending(1, clock.at, "b has changed while a pass was under way, which may not have seen it")
	r.pending.begin("b")
	r.pending.end("b")
	pending(0, time.Time{}, "all are up to date")
}

// A pass that failed, or began before, makes nothing up to date.
func TestPendingOutlivesFailure(t *testing.T) {
	r, _ := newPendingTest()
	r.pending.add("a", metrics.NodeJoined)
	r.pending.begin("a") // it fails
	r.pending.add("a", metrics.NodeChanged)
	r.pending.begin("a") // and is repeated
	if was, ok := r.pending.end("a"); !ok || was.cause != metrics.NodeJoined {
		t.Errorf("the repeated pass was for %v, want for the node's coming", was)
	}
	if nodes, _ := r.Pending(); nodes != 0 {
		t.Error("the repeated pass has seen all, and the node is pending")
	}

	r.pending.begin("b")
	r.pending.add("b", metrics.NodeJoined)
	if _, ok := r.pending.end("b"); ok {
		t.Error("a pass that had begun before ends what has happened since")
	}
	r.pending.forget("b")
	if kept := r.Kept(); kept != 0 {
		t.Errorf("%d nodes are kept, and none is there", kept)
	}
}
