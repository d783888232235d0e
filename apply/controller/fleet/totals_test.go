package fleet

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/apply/plan"
)

// Totals follow what is observed on nodes, and forget what is no longer so.
func TestTotals(t *testing.T) {
	counts, _ := newCountsTest()
	conflict := conflictOf(t, "a")
	check := func(want Totals, reason string) {
		t.Helper()
		if diff := cmp.Diff(want, counts.totals()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
	check(Totals{Pools: map[string]PoolTotals{}}, "nothing was observed")
	counts.Report("fine", Observation{Epoch: 1, FollowerState: plan.FollowerState{Members: []string{"a"}}}, nil)
	counts.Report("unreadable", Observation{Epoch: 1, FollowerState: plan.FollowerState{Members: []string{"a", "b"}, Stuck: true}, Problem: "has a record", Unreadable: true}, nil)
	counts.Report("conflict", Observation{Epoch: 1, FollowerState: plan.FollowerState{Members: []string{"a"}}, Conflicts: conflict}, nil)
	check(Totals{Unreadable: 1, Pools: map[string]PoolTotals{"a": {Failing: 1, Conflicts: 1}, "b": {Failing: 1}}}, "two nodes have troubles")
	counts.advance(counts.begin(2), 2)
	check(Totals{Unreadable: 1, Pools: map[string]PoolTotals{"a": {Failing: 1, Conflicts: 1}, "b": {Failing: 1}}}, "another epoch changes nothing")
	counts.Report("unreadable", Observation{Epoch: 2, FollowerState: plan.FollowerState{Members: []string{"a", "b"}}}, nil)
	counts.Forget("conflict")
	check(Totals{Pools: map[string]PoolTotals{}}, "one was mended, one is gone")
	wait := &plan.PoolWait{Pool: "a", Restriction: &plan.Restriction{For: []string{"b"}}}
	counts.Report("waits", Observation{Epoch: 2, FollowerState: plan.FollowerState{Members: []string{"a", "b"}, Wait: plan.NodeWait{wait}}}, nil)
	check(Totals{Pools: map[string]PoolTotals{"a": {Waiting: 1}}}, "changes of one of two pools wait on a node")
	counts.Report("waits", Observation{Epoch: 2, FollowerState: plan.FollowerState{Members: []string{"a", "b"}}}, nil)
	check(Totals{Pools: map[string]PoolTotals{}}, "it has followed")
}
