package nodes

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/nodepools/nodepools/apply/nodecache"
	"github.com/nodepools/nodepools/apply/plan"
)

// That a node is cordoned, or no longer, is what turns depend on.
func TestCordonIsRelevant(t *testing.T) {
	node := func(cordoned bool) *nodecache.Node {
		return &nodecache.Node{NodeState: plan.NodeState{Name: "n", UID: "1", Unschedulable: cordoned}}
	}
	if !relevantToPlan.Update(event.TypedUpdateEvent[*nodecache.Node]{ObjectOld: node(true), ObjectNew: node(false)}) {
		t.Error("a node that is no longer cordoned leads to no pass: nodes that wait for it wait for ever, unless its taints change as well")
	}
}
