package controller

import (
	"testing"
	"time"
)

func TestProgressIsToldNowAndThen(t *testing.T) {
	now := time.Unix(1000, 0)
	p := &pace{now: func() time.Time { return now }, waiting: map[string]wait{}}
	for _, tc := range []struct {
		after time.Duration // since the step before
		since uint64
		want  time.Duration
		why   string
	}{
		{0, 1, statusPeriod, "the change has just begun"},
		{statusPeriod / 4, 1, statusPeriod * 3 / 4, "less than statusPeriod has passed"},
		{statusPeriod * 3 / 4, 1, 0, "it takes longer"},
		{0, 1, progressPeriod, "it was just told"},
		{progressPeriod / 2, 1, progressPeriod / 2, "it was told not long ago"},
		{progressPeriod, 1, 0, "it was told long ago"},
		{0, 2, statusPeriod, "another change has begun"},
	} {
		now = now.Add(tc.after)
		if got := p.wait("p", tc.since); got != tc.want {
			t.Errorf("wait is %s, want %s: %s", got, tc.want, tc.why)
		}
	}
	p.forget("p")
	if got := p.wait("p", 2); got != statusPeriod {
		t.Errorf("a pool that is forgotten waits %s, want %s", got, statusPeriod)
	}
}
