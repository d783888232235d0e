package review

import (
	"strings"
	"testing"
	"time"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/impact"
)

// The pods that run and go count for the wave of their node; the counts are those of the
// longest rollout and of the worst wave, and of clusters the greater.
func TestRolloutsCountEvictions(t *testing.T) {
	at := time.Date(2026, time.November, 28, 1, 0, 0, 0, time.UTC)
	schedules := []plan.PoolSchedule{{Pool: "gpu", Zone: time.UTC, Nodes: 3, Waves: []plan.WaveSchedule{
		{Wave: "canary", Nodes: []string{"a"}, Together: 1, Starts: at, Ends: at},
		{Wave: "rest", Nodes: []string{"b", "d", "e"}, Stay: []string{"c"}, Together: 2, Starts: at, Ends: at, Approval: "canary"},
	}}}
	pods := &impact.Impact{Evictions: []impact.Eviction{
		{Pods: []impact.Pod{{Name: "1", Node: "a"}, {Name: "2", Node: "b"}, {Name: "3", Node: "c"}, {Name: "4", Node: "elsewhere"}}},
		{Pods: []impact.Pod{{Name: "5", Node: "a"}, {Name: "6", Node: "a"}}, Finished: true},
	}, Budgets: []impact.Budget{
		{Namespace: "web", Name: "z", Waiting: []impact.Pod{{Name: "2", Node: "b"}, {Name: "4", Node: "elsewhere"}}},
		{Namespace: "web", Name: "a", Undrainable: []impact.Pod{{Name: "2", Node: "b"}, {Name: "3", Node: "c"}}},
		{Namespace: "web", Name: "kept", Lost: 1, Drained: 1},
	}}
	r := &Review{Rollouts: rolloutsOf(schedules, pods), WeakenedRollouts: []plan.Weakening{{Pool: "gpu"}}, EmptyWaves: []plan.EmptyWave{{Pool: "gpu"}, {Pool: "cpu"}}}
	var c Counts
	c.countRollouts(r)
	if c.Waves != 2 || c.EvictionsPerWave != 2 || c.PolicyWeakened != 1 || c.EmptyWaves != 2 {
		t.Errorf("%d waves, %d evictions in one, %d weakened, %d empty, want 2, 2, 1 and 2", c.Waves, c.EvictionsPerWave, c.PolicyWeakened, c.EmptyWaves)
	}
	for i, want := range []string{
		"1 node, starts Sat 2026-11-28 01:00 UTC, 1 eviction",
		"4 nodes, after the approval of wave canary, not before Sat 2026-11-28 01:00 UTC, 1 of them not, 2 at a time, 2 evictions, blocked by PodDisruptionBudgets web/a and web/z",
	} {
		if got := r.Rollouts[0].Waves[i].Text(); got != want {
			t.Errorf("wave %d says %q, want %q", i, got, want)
		}
	}
	if unknown := rolloutsOf(schedules, nil); unknown[0].Waves[0].Evictions != nil {
		t.Error("evictions are counted where pods are not known")
	}
	if sum := c.plus(Counts{Waves: 1, EvictionsPerWave: 5, PolicyWeakened: 1}); sum.Waves != 2 || sum.EvictionsPerWave != 5 || sum.PolicyWeakened != 2 {
		t.Errorf("two clusters have %d waves, %d evictions in one, %d weakened, want 2, 5 and 2", sum.Waves, sum.EvictionsPerWave, sum.PolicyWeakened)
	}
}

// What has halted a rollout is said as the controller says it, be it that nodes are not ready, or
// do not meet a condition.
func TestHaltTextSaysWhatHasFailed(t *testing.T) {
	for _, halt := range []plan.Halt{
		{Nodes: 1, Node: "a"}, {Nodes: 3, Node: "a"},
		{Nodes: 1, Node: "a", Lacks: "has condition GPUHealthy=False"}, {Nodes: 3, Node: "a", Lacks: "has no condition GPUHealthy"},
	} {
		halt.Time, halt.Changes = time.Date(2026, time.November, 25, 2, 0, 7, 0, time.UTC), []string{"x"}
		schedules := []plan.PoolSchedule{{Pool: "gpu", Zone: time.UTC, Halt: &halt}}
		_, because, _ := strings.Cut(halt.String(), ", ")
		text := rolloutsOf(schedules, nil)[0].HaltText()
		if want := "halted since Wed 2026-11-25 02:00:07 UTC, " + because + "; revert that change"; !strings.HasPrefix(text, want) {
			t.Errorf("%q, want %q", text, want)
		}
		schedules[0].Foretold = true
		if text, want := rolloutsOf(schedules, nil)[0].HaltText(), "it will be halted at Wed 2026-11-25 02:00:07 UTC, "+because; text != want {
			t.Errorf("%q, want %q", text, want)
		}
	}
}
