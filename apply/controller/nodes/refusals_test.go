package nodes

import (
	"fmt"
	"testing"
	"time"

	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/plan"
)

// What a policy refuses of some pools on each of thousands of nodes is tried again on so many
// nodes in a second, however many there are, and on each of them in the end. Of a small fleet
// each is tried after the pause.
func TestTriesOfAFleetAreSpread(t *testing.T) {
	const pools, perSecond = 5, int(time.Second / triesGap)
	start := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for nodes, wantLast := range map[int]time.Duration{
		10:   firstRefusal + time.Second,
		2000: firstRefusal + 2000*triesGap + time.Second,
	} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			r, seen := newRefusals(), &fleet.Snapshot{}
			refused := map[string]plan.Refusal{}
			for i := range pools {
				refused[fmt.Sprint("p", i)] = plan.Refusal{Says: "no"}
			}
			name := func(i int) string { return fmt.Sprint("n", i) }
			for i := range nodes {
				r.note(name(i), "uid", refused, nil, seen, start)
			}
			first := map[string]time.Duration{}
			for after := time.Second; after <= 5*time.Minute; after += time.Second {
				now, tried := start.Add(after), 0
				for i := range nodes {
					due := r.of(name(i), "uid", seen, now)
					if due.waited != (r.next(name(i), seen, now) <= time.Millisecond) {
						t.Fatalf("node %d is tried: %t, and is next looked at after %s", i, due.waited, r.next(name(i), seen, now))
					}
					if !due.waited {
						continue
					}
					tried++
					r.tried(name(i), now)
					if _, again := first[name(i)]; !again {
						first[name(i)] = after
					}
				}
				if tried > 2*(perSecond+1) { // of those for the first time, and of the others
					t.Fatalf("%s after the start, pools are tried again on %d nodes in a second", after, tried)
				}
			}
			for i := range nodes {
				if at, tried := first[name(i)]; !tried || at > wantLast {
					t.Fatalf("node %d is tried for the first time after %s (%t), want within %s", i, at, tried, wantLast)
				}
			}
		})
	}
}

// A node on which something is refused for the first time does not wait behind thousands on
// which that has been so for long.
func TestFirstTryDoesNotWaitForOldOnes(t *testing.T) {
	const nodes = 5000
	r, seen, start := newRefusals(), &fleet.Snapshot{}, time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	refused := map[string]plan.Refusal{"p": {Says: "no"}}
	for i := range nodes {
		r.note(fmt.Sprint("n", i), "uid", refused, nil, seen, start)
	}
	now := start.Add(nodes * triesGap)
	for i := range nodes {
		r.tried(fmt.Sprint("n", i), now)
	}
	r.note("new", "uid", refused, nil, seen, now)
	if after := r.next("new", seen, now); after != firstRefusal {
		t.Errorf("a new node is tried again after %s, want %s", after, firstRefusal)
	}
}

// A pool changes that is refused on thousands of nodes, and is refused there again: they are
// not tried all at once when its first pause has passed.
func TestTriesOfAChangedPoolAreSpread(t *testing.T) {
	const nodes, perSecond = 1000, int(time.Second / triesGap)
	r, seen, start := newRefusals(), &fleet.Snapshot{}, time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	refused := map[string]plan.Refusal{"p": {Says: "no"}}
	note := func(at time.Time) {
		for i := range nodes {
			r.note(fmt.Sprint("n", i), "uid", refused, nil, seen, at)
		}
	}
	note(start)
	again := start.Add(time.Hour) // all of their times have passed
	note(again)
	for after := firstRefusal; after < firstRefusal+time.Minute; after += time.Second {
		due := 0
		for i := range nodes {
			if name := fmt.Sprint("n", i); r.of(name, "uid", seen, again.Add(after)).waited {
				due++
				r.tried(name, again.Add(after))
			}
		}
		if due > 2*perSecond {
			t.Fatalf("%s after the change, %d nodes are tried in a second", after, due)
		}
	}
}

// The times of nodes that no longer wait are given to others: what is refused later on a few
// nodes is tried again as soon as if those had never been.
func TestTimesOfLiftedNodesAreFree(t *testing.T) {
	const nodes = 5000
	r, seen, start := newRefusals(), &fleet.Snapshot{}, time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	refused := map[string]plan.Refusal{"p": {Says: "no"}}
	for i := range nodes {
		r.note(fmt.Sprint("n", i), "uid", refused, nil, seen, start)
	}
	for i := range nodes {
		r.lift(fmt.Sprint("n", i), []string{"p"})
	}
	for i := range 10 {
		name := fmt.Sprint("n", i)
		r.note(name, "uid", refused, nil, seen, start)
		if after := r.next(name, seen, start); after > firstRefusal+10*triesGap {
			t.Errorf("node %d is tried again after %s", i, after)
		}
	}
}
