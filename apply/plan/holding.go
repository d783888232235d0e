package plan

import (
	"cmp"
	"fmt"
	"slices"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// holding is the plan for a node of which the changes of some pools wait: it wants of
// them what they have put there by the record, and of all others what the full plan
// wants. So what somebody changed by hand is put back, to the value of the record. A drain
// goes on. Of pools that are refused nothing is written: neither is put back what they have
// there, nor do they, or pools within them, get what another pool releases.
func (p *NodePlan) holding(node *NodeState, wait NodeWait, rollouts *Rollouts, refused map[string]Refusal) *NodePlan {
	h := holder{wait: wait, rollouts: rollouts, pools: p.pools, members: p.Pools, refused: map[string]bool{}}
	for pool := range refused {
		h.refused[pool] = true
	}
	for _, one := range wait {
		h.refused[one.Pool] = h.refused[one.Pool] || one.Refused
	}
	desired := render.Desired{
		Pools:       p.desired.Pools,
		Labels:      hold(h, labels, p.desired.Labels, p.recorded.Labels),
		Annotations: hold(h, annotations, p.desired.Annotations, p.recorded.Annotations),
		Taints:      hold(h, taints, p.desired.Taints, p.recorded.Taints),
	}
	for id, drained := range p.recorded.Change.Drains {
		if h.refuses(drained.Pool) {
			continue
		}
		if rollouts.completes(p, id) {
			desired.Taints[id] = p.desired.Taints[id]
		}
		// What has kept pods off makes way for what others want there.
		twin := twinOf(id)
		if want, wanted := p.desired.Taints[twin]; wanted && p.recorded.hasTaint(twin, drained.Value) {
			if claim, free := h.inTheNameOfAnother(want); free {
				desired.Taints[twin] = claim
			}
		}
	}
	held, leave := weighDesired(node, p.ownership, desired, p.pools), map[repairKey]bool{}
	for _, change := range held.Changes {
		// What a pool has within a refused one is put back still.
		if _, itself := refused[change.Pool]; itself || h.refuses(change.Pool) && !change.Drift {
			leave[repairKey{change.Field, change.Key}] = true
		}
	}
	return held.without(leave)
}

type holder struct {
	wait     NodeWait
	rollouts *Rollouts
	pools    *render.Expansion
	members  []string
	// refused are the pools of which nothing is written, as the API server refuses what they, or
	// pools around them, change.
	refused map[string]bool
}

// hold returns what is wanted of a node while the changes of some pools wait.
func hold[K comparable](h holder, at keyField[K], want map[K]render.Want, recorded map[K]Entry) map[K]render.Want {
	held := make(map[K]render.Want, len(want))
	for key, wanted := range want {
		claim, free := h.inTheNameOfAnother(wanted)
		entry, ours := recorded[key]
		switch {
		case ours && !free && h.refuses(wanted.Pool) && entry.Pool != wanted.Pool && !h.wants(entry.Pool, at.field, fmt.Sprint(key)) && !h.waits(entry.Pool):
			// It is released, whoever would get it.
		case ours && h.keeps(entry, wanted, free):
			held[key] = h.recordedWant(entry)
		case free, ours && !h.refuses(wanted.Pool): // one that has it releases it, and the next one gets it at once
			held[key] = claim
		}
	}
	for key, entry := range recorded {
		if _, wanted := want[key]; !wanted && h.waits(entry.Pool) {
			held[key] = h.recordedWant(entry)
		}
	}
	return held
}

func (h holder) waits(pool string) bool { return h.wait.Of(pool) != nil || h.refused[pool] }

// refuses reports whether nothing is written of a pool.
func (h holder) refuses(pool string) bool { return h.refused[pool] }

// wants reports whether a pool still wants a key of the node; of annotations, that is not known
// of a pool that the node is in.
func (h holder) wants(pool string, field Field, key string) bool {
	of := h.rollouts.of(pool)
	_, says := of.labels[key]
	if field == Taint {
		says = slices.ContainsFunc(of.taints, func(taint v1.Taint) bool {
			return render.TaintID{Key: taint.Key, Effect: taint.Effect}.String() == key
		})
	}
	return slices.Contains(h.members, pool) && (says || field == Annotation || key == v1.RoleLabel(pool))
}

// inTheNameOfAnother is a want of which the pool waits, and another one that agrees on
// the value does not: the one that goes furthest. It reports whether there is one that does not wait.
func (h holder) inTheNameOfAnother(want render.Want) (render.Want, bool) {
	if !h.waits(want.Pool) {
		return want, true
	}
	free := slices.DeleteFunc(slices.Clone(want.Agreeing), h.waits)
	if len(free) == 0 {
		return want, false
	}
	policy := func(name string) v1.ConflictPolicy { return h.rollouts.of(name).policy }
	furthest := slices.MaxFunc(free, func(a, b string) int { return cmp.Compare(reach(policy(a)), reach(policy(b))) })
	others := slices.DeleteFunc(slices.Clone(want.Agreeing), func(other string) bool { return other == furthest })
	want.Agreeing = slices.Sorted(slices.Values(append(others, want.Pool)))
	// The policy goes no further than that of the pool which has its way.
	if policy := policy(furthest); reach(policy) < reach(want.Policy) {
		want.Policy = policy
	}
	want.Pool = furthest
	return want, true
}

// keeps reports whether an entry of the record stays as it is, though a key is wanted
// otherwise, and whoever wants it is free or not. A key of the wanted value keeps its owner:
// another one would hand it back with the next turn, and so on.
func (h holder) keeps(entry Entry, want render.Want, free bool) bool {
	if entry.Pool == want.Pool || h.rollouts.causes(h.pools, want, entry.Pool) {
		return !free || entry.Pool == want.Pool && entry.Value == want.Value
	}
	return h.waits(entry.Pool)
}

// recordedWant wants what the record says, so that the rule changes nothing of it. A pool
// that takes over goes on to remember what others have put there meanwhile.
func (h holder) recordedWant(entry Entry) render.Want {
	want := render.Want{Value: entry.Value, Pool: entry.Pool, Policy: v1.ReportConflicts}
	switch {
	case entry.Adopted:
		want.Policy = v1.Adopt
	case entry.Before != nil || h.rollouts.of(entry.Pool).policy == v1.TakeOver:
		want.Policy = v1.TakeOver
	}
	return want
}

// reach is how far a policy goes against a value that somebody else has set. None is that of one who
// reports.
func reach(policy v1.ConflictPolicy) int {
	return max(0, slices.Index([]v1.ConflictPolicy{v1.ReportConflicts, v1.TakeOver, v1.Adopt}, policy))
}
