package plan

import (
	"maps"
	"slices"
	"strings"

	"github.com/nodepools/nodepools/render"
)

// KeptOff are labels and taints that pools want and somebody else's keep off a node, or have until
// now: at most as many as the node carries.
type KeptOff []repairKey

// keptOff are those of some conflicts.
func keptOff(conflicts []KeyConflict) KeptOff {
	var keys KeptOff
	for _, c := range conflicts {
		if c.denied && c.reason.Have != nil && c.reason.Holder == "" && c.reason.Field != Annotation {
			keys = append(keys, repairKey{c.reason.Field, c.reason.Key})
		}
	}
	return keys
}

// gives reports whether a change brings what was kept off.
func (k KeptOff) gives(change KeyChange) bool {
	return !change.Drift && change.After != nil && slices.Contains(k, repairKey{change.Field, change.Key})
}

// restored reports whether what there is to write undoes what somebody has changed on the node:
// neither the pools nor the membership of the node have changed since it was last up to date.
// That waits for no rollout, whatever the record says by now.
func (f NodeFacts) restored(p *NodePlan) bool {
	return f.UpToDate && !p.NoOp() && slices.Equal(f.Members, p.Pools)
}

// allow returns what of a plan may be written. What somebody else has kept off is new to the node:
// it waits like any other change of its pool when nothing keeps it off any more, while all that
// was taken off beside it is put back.
func (f NodeFacts) allow(node *NodeState, p *NodePlan) Allowed {
	if !f.restored(p) {
		return f.Rollouts.Allow(node, p, f.Now, f.Turn)
	}
	free := Turn{free: true, refused: f.Turn.refused}
	given := slices.DeleteFunc(slices.Clone(p.Changes), func(change KeyChange) bool { return !f.KeptOff.gives(change) })
	if len(given) == 0 {
		return f.Rollouts.allow(node, p, f.Now, free)
	}
	turn := f.Rollouts.Allow(node, p, f.Now, f.Turn)
	if len(turn.Wait) == 0 {
		return turn
	}
	without := withoutKeptOff(p, given, turn.Wait)
	allowed := f.Rollouts.allow(node, weighDesired(node, p.recorded, without.desired, p.pools), f.Now, free)
	return allowed.waitingAs(turn, without)
}

// waitingKeys are keys that were kept off, and wait now with their pools.
type waitingKeys struct {
	keys  KeptOff
	pools map[string]bool
	// come are pools that were kept off as well, and do not wait.
	come map[string]bool
	// desired is what a node is to have without them.
	desired render.Desired
}

// withoutKeptOff leaves out of a plan what brings keys that were kept off, for pools that wait, or
// agree with those that do.
func withoutKeptOff(p *NodePlan, given []KeyChange, wait NodeWait) waitingKeys {
	w := waitingKeys{pools: map[string]bool{}, come: map[string]bool{}, desired: p.desired}
	w.desired.Labels, w.desired.Taints = maps.Clone(p.desired.Labels), maps.Clone(p.desired.Taints)
	for _, change := range given {
		if wait.Of(change.Pool) == nil {
			w.come[change.Pool] = true
			continue
		}
		w.keys = append(w.keys, repairKey{change.Field, change.Key})
		w.pools[change.Pool] = true
		agreeing := p.desired.Labels[change.Key].Agreeing
		delete(w.desired.Labels, change.Key)
		if id := (render.TaintID{}); change.Field == Taint && id.UnmarshalText([]byte(change.Key)) == nil {
			agreeing = p.desired.Taints[id].Agreeing
			delete(w.desired.Taints, id)
		}
		for _, pool := range agreeing {
			w.pools[pool] = true
		}
	}
	return w
}

// waitingAs has the pools of some keys wait as they do by another decision.
func (a Allowed) waitingAs(other Allowed, waiting waitingKeys) Allowed {
	a.keptOff, a.upToDate = waiting.keys, len(a.Wait) == 0
	a.Begins = slices.DeleteFunc(slices.Clone(other.Begins), func(pool string) bool { return !waiting.come[pool] })
	also := slices.DeleteFunc(slices.Clone(other.Wait), func(wait *PoolWait) bool {
		return !waiting.pools[wait.Pool] || a.Wait.Of(wait.Pool) != nil
	})
	a.Wait = slices.Concat(a.Wait, also)
	slices.SortFunc(a.Wait, func(a, b *PoolWait) int { return strings.Compare(a.Pool, b.Pool) })
	for _, asks := range other.AsksOf {
		if waiting.pools[asks.Pool] {
			a.Asks, a.AsksOf = append(a.Asks, asks.In...), append(a.AsksOf, asks)
		}
	}
	for _, pool := range other.Reverts {
		if waiting.pools[pool] {
			a.Reverts = append(a.Reverts, pool)
		}
	}
	slices.Sort(a.Asks)
	slices.Sort(a.Reverts)
	slices.SortFunc(a.AsksOf, func(a, b PoolAsks) int { return strings.Compare(a.Pool, b.Pool) })
	a.Asks, a.Reverts, a.Closes = slices.Compact(a.Asks), slices.Compact(a.Reverts), other.Closes
	return a
}
