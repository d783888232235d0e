package pools

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Pools of which counts change are reported once nodes are idle, each once; while nodes
// never rest, each after maxCoalesce, and no more often.
func TestCoalescer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		reported := map[string]int{}
		g := newCoalescer(func(pool string) {
			mu.Lock()
			defer mu.Unlock()
			reported[pool]++
		})
		expect := func(reason string, want ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if got := slices.Sorted(maps.Keys(reported)); !slices.Equal(got, want) {
				t.Errorf("%s: reported %v, want %v", reason, got, want)
			}
			for pool, times := range reported {
				if times > 1 {
					t.Errorf("%s: %s was reported %d times", reason, pool, times)
				}
			}
			clear(reported)
		}
		g.add("a")
		time.Sleep(StatusPeriod - time.Millisecond)
		expect("a moment ago")
		g.add("b")
		g.add("a")
		time.Sleep(StatusPeriod - time.Millisecond)
		expect("a moment ago again")
		time.Sleep(time.Millisecond)
		expect("idle", "a", "b")
		time.Sleep(2 * maxCoalesce)
		expect("nothing more has changed")

		g.add("first")
		const pause = StatusPeriod / 2
		for i := range int(maxCoalesce/pause) - 1 {
			time.Sleep(pause)
			g.add(fmt.Sprintf("p%02d", i))
		}
		expect("no rest yet")
		time.Sleep(pause)
		g.add("last")
		expect("the first has waited long enough", "first")
		time.Sleep(pause)
		g.add("first")
		expect("and the one after it", "p00")
		time.Sleep(StatusPeriod)
		rest := []string{"first", "last"}
		for i := range int(maxCoalesce/pause) - 2 {
			rest = append(rest, fmt.Sprintf("p%02d", i+1))
		}
		expect("idle again", rest...)
	})
}
