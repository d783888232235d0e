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
				if tried > perSecond+1 {
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
