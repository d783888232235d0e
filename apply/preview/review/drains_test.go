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
		"after 60 s":                        {AfterSeconds: 60},
		"at once, when the drain has ended": {AfterDrain: true},
		"after 600 s, and none is evicted before, as a NoSchedule taint of another value would let them come again": {Drain: drain("Force", true)},
	} {
		if got := whenDeleted(of); got != want {
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
		if got := whenStaying(of); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}

func TestWhatBudgetsLose(t *testing.T) {
	pods := func(n int) []impact.Pod { return make([]impact.Pod, n) }
	for want, budget := range map[string]impact.Budget{
		"1 healthy pod goes, and it allows 2":                               {Allowed: 2, Lost: 1},
		"3 healthy pods go, 1 of them drained, and it allows 2":             {Allowed: 2, Lost: 3, Drained: 1},
		"3 healthy pods go, drained, and it allows 2":                       {Allowed: 2, Lost: 3, Drained: 3},
		"14 healthy pods go, and it allows 2; 7 unhealthy pods not counted": {Allowed: 2, Lost: 14, Unhealthy: 7},
	} {
		if got := lost(budget); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
	for want, budget := range map[string]impact.Budget{
		"it allows none, and the drain of 3 pods waits for it; Hold: the taint does not come, and NoSchedule stands in its place":                   {Waiting: pods(3)},
		"it allows none, and the drain of 1 pod waits for it; Force: the taint deletes it after the timeout":                                        {Waiting: pods(1), Forced: 1},
		"it allows none, and the drain of 3 pods waits for it; Force: the taint deletes 2 of them after the timeout":                                {Waiting: pods(3), Forced: 2},
		"2 pods cannot be evicted, as another PodDisruptionBudget has them, too; Hold: the taint does not come, and NoSchedule stands in its place": {Undrainable: pods(2)},
	} {
		if got := blocked(budget); got != want {
			t.Errorf("it says %q, want %q", got, want)
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
