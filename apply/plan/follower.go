package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Failed reports whether the node is not ready, and was when it last began to follow one of
// its pools.
func (n *Follower) Failed() bool {
	for _, followed := range n.Change.Pools {
		if n.Unready && !followed.Unready {
			return true
		}
	}
	return false
}

// FollowerOf is a node as far as turns depend on it, by what becomes of it: as it is when
// the outcome has been carried out.
func FollowerOf(node *NodeState, outcome NodeOutcome, ready bool) Follower {
	f := Follower{
		Name: node.Name, Pools: slices.Concat(outcome.Members, outcome.CarriedAfter()),
		Asks: outcome.Asks, Reverts: outcome.Reverts, Selected: outcome.Selected, Zone: node.Labels[corev1.LabelTopologyZone],
		Unready: !ready, Unavailable: !ready || node.Unschedulable,
		Stuck: outcome.State == NodeStateUnreadable || outcome.State == NodeStatePaused,
	}
	slices.Sort(f.Pools)
	f.Pools = slices.Compact(f.Pools)
	switch {
	case outcome.Begins && outcome.Admission.Plan != nil:
		f.Change = outcome.Admission.Plan.Record.Change
	case outcome.Plan != nil:
		f.Change = outcome.Plan.recorded.Change
	}
	for _, wait := range outcome.Wait {
		f.Waits = append(f.Waits, wait.Pool)
	}
	return f
}
