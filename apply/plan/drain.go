package plan

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// Drain is what has to happen on a node before it gets new NoExecute taints: pods that do
// not tolerate them are evicted, while NoSchedule taints in their place keep others off.
type Drain struct {
	// Pools want the taints, sorted.
	Pools []string
	// Taints come when no pod is left that does not tolerate them.
	Taints []corev1.Taint
	// Began reports that the NoSchedule taints stand on the node, since the time Since.
	Began bool
	Since time.Time
	// Overdue reports that the pods are there for longer than they may be, and that the
	// taints wait all the same.
	Overdue bool
}

// settlingPeriod is how long a scheduler may take to see the taint that keeps pods off: a
// node without pods is not believed to be without any before.
const settlingPeriod = 2 * time.Second

// Settles is until when pods may still come to the node.
func (d *Drain) Settles() time.Time { return d.Since.Add(settlingPeriod) }

// draining is how the nodes of a pool are drained.
type draining struct {
	timeout time.Duration
	force   bool
}

// defaultDrainTimeout is that of a pool which says none.
const defaultDrainTimeout = time.Hour

func drainingOf(drain *v1.Drain) *draining {
	if drain == nil {
		return nil
	}
	d := &draining{timeout: defaultDrainTimeout, force: drain.OnTimeout == v1.ForceOnTimeout}
	if drain.Timeout != nil {
		d.timeout = drain.Timeout.Duration
	}
	return d
}

// completes reports whether a node is drained for a pool that says the same as when it
// began: what is left of its changes waits for nothing but that. Where nodes are drained no
// more, it is a change like any other.
func (r *Rollouts) completes(p *NodePlan, pool *rollout) bool {
	followed := p.recorded.Change.Pools[pool.name]
	return followed.Drains && followed.Content == pool.content && r.drainedBy(p, pool.name) != nil
}

// staged is what of an allowed plan may be written before a node is drained, and what has
// to be done meanwhile; the plan itself, and nil, where there is nothing to drain it for.
func (f NodeFacts) staged(node *NodeState, allowed Allowed) (*NodePlan, *Drain) {
	p, r := allowed.Plan, f.Rollouts
	if r == nil {
		return p, nil
	}
	drain := &Drain{Since: p.recorded.Change.At, Began: true}
	desired := p.desired
	desired.Taints = maps.Clone(desired.Taints)
	for _, change := range p.Changes {
		var id render.TaintID
		if change.Field != Taint || change.After == nil || change.Drift || id.UnmarshalText([]byte(change.Key)) != nil || id.Effect != corev1.TaintEffectNoExecute {
			continue
		}
		want, by := desired.Taints[id], r.drainedBy(p, change.Pool)
		completes := r.completes(p, r.of(change.Pool))
		if by == nil || !completes && !slices.Contains(allowed.Begins, change.Pool) {
			continue
		}
		since := p.recorded.Change.Pools[change.Pool].At
		overdue := completes && !f.Now.Before(since.Add(by.drain.timeout))
		twin := render.TaintID{Key: id.Key, Effect: corev1.TaintEffectNoSchedule}
		if completes && f.Drained && carriesTaint(node, twin) || overdue && by.drain.force && !r.closedFor(p, change.Pool, f.Now) {
			continue
		}
		drain.Began, drain.Overdue = drain.Began && completes, drain.Overdue || overdue
		drain.Pools = append(drain.Pools, change.Pool)
		drain.Taints = append(drain.Taints, corev1.Taint{Key: id.Key, Value: want.Value, Effect: id.Effect})
		delete(desired.Taints, id)
		if entry, had := p.recorded.Taints[id]; had { // with another value, which stays until then
			desired.Taints[id] = (holder{rollouts: r}).recordedWant(entry)
		}
		_, ours := p.recorded.Taints[twin]
		switch {
		case !ours && carriesTaint(node, twin):
			// Somebody else's keeps pods off, and is not ours to take over or to take off later.
		case desired.Taints[twin].Pool == "" || r.of(want.Pool).rank < r.of(desired.Taints[twin].Pool).rank:
			// What a weaker pool wants of it lets other pods come, and comes back later.
			desired.Taints[twin] = want
		}
	}
	if len(drain.Taints) == 0 {
		return p, nil
	}
	slices.Sort(drain.Pools)
	drain.Pools = slices.Compact(drain.Pools)
	return weighDesired(node, p.recorded, desired, p.pools), drain
}

// closedFor reports whether a pool that governs another one on a node is closed at a time.
func (r *Rollouts) closedFor(p *NodePlan, pool string, now time.Time) bool {
	concerned := slices.AppendSeq(slices.Clone(p.Pools), maps.Keys(p.recorded.Pools()))
	return slices.ContainsFunc(r.closedOf(concerned, now), func(one *rollout) bool { return one.governs(r.of(pool)) })
}

func carriesTaint(node *NodeState, id render.TaintID) bool {
	return slices.ContainsFunc(node.Taints, func(taint corev1.Taint) bool { return taint.Key == id.Key && taint.Effect == id.Effect })
}

// drainedBy is the strongest of the pools of a node which governs a pool and drains nodes;
// nil where none does.
func (r *Rollouts) drainedBy(p *NodePlan, pool string) *rollout {
	concerned := slices.AppendSeq(slices.Clone(p.Pools), maps.Keys(p.recorded.Pools()))
	found := r.among(concerned, func(one *rollout) bool { return one.drain != nil && one.governs(r.of(pool)) })
	if len(found) == 0 {
		return nil
	}
	return found[0]
}
