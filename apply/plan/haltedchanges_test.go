package plan

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A halt is over when the pool says nothing any more of what the failed node has followed, and
// not when it says something else as well.
func TestHaltIsOfKeys(t *testing.T) {
	node := followed(t, longAgo, waitingPool("p", labelPairs("role", "gpu", "driver", "1", "old", "x")))
	pool := waitingPool("p", all(labelPairs("role", "gpu", "driver", "2"), tainted("v", corev1.TaintEffectNoSchedule), limited("1", time.Minute)))
	node = carry(node, decide(node, closedAt, []string{"p"}, pool))
	failed := FollowerOf(node, decide(node, closedAt.Add(time.Minute), nil, pool), false)
	waits := follower(RolloutsOf([]*v1.NodePool{pool}), "o", "", "p")
	waits.Asks, waits.Waits = []string{"p"}, []string{"p"}
	halts := RolloutsOf([]*v1.NodePool{pool}).Turns(asking([]Follower{failed, waits}), nil, closedAt.Add(time.Minute), true).Halts
	if !halts["p"].Holds() || len(halts["p"].Changes) != 3 {
		t.Fatalf("halted by %+v, want the driver, the taint, and that the old label is gone", halts["p"])
	}
	noTaint := func(p *v1.NodePool) { p.Spec.Taints = nil }
	deleted := func(p *v1.NodePool) { now := p.CreationTimestamp; p.DeletionTimestamp = &now }
	for name, c := range map[string]struct {
		edit  func(*v1.NodePool)
		halts bool
	}{
		"a label more":               {labelPairs("role", "gpu", "driver", "2", "more", "1"), true},
		"another role":               {labelPairs("role", "web", "driver", "2"), true},
		"another driver":             {labelPairs("role", "gpu", "driver", "3"), true},
		"no taint":                   {noTaint, true},
		"another driver, no taint":   {all(labelPairs("role", "gpu", "driver", "3"), noTaint), true},
		"and the old label":          {all(labelPairs("role", "gpu", "driver", "3", "old", "y"), noTaint), false},
		"what was before":            {all(labelPairs("role", "gpu", "driver", "1", "old", "x"), noTaint), false},
		"it is deleted, and not yet": {deleted, true}, // the old label is gone still
	} {
		edited := pool.DeepCopy()
		c.edit(edited)
		if left := RolloutsOf([]*v1.NodePool{edited}).Standing(halts)["p"]; left.Holds() != c.halts {
			t.Errorf("%s: halted by %+v", name, left)
		}
	}
	if left := RolloutsOf([]*v1.NodePool{waitingPool("q", limited("1", 0))}).Standing(halts); len(left) > 0 {
		t.Errorf("the pool is gone, and halted by %v", left)
	}
}

// A node that fails while it is drained halts the rollout for what the pool says, and not for
// what keeps pods off meanwhile.
func TestHaltOfADrainEnds(t *testing.T) {
	pool := drainingPool(nil)
	node := followed(t, longAgo, waitingPool("p", labelled("1")))
	node = carry(node, decide(node, closedAt, []string{"p"}, pool))
	failed := FollowerOf(node, decide(node, closedAt.Add(time.Minute), nil, pool), false)
	waits := follower(RolloutsOf([]*v1.NodePool{pool}), "o", "", "p")
	waits.Asks, waits.Waits = []string{"p"}, []string{"p"}
	halts := RolloutsOf([]*v1.NodePool{pool}).Turns(asking([]Follower{failed, waits}), nil, closedAt.Add(time.Minute), true).Halts
	if !halts["p"].Holds() {
		t.Fatal("it is not halted")
	}
	edited := drainingPool(func(p *v1.NodePool) { p.Spec.Taints, p.Spec.Labels = nil, nil })
	if left := RolloutsOf([]*v1.NodePool{edited}).Standing(halts)["p"]; left.Holds() {
		t.Errorf("the pool says nothing of it any more, and is halted by %+v", left)
	}
}
