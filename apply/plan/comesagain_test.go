package plan

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A pod is left alone for some time that comes in place of one that was evicted, and that the
// taint which keeps others off does not keep off.
func TestPodsAreLeftThatComeAgain(t *testing.T) {
	gpu := corev1.Taint{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoExecute}
	disk := corev1.Taint{Key: "disk", Value: "yes", Effect: corev1.TaintEffectNoExecute}
	both := []corev1.Taint{Twin(gpu), Twin(disk)}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	pod := func(uid, owner types.UID, tolerates ...corev1.Taint) DrainablePod {
		return DrainablePod{UID: uid, Owner: owner, Tolerates: func(taint *corev1.Taint) bool {
			for _, tolerated := range tolerates {
				if *taint == tolerated {
					return true
				}
			}
			return false
		}}
	}
	evicted, blocked := pod("1", "shop", both...), pod("2", "shop", both...)
	round := NewEvictionRound(&Drain{})
	round.Asked[evicted.UID], round.Asked[blocked.UID], round.Granted[evicted.Owner] = true, true, true
	for name, c := range map[string]struct {
		pod   DrainablePod
		after time.Duration
		drain Drain
		left  bool
	}{
		"comes again":                  {pod("3", "shop", both...), time.Minute, Drain{}, true},
		"has been there for long":      {pod("3", "shop", both...), comesAgainPeriod, Drain{}, false},
		"was there before":             {blocked, 5 * time.Second, Drain{}, false},
		"of another controller":        {pod("3", "job-2", both...), time.Minute, Drain{}, false},
		"of no controller":             {pod("3", "", both...), time.Minute, Drain{}, false},
		"is kept off by the other one": {pod("3", "shop", Twin(gpu), disk), time.Minute, Drain{}, false},
		"the last time":                {pod("3", "shop", both...), time.Minute, Drain{Forces: true}, false},
		"the clock was set back":       {pod("3", "shop", both...), -time.Hour, Drain{}, false},
	} {
		known, drain := &Evictions{}, c.drain
		drain.Taints = []corev1.Taint{gpu, disk}
		known.Note(round, now)
		until := known.LeavesUntil(&drain, c.pod, now.Add(c.after))
		if !until.IsZero() != c.left || c.left && !until.Equal(now.Add(comesAgainPeriod)) {
			t.Errorf("%s: it is left until %v", name, until)
		}
	}
}

// All pods of a controller that are left are evicted in the same round, and nothing is remembered
// for longer than it counts.
func TestPodsThatWereLeftGoTogether(t *testing.T) {
	taint := corev1.Taint{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoExecute}
	drain, known := &Drain{Taints: []corev1.Taint{taint}}, &Evictions{}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	rounds := map[types.UID][]time.Duration{}
	tolerates := func(taint *corev1.Taint) bool { return taint.Effect == corev1.TaintEffectNoSchedule }
	for after := time.Duration(0); after <= 2*comesAgainPeriod; after += 5 * time.Second {
		round := NewEvictionRound(drain)
		for _, name := range []types.UID{"a", "b"} {
			pod := DrainablePod{UID: name + types.UID(fmt.Sprint(len(rounds[name]))), Owner: "shop", Tolerates: tolerates}
			if until := known.LeavesUntil(drain, pod, now.Add(after)); !until.IsZero() {
				round.Left[pod.UID] = until
				continue
			}
			round.Asked[pod.UID], round.Granted[pod.Owner] = true, true
			rounds[name] = append(rounds[name], after)
		}
		known.Note(round, now.Add(after))
	}
	for name, of := range rounds {
		if len(of) != 3 || of[1] != comesAgainPeriod || of[2] != 2*comesAgainPeriod {
			t.Errorf("pod %s is evicted after %v", name, of)
		}
	}
	known.Note(NewEvictionRound(drain), now.Add(time.Hour))
	if len(known.last.Asked)+len(known.last.Left)+len(known.granted) > 0 {
		t.Errorf("an hour later it remembers %+v", known)
	}
}

// Others of its controller that are evicted meanwhile let no pod be left for longer, and where
// taints that are to come cannot be written, none is evicted every few seconds.
func TestPodsAreLeftOnce(t *testing.T) {
	taint := corev1.Taint{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoExecute}
	drain, forces, known := &Drain{Taints: []corev1.Taint{taint}}, &Drain{Taints: []corev1.Taint{taint}, Forces: true}, &Evictions{}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	pod := DrainablePod{UID: "again", Owner: "shop", Tolerates: func(taint *corev1.Taint) bool { return taint.Effect == corev1.TaintEffectNoSchedule }}
	granting := func(drain *Drain, after time.Duration) (until time.Time) {
		round := NewEvictionRound(drain)
		round.Granted["shop"] = true
		if until = known.LeavesUntil(drain, pod, now.Add(after)); !until.IsZero() {
			round.Left[pod.UID] = until
		}
		known.Note(round, now.Add(after))
		return until
	}
	granting(drain, 0)
	for after := time.Minute; after < comesAgainPeriod; after += time.Minute {
		if until := granting(drain, after); !until.Equal(now.Add(comesAgainPeriod)) {
			t.Errorf("after %v it is left until %v", after, until)
		}
	}
	if until := granting(forces, comesAgainPeriod-time.Second); !until.IsZero() {
		t.Errorf("before the taints come it is left until %v", until)
	}
	pod.UID = "next"
	if until := granting(forces, comesAgainPeriod+time.Second); until.IsZero() {
		t.Error("while the taints cannot be written the next one is evicted at once")
	}
}
