package review

import (
	"testing"

	"github.com/nodepools/nodepools/apply/preview/impact"
)

func TestWhenDrainedPodsGo(t *testing.T) {
	drain := func(onTimeout string, obstructed bool) *impact.Drain {
		return &impact.Drain{TimeoutSeconds: 600, OnTimeout: onTimeout, Obstructed: obstructed}
	}
	for want, of := range map[string]impact.Eviction{
		"at once":                           {},
		"at once, finished already":         {Finished: true},
		"at once, when the drain has ended": {AfterDrain: true},
		"at once, when the drain has ended, finished already":                                                       {AfterDrain: true, Finished: true},
		"after 600 s, and none is evicted before, as a NoSchedule taint of another value would let them come again": {Drain: drain("Force", true)},
	} {
		if got := WhenDeleted(of, "at once"); got != want {
			t.Errorf("they are deleted %q, want %q", got, want)
		}
	}
	for want, of := range map[string]*impact.Drain{
		"Hold: the taint waits for their eviction":                                                                             drain("Hold", false),
		"Force: the taint deletes those left after 600 s":                                                                      drain("Force", false),
		"Hold: the taint waits, and none is evicted, as a NoSchedule taint of another value would let them come again":         drain("Hold", true),
		"Hold: the taint waits for their eviction; they may come again, as they tolerate NoSchedule, and not NoExecute":        {OnTimeout: "Hold", ComesAgain: true},
		"Force: the taint deletes those left after 600 s; they may come again, as they tolerate NoSchedule, and not NoExecute": {OnTimeout: "Force", TimeoutSeconds: 600, ComesAgain: true},
	} {
		if got := WhenStaying(of); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}

func TestBudgetVerdict(t *testing.T) {
	pods := func(n int) []impact.Pod { return make([]impact.Pod, n) }
	for name, c := range map[string]struct {
		budget       impact.Budget
		verdict, why string
	}{
		"kept":           {impact.Budget{Allowed: 2, Lost: 1}, "kept", "1 healthy pod goes, and it allows 2"},
		"some drained":   {impact.Budget{Allowed: 2, Lost: 3, Drained: 1}, "kept", "3 healthy pods go, 1 of them drained, and it allows 2"},
		"all drained":    {impact.Budget{Allowed: 2, Lost: 3, Drained: 3}, "kept", "3 healthy pods go, drained, and it allows 2"},
		"unhealthy ones": {impact.Budget{Allowed: 2, Lost: 14, Unhealthy: 7, Exceeded: true}, "exceeded", "14 healthy pods go, and it allows 2; 7 unhealthy pods not counted"},
		"exceeded":       {impact.Budget{Allowed: 1, Lost: 2, Exceeded: true}, "exceeded", "2 healthy pods go, and it allows 1"},
		"waiting, Hold":  {impact.Budget{Lost: 3, Drained: 3, Waiting: pods(3)}, "blocks a drain", "it allows none, and the drain of 3 pods waits for it; Hold: the taint does not come, and NoSchedule stands in its place"},
		"waiting, Force": {impact.Budget{Lost: 1, Drained: 1, Waiting: pods(1), Forced: 1}, "blocks a drain", "it allows none, and the drain of 1 pod waits for it; Force: the taint deletes it after the timeout"},
		"some forced":    {impact.Budget{Lost: 3, Drained: 3, Waiting: pods(3), Forced: 2}, "blocks a drain", "it allows none, and the drain of 3 pods waits for it; Force: the taint deletes 2 of them after the timeout"},
		"several":        {impact.Budget{Allowed: 1, Lost: 2, Drained: 2, Undrainable: pods(2)}, "blocks a drain", "2 pods cannot be evicted, as another PodDisruptionBudget has them, too; Hold: the taint does not come, and NoSchedule stands in its place"},
		"both":           {impact.Budget{Lost: 2, Drained: 1, Exceeded: true, Waiting: pods(1)}, "exceeded, and blocks a drain", "2 healthy pods go, 1 of them drained, and it allows 0; it allows none, and the drain of 1 pod waits for it; Hold: the taint does not come, and NoSchedule stands in its place"},
	} {
		if verdict, why := BudgetVerdict(c.budget); verdict != c.verdict || why != c.why {
			t.Errorf("%s: it is %q as %q, want %q as %q", name, verdict, why, c.verdict, c.why)
		}
	}
}

func TestWavesNameFewBudgets(t *testing.T) {
	for want, budgets := range map[string][]string{
		"blocked by PodDisruptionBudget a/1":                       {"a/1"},
		"blocked by PodDisruptionBudgets a/1, a/2 and a/3":         {"a/1", "a/2", "a/3"},
		"blocked by PodDisruptionBudgets a/1, a/2, a/3 and 2 more": {"a/1", "a/2", "a/3", "a/4", "a/5"},
		`blocked by PodDisruptionBudget a/"x\n"`:                   {"a/x\n"},
	} {
		if got := (RolloutWave{BudgetsBlocking: budgets}).blockedBy(); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}
