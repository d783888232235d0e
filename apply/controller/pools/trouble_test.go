package pools

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/plan"
)

// A trouble is an event when it begins, when something else is named, and when it ends;
// how far the pool is, and how many more there are, is none.
func TestTroublesAreReportedOnce(t *testing.T) {
	stuck := func(updated int32, nodes ...string) poolFacts {
		facts := poolFacts{outcome: plan.PoolOutcome{State: plan.PoolStateActive}, settled: true}
		facts.counts = fleet.Counts{NodeCounts: v1.NodeCounts{Desired: 9, Updated: updated}, Stuck: len(nodes), Problems: map[string]string{}}
		for _, node := range nodes {
			facts.counts.Problems[node] = "is paused; and waits"
		}
		return facts
	}
	steps := []struct {
		reason string
		facts  poolFacts
		events int
	}{
		{"nothing is wrong", stuck(9), 0},
		{"it begins", stuck(8, "a"), 1},
		{"the others get on", stuck(5, "a"), 0},
		{"another node", stuck(5, "a", "b", "c"), 1},
		{"one more is counted", stuck(4, "a", "b", "c", "d"), 0},
		{"another one is counted", stuck(4, "a", "b", "c", "e"), 0},
		{"it ends", stuck(9), 1},
	}
	for _, restarted := range []bool{false, true} {
		recorder := events.NewFakeRecorder(10)
		r := &Reconciler{events: recorder}
		pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p", Generation: 1}}
		for _, step := range steps {
			if restarted {
				r.reported.take(pool.Name)
			}
			status, found := poolStatus(pool, step.facts)
			r.conditionEvents(pool, status, found)
			pool.Status = status
			var got []string
			for len(recorder.Events) > 0 {
				got = append(got, <-recorder.Events)
			}
			// Of what an earlier process has reported the reason is known, and no names.
			if restarted && step.reason == "another node" {
				step.events = 0
			}
			if len(got) != step.events {
				t.Errorf("restarted %t, %s: events %v, want %d", restarted, step.reason, got, step.events)
			}
		}
	}
}

func TestListing(t *testing.T) {
	cases := map[string]listing{
		"":              {},
		"a; b":          {named: []string{"a", "b"}},
		"a; and 2 more": {named: []string{"a"}, more: 2},
	}
	for want, l := range cases {
		if got := l.String(); got != want {
			t.Errorf("%+v is %q, want %q", l, got, want)
		}
	}
}
