package plan

import (
	"slices"
	"testing"
	"time"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// What an inner pool says does not go before what the pool around it says, and gets no turn that
// would not be used: it would take the place of another node.
func TestInnerPoolGetsNoTurnBeforeTheOneAround(t *testing.T) {
	pools := func(value string) []*v1.NodePool {
		return []*v1.NodePool{
			waitingPool("around", all(prior(0), labelPairs("around", value))),
			waitingPool("inner", all(prior(9), inside("around"), labelPairs("inner", value), limited("1", time.Minute))),
			waitingPool("weak", all(prior(5), limited("0", time.Minute), func(p *v1.NodePool) { p.Spec.NodeNames = []string{"a"} })),
		}
	}
	after := pools("2")
	rollouts := RolloutsOf(after)
	var nodes []Follower
	for _, name := range []string{"a", "b"} {
		node := followed(t, longAgo, pools("1")...)
		node.Name = name
		nodes = append(nodes, FollowerOf(node, NodeOutcomeOf(node, expand(after...), NodeFacts{Rollouts: rollouts, Now: closedAt}), true))
	}
	turns := rollouts.Turns(asking(nodes), nil, closedAt, true)
	if len(turns.Nodes["a"]) > 0 || !slices.Equal(turns.Nodes["b"].Pools(), []string{"around", "inner"}) {
		t.Errorf("node a, on which the pool around waits for a budget of 0, has the turn %+v, and node b %+v", turns.Nodes["a"], turns.Nodes["b"])
	}
}

// A key that a stronger pool gets from a paused one waits for the turn of the node, though the
// pool around the paused one agrees; and one that the paused pool holds asks for none.
func TestKeyOfPausedPoolWaitsForTurn(t *testing.T) {
	paused := faulty(waitingPool("paused", all(prior(1), inside("around"), labelled("1"))))
	none := limited("0", time.Minute)
	node := followed(t, longAgo, waitingPool("paused", all(prior(1), labelled("1"))), waitingPool("around", nil), waitingPool("strong", prior(9)))
	o := decide(node, closedAt, nil, waitingPool("strong", all(prior(9), labelled("2"), none)), waitingPool("around", labelled("2")), paused)
	if got := carry(node, o).Labels[key]; got != "1" || !slices.Equal(asked(o), []string{"strong"}) {
		t.Errorf("the key became %s while the budget is 0; it asks %v", got, o.Asks)
	}
	paused.Spec.Parent = ""
	inner := waitingPool("inner", all(inside("paused"), labelled("2"), none))
	node = followed(t, longAgo, waitingPool("paused", all(prior(1), labelled("1"))), waitingPool("inner", nil), waitingPool("weak", labelPairs("weak", "1")))
	o = decide(node, closedAt, nil, paused, inner, waitingPool("weak", all(prior(-1), labelPairs("weak", "2"))))
	if o.Wait.Of("inner") != nil || o.Wait.Of("weak") == nil {
		t.Errorf("a key that the paused pool holds waits for a turn: %+v", o.Asks)
	}
}
