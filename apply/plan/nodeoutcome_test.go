package plan

import (
	"slices"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func TestNodeOutcome(t *testing.T) {
	a := define("a", v1.NodePoolSpec{NodeNames: []string{"n"}, Labels: map[string]v1.LabelValue{key: "1"}})
	now := time.Unix(1_000_000, 0)
	carrying := func(edit func(*NodeState)) func() *NodeState {
		return func() *NodeState {
			node, _ := newServer().write(t, newNode("n"), expand(a))
			if edit != nil {
				edit(node)
			}
			return node
		}
	}
	pause := func(node *NodeState) { node.Annotations[v1.ReconcileAnnotation] = v1.Disabled }
	spoil := func(node *NodeState) { node.Annotations[v1.AppliedAnnotation] = "no record" }
	backoff := DefaultRepairBackoff()
	// fought has put the label back a moment ago.
	fought := NodeFacts{Backoff: backoff, Now: now}
	{
		node := carrying(func(node *NodeState) { put(node, Label, ptr.To("2")) })()
		fought.Repairs = NodeOutcomeOf(node, expand(a), fought).Admission.Written(now)
	}
	cases := map[string]struct {
		reason        string
		node          func() *NodeState
		pools         []*v1.NodePool
		facts         NodeFacts
		want          NodeOutcomeState
		members       []string
		before, after []string
	}{
		"new": {
			reason: "it is written", node: func() *NodeState { return newNode("n") }, pools: []*v1.NodePool{a},
			want: NodeStateChanging, members: []string{"a"}, after: []string{"a"},
		},
		"as it is wanted": {
			reason: "nothing is written", node: carrying(nil), pools: []*v1.NodePool{a},
			want: NodeStateUnchanged, members: []string{"a"}, before: []string{"a"}, after: []string{"a"},
		},
		"paused": {
			reason: "it keeps what it has, whatever the pools want", node: carrying(pause),
			want: NodeStatePaused, before: []string{"a"}, after: []string{"a"},
		},
		"unreadable": {
			reason: "whose anything is, is not known", node: carrying(spoil), pools: []*v1.NodePool{a},
			want: NodeStateUnreadable, members: []string{"a"},
		},
		"unreadable and paused": {
			reason: "the record comes first", node: carrying(func(node *NodeState) { pause(node); spoil(node) }),
			pools: []*v1.NodePool{a}, want: NodeStateUnreadable, members: []string{"a"},
		},
		"pool that is deleted": {reason: "it is released", node: carrying(nil), want: NodeStateChanging, before: []string{"a"}},
		"put back a moment ago": {
			reason: "somebody else keeps changing it", node: carrying(func(node *NodeState) { put(node, Label, ptr.To("3")) }),
			pools: []*v1.NodePool{a}, facts: fought, want: NodeStateWaiting, members: []string{"a"}, before: []string{"a"}, after: []string{"a"},
		},
		"put back a while ago": {
			reason: "the wait is over", node: carrying(func(node *NodeState) { put(node, Label, ptr.To("3")) }), pools: []*v1.NodePool{a},
			facts: NodeFacts{Backoff: backoff, Repairs: fought.Repairs, Now: now.Add(backoff.First)},
			want:  NodeStateChanging, members: []string{"a"}, before: []string{"a"}, after: []string{"a"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o := NodeOutcomeOf(c.node(), expand(c.pools...), c.facts)
			if o.State != c.want {
				t.Errorf("node is %s, want %s: %s", o.State, c.want, c.reason)
			}
			if !slices.Equal(o.Members, c.members) || !slices.Equal(o.CarriedBefore(), c.before) || !slices.Equal(o.CarriedAfter(), c.after) {
				t.Errorf("members %v, carried %v and then %v; want %v, %v, %v: %s",
					o.Members, o.CarriedBefore(), o.CarriedAfter(), c.members, c.before, c.after, c.reason)
			}
			if written := o.Admission.Plan != nil && !o.Admission.Plan.NoOp(); written != (o.State == NodeStateChanging) {
				t.Errorf("something is to be written: %t, of a node that is %s", written, o.State)
			}
		})
	}
}
