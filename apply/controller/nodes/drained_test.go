package nodes

import (
	"testing"
	"time"

	"github.com/nodepools/nodepools/apply/evict"
	"github.com/nodepools/nodepools/apply/plan"
)

// Who ends pods for NoExecute taints goes by a cache, and by names: a pod that was evicted a
// moment ago may be there for it still, and another one of that name be what it ends.
func TestTaintsWaitUntilTheLastPodIsGoneForOthers(t *testing.T) {
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	drain := &plan.Drain{Since: began}
	settles := func(d *drained, node string, has bool, now time.Time) time.Time {
		return drain.Settles(d.hadPods(node, has, now))
	}
	d := newDrained()
	if got := settles(d, "a", true, began.Add(300*time.Millisecond)); got.Before(began.Add(5300 * time.Millisecond)) {
		t.Errorf("a node with pods settles at %v", got)
	}
	if got, want := settles(d, "b", false, at(1)), at(5); !got.Equal(want) {
		t.Errorf("a node that had no pods settles at %v, want %v: as the taint that keeps pods off is there for everybody", got, want)
	}
	settles(d, "a", true, at(60))
	for _, now := range []int{65, 67} {
		// The pod was there at 60, and may have gone a moment before 65.
		if got, want := settles(d, "a", false, at(now)), at(70); !got.Equal(want) {
			t.Errorf("a node whose last pod was not there any more after 65 s settles at %v, want %v", got, want)
		}
	}
	if got, want := settles(newDrained(), "a", false, at(61)), at(66); !got.Equal(want) {
		t.Errorf("by a new leader, which knows of no eviction, it settles at %v, want %v", got, want)
	}
	if got, want := settles(d, "b", false, at(-3600)), at(5); !got.Equal(want) {
		t.Errorf("an hour back by the clock, it settles at %v, want %v", got, want)
	}
	d.forget("a")
	if got, want := settles(d, "a", false, at(120)), at(5); !got.Equal(want) {
		t.Errorf("after its drain it settles at %v, want %v", got, want)
	}
}

// Pods of a node are evicted every few seconds, however often the node changes.
func TestEvictionsHaveTheirOwnPace(t *testing.T) {
	now, drain := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), &plan.Drain{}
	d := newDrained()
	if rest, _ := d.waits("a", drain, now); rest != 0 {
		t.Errorf("a node that was not drained waits for %v", rest)
	}
	d.evictsAgain("a", drain, now.Add(evict.RetryPeriod), "pod p")
	if rest, said := d.waits("a", drain, now.Add(time.Second)); rest != evict.RetryPeriod-time.Second || said != "pod p" {
		t.Errorf("a second later it waits for %v, and %q is said of it", rest, said)
	}
	if rest, _ := d.waits("a", drain, now.Add(evict.RetryPeriod)); rest != 0 {
		t.Errorf("when it is due it waits for %v", rest)
	}
	if rest, _ := d.waits("a", drain, now.Add(-time.Hour)); rest != 0 {
		t.Errorf("an hour back by the clock it waits for %v", rest)
	}
	d.hadPods("a", true, now)
	if rest, _ := d.waits("a", drain, now); rest != evict.RetryPeriod {
		t.Errorf("once its pods are noted it waits for %v", rest)
	}
	forces := &plan.Drain{Forces: true}
	if rest, _ := d.waits("a", forces, now); rest != 0 {
		t.Errorf("the last time before its taints come it waits for %v", rest)
	}
	d.evictsAgain("a", forces, now.Add(evict.RetryPeriod), "pod p")
	if rest, _ := d.waits("a", forces, now); rest != evict.RetryPeriod {
		t.Errorf("where they cannot be written it waits for %v", rest)
	}
	d.forget("a")
	if rest, _ := d.waits("a", drain, now); rest != 0 {
		t.Errorf("once it is not drained it waits for %v", rest)
	}
}
