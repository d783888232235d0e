package plan

import (
	"fmt"
	"slices"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// moving is the plan in which the pools that wait do not move.
func (m *movers) moving(refused map[string]Refusal) *NodePlan {
	p := m.p
	desired := render.Desired{
		Pools:       p.desired.Pools,
		Labels:      stand(m, labels, p.desired.Labels, p.recorded.Labels),
		Annotations: stand(m, annotations, p.desired.Annotations, p.recorded.Annotations),
		Taints:      stand(m, taints, p.desired.Taints, p.recorded.Taints),
	}
	for id, drained := range p.recorded.Change.Drains {
		if m.refuses(drained.Pool) {
			continue
		}
		if m.rollouts.completes(p, id) { // a drain goes on
			desired.Taints[id] = p.desired.Taints[id]
		}
		twin := twinOf(id)
		if entry := recordedEntry(p.recorded.Taints, twin); entry != nil && p.keptBy(twin, entry) == nil && m.waiting[p.desired.Taints[twin].Pool] == "" {
			desired.Taints[twin] = p.desired.Taints[twin]
		}
	}
	held, leave := weighDesired(m.node, p.ownership, desired, p.pools), map[repairKey]bool{}
	for _, change := range held.Changes {
		// What a pool has within a refused one is put back still.
		if _, itself := refused[change.Pool]; itself || m.refuses(change.Pool) && !change.Drift {
			leave[repairKey{change.Field, change.Key}] = true
		}
	}
	return held.without(leave)
}

// stand returns what is wanted of a node while some pools do not move. What somebody has changed by
// hand of that is put back, to the value of the record.
func stand[K comparable](m *movers, at keyField[K], want map[K]render.Want, recorded map[K]Entry) map[K]render.Want {
	stands := make(map[K]render.Want, len(want))
	for key, wanted := range want {
		entry, ours := recorded[key]
		switch {
		case ours && m.refuses(wanted.Pool) && entry.Pool != wanted.Pool && m.waiting[entry.Pool] == "" && !m.wants(entry.Pool, at.field, fmt.Sprint(key)):
			// It is released, whoever would get it.
		case m.waiting[m.rollouts.mover(entry.Pool, wanted.Pool)] == "":
			if !m.refuses(wanted.Pool) {
				stands[key] = wanted
			}
		case ours:
			stands[key] = m.rollouts.recordedWant(entry)
		}
	}
	for key, entry := range recorded {
		if _, wanted := want[key]; !wanted && m.waiting[entry.Pool] != "" {
			stands[key] = m.rollouts.recordedWant(entry)
		}
	}
	return stands
}

// refuses reports whether nothing is written of a pool: the API server refuses what it changes, or
// what a pool around it does.
func (m *movers) refuses(pool string) bool {
	return m.obstacles[m.waiting[pool]].refused
}

// wants reports whether a pool still wants a key of the node; of annotations, that is not known
// of a pool that the node is in.
func (m *movers) wants(pool string, field Field, key string) bool {
	of := m.rollouts.of(pool)
	_, says := of.labels[key]
	if field == Taint {
		says = slices.ContainsFunc(of.taints, func(taint v1.Taint) bool {
			return render.TaintID{Key: taint.Key, Effect: taint.Effect}.String() == key
		})
	}
	return slices.Contains(m.p.Pools, pool) && (says || field == Annotation || key == v1.RoleLabel(pool))
}

// recordedWant wants what the record says, so that the rule changes nothing of it. A pool
// that takes over goes on to remember what others have put there meanwhile.
func (r *Rollouts) recordedWant(entry Entry) render.Want {
	want := render.Want{Value: entry.Value, Pool: entry.Pool, Policy: v1.ReportConflicts}
	switch {
	case entry.Adopted:
		want.Policy = v1.Adopt
	case entry.Before != nil || r.of(entry.Pool).policy == v1.TakeOver:
		want.Policy = v1.TakeOver
	}
	return want
}

// reach is how far a policy goes against a value that somebody else has set. None is that of one who
// reports.
func reach(policy v1.ConflictPolicy) int {
	return max(0, slices.Index([]v1.ConflictPolicy{v1.ReportConflicts, v1.TakeOver, v1.Adopt}, policy))
}
