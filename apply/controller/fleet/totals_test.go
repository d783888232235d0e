package fleet

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
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
	drains := plan.LastChange{Drains: map[render.TaintID]plan.DrainedTaint{{Key: "k", Effect: corev1.TaintEffectNoExecute}: {Pool: "b"}}}
	counts.Report("drains", Observation{Epoch: 2, FollowerState: plan.FollowerState{Members: []string{"a", "b"}, Change: drains}}, nil)
	check(Totals{Pools: map[string]PoolTotals{"b": {Draining: 1}}}, "a node is drained for one of its pools")
}

// How many nodes are on their way is known while something waits.
func TestTotalsOfTurns(t *testing.T) {
	one := intstr.FromInt32(1)
	list := &poolList{pools: map[string]*v1.NodePool{"p": turnsPool("p", &v1.Rollout{MaxUnavailable: &one, MinReady: &metav1.Duration{Duration: time.Minute}})}}
	f := turnsFleet(t, list)
	wait := plan.NodeWait{{Pool: "p", Restriction: &plan.Restriction{For: []string{"p"}, Turn: true}}}
	asks := plan.FollowerState{Ready: true, Members: []string{"p"}, Recorded: []string{"p"}, Asking: &plan.Asking{Asks: []plan.Ask{{Pool: "p"}}}, Wait: wait}
	gave := func(want map[string]plan.RolloutNodes, reason string) {
		t.Helper()
		if _, err := f.giveTurns(t.Context(), noChanges, func(string) {}); err != nil {
			t.Fatal(err)
		}
		totals, _ := f.Totals(turnsNow)
		if diff := cmp.Diff(want, totals.Turns, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
	f.Report("a", Observation{Epoch: 1, FollowerState: asks}, nil)
	f.Report("b", Observation{Epoch: 1, FollowerState: asks}, nil)
	gave(map[string]plan.RolloutNodes{"p": {Following: 1, Unavailable: 1}}, "it is the turn of one")
	followed := plan.FollowerState{Ready: true, Members: []string{"p"}, Recorded: []string{"p"}, Change: plan.LastChange{At: turnsNow.Add(-time.Hour)}}
	f.Report("a", Observation{Epoch: 1, FollowerState: followed}, nil)
	f.Report("b", Observation{Epoch: 1, FollowerState: followed}, nil)
	gave(nil, "both have followed")
}
