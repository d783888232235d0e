package pools

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func TestWaitsForElse(t *testing.T) {
	reporting := func(reason string) v1.NodePoolStatus {
		return v1.NodePoolStatus{Conditions: []metav1.Condition{{Type: v1.ReconcilingCondition, Reason: reason}}}
	}
	for name, c := range map[string]struct {
		reason         string
		was, is, waits string
		want           bool
	}{
		"the same":         {"nothing is new", v1.WaitingForBudgetReason, v1.WaitingForBudgetReason, v1.WaitingForBudgetReason, false},
		"a window":         {"it has closed", v1.WaitingForBudgetReason, v1.WaitingForWindowReason, v1.WaitingForWindowReason, true},
		"begins":           {"the first event of a rollout is of its status", v1.SucceededReason, v1.WaitingForBudgetReason, v1.WaitingForBudgetReason, false},
		"drained":          {"a node is drained, and the others wait as before", v1.WaitingForBudgetReason, v1.EvictingReason, v1.WaitingForBudgetReason, false},
		"drained still":    {"each status would be an event", v1.EvictingReason, v1.EvictingReason, v1.WaitingForBudgetReason, false},
		"drained before":   {"the next node follows", v1.EvictingReason, v1.WaitingForBudgetReason, v1.WaitingForBudgetReason, false},
		"closed meanwhile": {"a window closes, and nodes are drained to the end", v1.EvictingReason, v1.EvictingReason, v1.WaitingForWindowReason, false},
		"closed":           {"it closed meanwhile", v1.EvictingReason, v1.WaitingForWindowReason, v1.WaitingForWindowReason, true},
		"behind a problem": {"the condition says what matters more", v1.WaitingForBudgetReason, v1.NodesReason, v1.WaitingForWindowReason, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := waitsForElse(reporting(c.was), reporting(c.is), c.waits); got != c.want {
				t.Errorf("it is %v, expected %v: %s", got, c.want, c.reason)
			}
		})
	}
	if waitsForElse(v1.NodePoolStatus{}, reporting(v1.WaitingForWindowReason), v1.WaitingForWindowReason) {
		t.Error("a pool without conditions has waited for something else")
	}
}
