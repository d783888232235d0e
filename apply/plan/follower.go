package plan

import "slices"

// FollowerOf is a node as far as turns depend on it, by what becomes of it: as it is when
// the outcome has been carried out.
func FollowerOf(node *NodeState, outcome NodeOutcome, ready bool) Follower {
	f := Follower{
		Name: node.Name, Pools: slices.Concat(outcome.Members, outcome.CarriedAfter()),
		Asks: outcome.Asks, Selected: outcome.Selected,
		Unavailable: !ready || node.Unschedulable,
		Stuck:       outcome.State == NodeStateUnreadable || outcome.State == NodeStatePaused,
	}
	slices.Sort(f.Pools)
	f.Pools = slices.Compact(f.Pools)
	switch {
	case outcome.Begins && outcome.Admission.Plan != nil:
		f.Changed = outcome.Admission.Plan.Record.Changed
	case outcome.Plan != nil:
		f.Changed = outcome.Plan.recorded.Changed
	}
	for _, wait := range outcome.Wait {
		f.Waits = append(f.Waits, wait.Pool)
	}
	return f
}
