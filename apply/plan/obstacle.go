package plan

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/render"
)

// obstacle is why a pool changes nothing on a node until somebody acts: the API server refuses
// that, or the node is not drained of a taint, as no pod would be evicted while others come, and
// with [v1.HoldOnTimeout] that would never end.
type obstacle struct {
	text string
	// refused reports that it is what the API server says, and leaving that this is about what
	// the pool releases of a node that it has lost.
	refused, leaving bool
	// by is the pool that says how the node is drained, and value is that of the taint.
	by    *rollout
	value string
}

// remedy says what to do about it.
func (o obstacle) remedy() string {
	return fmt.Sprintf("the node follows when that taint is gone, or has the value %q as well; or after the timeout of the drain, with onTimeout Force in pool %q", o.value, o.by.name)
}

// obstruct looks for what keeps nodes from being drained of the taints of a plan, while some
// pools wait, and reports whether there is more of it than was known. All pools that want such
// a taint wait then, and so does the one that gives up the value that stands there until the
// node is drained. A pool moves whole, so nothing else of it comes either: its labels would draw
// pods to a node on which its wall is missing. It asks for no turn, which it would not take, and
// takes no place in a budget.
func (m *movers) obstruct(node *NodeState, p *NodePlan, waiting map[string]string) (found bool) {
	for _, change := range p.Changes {
		id, comes := newNoExecute(change)
		want, wanted := p.desired.Taints[id]
		if !comes || !wanted || m.rollouts.completes(p, id) {
			continue
		}
		by := m.rollouts.drainedBy(p, want.Pool)
		if by == nil || by.drain.force {
			continue
		}
		text := m.obstacle(node, p, waiting, id, want)
		if text == "" {
			continue
		}
		pools := append([]string{want.Pool}, want.Agreeing...)
		if entry, had := p.recorded.Taints[id]; had && entry.Pool != want.Pool && m.rollouts.mover(entry.Pool, want.Pool) == entry.Pool {
			pools = append(pools, entry.Pool)
		}
		for _, pool := range pools {
			if _, known := m.obstacles[pool]; !known {
				if m.obstacles == nil {
					m.obstacles = map[string]obstacle{}
				}
				m.obstacles[pool], found = obstacle{text: text, by: by, value: want.Value}, true
			}
		}
	}
	return found
}

// newNoExecute is the NoExecute taint that comes with a change of a pool.
func newNoExecute(change KeyChange) (id render.TaintID, comes bool) {
	if change.Field != Taint || change.After == nil || change.Drift || id.UnmarshalText([]byte(change.Key)) != nil {
		return id, false
	}
	return id, id.Effect == corev1.TaintEffectNoExecute
}

// obstacle is what lets pods come while a node is drained of a taint, if the pools that want it
// go on while others wait. What a stronger pool wants comes while the node is drained, if not
// before; what it gives up may stand for longer than that.
func (m *movers) obstacle(node *NodeState, p *NodePlan, waiting map[string]string, id render.TaintID, want render.Want) string {
	entry, ours := p.recorded.Taints[twinOf(id)]
	desired := p.desired
	if after, takesOver := p.takesOver(node, twinOf(id)); takesOver && (after.Pool == want.Pool || !m.stays(after.Pool, want.Pool, waiting)) {
		entry, ours = after, true
	}
	if _, wanted := desired.Taints[twinOf(id)]; ours && !wanted && m.stays(entry.Pool, want.Pool, waiting) {
		desired.Taints = map[render.TaintID]render.Want{twinOf(id): m.rollouts.recordedWant(entry)}
	}
	return m.rollouts.obstacle(twinState{node, p, desired, entry, ours}, id, want)
}

// takesOver reports whether a plan takes over a taint that somebody else has put there.
func (p *NodePlan) takesOver(node *NodeState, id render.TaintID) (after Entry, takesOver bool) {
	_, ours := p.recorded.Taints[id]
	after, takesOver = p.Record.Taints[id]
	return after, takesOver && !ours && standingAt(node, id) >= 0
}

// standingAt is the position of a taint among those of a node; negative where it has none.
func standingAt(node *NodeState, id render.TaintID) int {
	return slices.IndexFunc(node.Taints, func(taint corev1.Taint) bool { return taint.Key == id.Key && taint.Effect == id.Effect })
}

// stays reports whether what a pool changes stays as it is while another one follows, or asks
// for its turn to do so.
func (m *movers) stays(pool, other string, waiting map[string]string) bool {
	as, waits := waiting[pool]
	if !waits {
		return false
	}
	_, both := waiting[other]
	_, obstructed := m.obstacles[as]
	return !both || obstructed || len(m.windows(as)) > 0
}

// twinState is what there is, and is wanted, of the taint that keeps pods off while a node is
// drained of another one.
type twinState struct {
	node    *NodeState
	p       *NodePlan
	desired render.Desired
	// entry is that of the record; ours reports that there is one.
	entry Entry
	ours  bool
}

// obstacle is what lets pods come while a node is drained of a taint, and cannot be changed:
// what somebody else has put there is not ours to take over, and what a stronger pool wants
// stays. It is empty where nothing does.
func (r *Rollouts) obstacle(s twinState, id render.TaintID, want render.Want) string {
	twin, of := twinOf(id), ""
	stands := standingAt(s.node, twin)
	wanted, known := s.desired.Taints[twin]
	value := wanted.Value
	switch {
	case !s.ours && stands >= 0:
		of, value = "somebody else", s.node.Taints[stands].Value
	case s.ours && s.p.pools.HoldsAgainst(s.entry.Pool, want.Pool) && !(known && !s.p.pools.HoldsAgainst(s.entry.Pool, wanted.Pool)):
		of, value = "the suspended pool "+s.entry.Pool, s.entry.Value
	case known && r.of(wanted.Pool).rank < r.of(want.Pool).rank:
		of = "pool " + wanted.Pool
	}
	if of == "" || value == want.Value {
		return ""
	}
	return fmt.Sprintf("taint %s=%s of %s lets pods come that %s=%s would end", twin, value, of, id, want.Value)
}

// remains reports of a NoExecute taint that it remains on a node, whosever turn it is: all those wait for
// their windows that want another value, and so do all that take over what lets pods come while the
// node is drained of it.
func (m *movers) remains(id render.TaintID) bool {
	open := func(pool string) bool { return len(m.windows(pool)) == 0 }
	opens := func(pool string) bool { return reach(m.rollouts.of(pool).policy) > 0 && open(pool) }
	some := func(want render.Want, is func(pool string) bool) bool {
		return is(want.Pool) || slices.ContainsFunc(want.Agreeing, is)
	}
	twin, want := twinOf(id), m.p.desired.Taints[id]
	_, takesOver := m.p.takesOver(m.node, twin)
	if id == twin || !takesOver || carriesTaint(m.node, twin, want.Value) || some(m.p.desired.Taints[twin], opens) || some(want, open) {
		return false
	}
	by := m.rollouts.drainedBy(m.p, want.Pool)
	return by != nil && !by.drain.force
}

// noTaint reports of no taint that it remains.
func noTaint(render.TaintID) bool { return false }
