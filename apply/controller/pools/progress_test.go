package pools

import (
	"fmt"
	"testing"
	"time"
)

func TestProgressIsReportedNowAndThen(t *testing.T) {
	now := time.Unix(1000, 0)
	p := &progress{now: func() time.Time { return now }, waiting: map[string]wait{}}
	for _, tc := range []struct {
		after time.Duration // since the step before
		since uint64
		want  time.Duration
		why   string
	}{
		{0, 1, StatusPeriod, "the change has just begun"},
		{StatusPeriod / 4, 1, StatusPeriod * 3 / 4, "less than StatusPeriod has passed"},
		{StatusPeriod * 3 / 4, 1, 0, "it takes longer"},
		{0, 1, progressPeriod, "it was just reported"},
		{progressPeriod / 2, 1, progressPeriod / 2, "it was reported not long ago"},
		{progressPeriod, 1, 0, "it was reported long ago"},
		{StatusPeriod, 2, StatusPeriod, "another change has begun"},
	} {
		now = now.Add(tc.after)
		if got := p.wait("p", tc.since); got != tc.want {
			t.Errorf("wait is %s, want %s: %s", got, tc.want, tc.why)
		}
	}
	p.forget("p")
	now = now.Add(StatusPeriod)
	if got := p.wait("p", 2); got != StatusPeriod {
		t.Errorf("a pool that is forgotten waits %s, want %s", got, StatusPeriod)
	}
}

// Many pools that change at once do not all report at once how far they are.
func TestProgressIsReportedInSlots(t *testing.T) {
	now := time.Unix(1000, 0)
	p := &progress{now: func() time.Time { return now }, waiting: map[string]wait{}}
	const pools = 1000
	slots := map[time.Duration]int{}
	for i := range pools {
		slots[p.wait(fmt.Sprint(i), 1)]++
	}
	for wait, count := range slots {
		if wait < StatusPeriod || wait > StatusPeriod+maxDelay || count > 1 && wait < StatusPeriod+maxDelay {
			t.Errorf("%d pools wait %s", count, wait)
		}
	}
	if want := int(maxDelay/progressGap) + 1; len(slots) != want {
		t.Errorf("there are %d slots, want %d", len(slots), want)
	}
	now = now.Add(time.Minute)
	if wait := p.wait("later", 1); wait != StatusPeriod {
		t.Errorf("a pool that changes by itself waits %s, want %s", wait, StatusPeriod)
	}
}
