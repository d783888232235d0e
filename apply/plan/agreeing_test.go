package plan

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A key stays with the pool that has it by the record while that one waits and another one
// wants the same value: it would go back with the next turn, and so for ever.
func TestAgreeingPoolsHandNothingBackAndForth(t *testing.T) {
	p := waitingPool("p", labelled("2"))
	q := waitingPool("q", all(labelled("2"), prior(-1)))
	node := followed(t, longAgo, p, q)
	p = waitingPool("p", all(labelled("2"), closed, tainted("v", corev1.TaintEffectNoSchedule)))
	if o := decide(node, closedAt, nil, p, q); o.Wait.Of("p") == nil || o.Wait.Of("q") != nil || o.State != NodeStateWaiting {
		t.Errorf("p waits, q does not, and nothing is to be written; got %s, waits %v", o.State, o.Wait)
	}
}

// A NoExecute taint that comes in place of a NoSchedule one of the same value asks for one
// turn, and for none while the node is drained.
func TestDrainInPlaceOfAWallAsksForOneTurn(t *testing.T) {
	node := followed(t, longAgo, waitingPool("p", all(labelled("2"), tainted("v", corev1.TaintEffectNoSchedule))))
	pool := drainingPool(func(p *v1.NodePool) { p.Spec.Rollout.MaxUnavailable = new(intstr.FromInt32(1)) })
	if o := decide(node, closedAt, nil, pool); !slices.Equal(asked(o), []string{"p"}) {
		t.Fatalf("before its turn it asks %v", o.Asks)
	}
	node = carry(node, decide(node, closedAt, []string{"p"}, pool))
	o := decide(node, closedAt.Add(time.Minute), nil, pool)
	if o.Drain == nil || !o.Drain.Began || len(o.Asks) > 0 || len(o.Wait) > 0 {
		t.Errorf("while it is drained: asks %v, waits %v, %+v", o.Asks, o.Wait, o.Drain)
	}
	o = NodeOutcomeOf(node, expand(pool), NodeFacts{Rollouts: RolloutsOf([]*v1.NodePool{pool}), Drained: true, Now: closedAt.Add(time.Minute)})
	if got := taintsOf(carry(node, o)); !slices.Equal(got, []string{"v:NoExecute"}) {
		t.Errorf("when it is drained it has %v", got)
	}
}
