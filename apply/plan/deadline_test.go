package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/api/window"
)

// A rollout is stuck when its next step takes longer than the deadline while it is open; by
// what does not count, it is not.
func TestProgressDeadline(t *testing.T) {
	deadline := func(p *v1.NodePool) {
		p.CreationTimestamp = metav1.NewTime(closedAt.Add(-time.Hour))
		if p.Spec.Rollout == nil {
			p.Spec.Rollout = &v1.Rollout{}
		}
		p.Spec.Rollout.ProgressDeadline = &metav1.Duration{Duration: 30 * time.Minute}
	}
	wave := func(change func(*v1.Wave)) func(*v1.NodePool) { return inWaves(waveOf("canary", "1", change)) }
	soaks := func(w *v1.Wave) { w.Soak = &metav1.Duration{Duration: 40 * time.Minute} }
	approval := func(w *v1.Wave) { w.Approval = v1.ApprovalRequired }
	for name, c := range map[string]struct {
		pool func(*v1.NodePool)
		// Of a, how long ago it has followed; it is not ready where that is so.
		ago   time.Duration
		down  bool
		stuck time.Duration // since how long
	}{
		"a node is down for too long":         {all(limited("1", 0), deadline), 0, true, time.Hour},
		"it can go on":                        {all(limited("2", 0), deadline), 0, false, time.Hour},
		"it went on a moment ago":             {all(limited("1", 0), deadline), 20 * time.Minute, true, 0},
		"it went on long ago":                 {all(limited("1", 0), deadline), 40 * time.Minute, true, 40 * time.Minute},
		"after minReady":                      {all(limited("1", 15*time.Minute), deadline), 40 * time.Minute, true, 0},
		"without a deadline":                  {limited("1", 0), 0, true, 0},
		"it soaks":                            {all(wave(soaks), deadline), 35 * time.Minute, false, 0},
		"it waits for an approval":            {all(wave(approval), deadline), 50 * time.Minute, false, 0},
		"after an approval, a node is down":   {all(wave(approval), deadline), 50 * time.Minute, true, 50 * time.Minute},
		"it is paused":                        {all(limited("1", 0), deadline, func(p *v1.NodePool) { p.Spec.Rollout.Paused = true }), 0, true, 0},
		"outside a window since the change":   {all(closed, limitedIn("1", 0), deadline), 0, true, 0},
		"in a window for a part of the time":  {all(closed, limitedIn("1", 0), opensAgo(20*time.Minute), deadline), 0, true, 0},
		"in a window for longer than allowed": {all(closed, limitedIn("1", 0), opensAgo(40*time.Minute), deadline), 0, true, time.Hour},
	} {
		pool := waitingPool("p", c.pool)
		rollouts := RolloutsOf([]*v1.NodePool{pool})
		a, b := follower(rollouts, "a", "", "p"), follower(rollouts, "b", "", "p")
		if c.ago > 0 {
			a.Change = LastChange{At: closedAt.Add(-c.ago)}
		} else {
			a.Asks, a.Waits = asksFor("p"), []string{"p"}
		}
		b.Asks, b.Waits = asksFor("p"), []string{"p"}
		a.Unready, a.Unavailable = c.down, c.down
		turns := rollouts.Turns(asking([]Follower{a, b}), nil, closedAt, true)
		stuck, found := turns.Stuck["p"]
		if found != (c.stuck > 0) || found && !stuck.Since.Equal(closedAt.Add(-c.stuck)) {
			t.Errorf("%s: stuck: %t, since %s", name, found, stuck.Since)
		}
		if !found && pool.Spec.Rollout.ProgressDeadline != nil && name == "it went on a moment ago" && !turns.Again.Equal(closedAt.Add(10*time.Minute)) {
			t.Errorf("%s: it is decided again at %s", name, turns.Again)
		}
	}
}

// opensAgo has the window of a pool open some time before closedAt, for a day.
func opensAgo(ago time.Duration) func(*v1.NodePool) {
	return func(p *v1.NodePool) {
		at := closedAt.Add(-ago)
		p.Spec.Rollout.Windows = []v1.Window{{Schedule: v1.Schedule(fmt.Sprintf("%d %d * * *", at.Minute(), at.Hour())), Duration: metav1.Duration{Duration: 12 * time.Hour}}}
	}
}

// The open time of several calendars is that of their minutes.
func TestOpenTimeIsThatOfMinutes(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		var calendars []*window.Calendar
		for range 1 + r.IntN(2) {
			pool := waitingPool("p", nil)
			pool.Spec.Rollout = &v1.Rollout{Windows: []v1.Window{{
				Schedule: v1.Schedule(fmt.Sprintf("%d */%d * * *", r.IntN(60), 1+r.IntN(8))), TimeZone: "Europe/Berlin",
				Duration: metav1.Duration{Duration: time.Duration(1+r.IntN(100)) * time.Minute},
			}}}
			if r.IntN(2) == 0 {
				pool.Spec.Rollout.Exclusions = []v1.Exclusion{{Schedule: v1.Schedule(fmt.Sprintf("%d %d * * *", r.IntN(60), r.IntN(24))), Duration: &metav1.Duration{Duration: time.Duration(1+r.IntN(300)) * time.Minute}}}
			}
			calendars = append(calendars, pool.Calendar())
		}
		since, left := closedAt.Add(time.Duration(r.IntN(3000))*time.Minute), time.Duration(1+r.IntN(600))*time.Minute
		got, want, open := afterOpenTime(calendars, since, left), time.Time{}, time.Duration(0)
		for at := since; at.Before(since.Add(20 * 24 * time.Hour)); at = at.Add(time.Minute) {
			all := true
			for _, calendar := range calendars {
				all = all && calendar.Open(at)
			}
			if all {
				open += time.Minute
			}
			if open == left {
				want = at.Add(time.Minute)
				break
			}
		}
		if !got.Equal(want) && !want.IsZero() {
			t.Errorf("seed %d: %s, want %s", seed, got, want)
		}
		if want.IsZero() && !got.IsZero() && got.Before(since.Add(20*24*time.Hour)) {
			t.Errorf("seed %d: %s, and it is not open for that long", seed, got)
		}
	}
}
