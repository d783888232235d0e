package plan

import (
	"slices"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// took reports whether a node took a place in all its rollouts with its turn, and waits for
// no other; it must have had none in pools that it has left, which it may have given up. When all that began did, to decide once more at the same time would give nobody
// a turn: the budgets are what they were at the end of the last decision, a wave that they
// are in is not over, and of others nothing has changed. When the places become free it is
// decided anew.
func (f *foresight) took(node *foreseen) bool {
	if len(node.outcome.Asks) > 0 || f.hasLeft(node) || !node.changed.At.Equal(node.follower.Change.At) {
		return false
	}
	for _, pool := range node.follower.Pools {
		one := f.rollouts.pools[pool]
		if one == nil || !one.limits() {
			continue
		}
		if !node.follower.occupies(one, f.now) {
			return false
		}
		if len(node.follower.Change.Drains) == 0 { // or it goes on occupying its place
			f.again = sooner(f.again, node.changed.At.Add(one.minReady), f.now)
		}
	}
	return !node.changed.At.IsZero()
}

// hasLeft reports whether a node has left pools in whose rollouts nodes take turns.
func (f *foresight) hasLeft(node *foreseen) bool {
	for pool := range node.follower.Change.Pools {
		if f.rollouts.Limits(pool) && !slices.Contains(node.follower.Pools, pool) {
			return true
		}
	}
	return false
}

// approvable reports whether waves wait for an approval, or will: fewer changes may need
// none.
func approvable(waves map[string]*WaveState) bool {
	for _, state := range waves {
		if state.Approval != "" {
			return true
		}
	}
	return false
}

// turns decides whose turn it is.
func (f *foresight) turns() Turns {
	followers := make([]Follower, len(f.nodes))
	for i, node := range f.nodes {
		followers[i] = node.follower
	}
	f.work += len(followers)
	turns := f.rollouts.Turns(followers, f.halts, f.now, true)
	f.again, f.waves, f.halts = turns.Again, turns.Waves, turns.Halts
	f.rollouts.Keep(turns.Latches)
	return turns
}

// approve assumes the approvals that waves wait for, be windows closed or not, and reports
// whether there are some.
func (f *foresight) approve(waves map[string]*WaveState) (found bool) {
	for pool, state := range waves {
		if state.Approval == "" || state.Behind > 0 || !state.Unavailable.None() || !state.Soaks.IsZero() || slices.Contains(f.approved[pool][state.Index], state.Approval) {
			continue
		}
		f.rollouts.pools[pool].approved = state.Approval
		if f.approved[pool] == nil {
			f.approved[pool] = map[int][]string{}
		}
		f.approved[pool][state.Index], found = append(f.approved[pool][state.Index], state.Approval), true
	}
	return found
}

// HaltsOf are the halts in the statuses of pools, by pool.
func HaltsOf(pools []*v1.NodePool) map[string]*Halt {
	halts := map[string]*Halt{}
	for _, pool := range pools {
		if halt := HaltOf(pool); halt != nil {
			halts[pool.Name] = halt
		}
	}
	return halts
}
