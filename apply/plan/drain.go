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
	// Taints come when no pod is left that does not tolerate them.
	Taints []corev1.Taint
	// Began reports that the NoSchedule taints stand on the node, the last one since the
	// time Since.
	Began bool
	Since time.Time
	// Overdue reports that the pods are there for longer than they may be, and that the
	// taints wait all the same.
	Overdue bool
	// Forces reports that the taints come next, once the pods were asked to go a last time.
	Forces bool
	// Obstacle is what keeps more taints from coming before the timeout forces them, of which
	// no pod is evicted: it would only come again. It is empty where nothing does.
	Obstacle string

	// drained are all taints of which the node is drained, and those of Obstacle.
	drained map[render.TaintID]DrainedTaint
}

// settlingPeriod is how long others may take to see what has happened to a node: a scheduler
// the taint that keeps pods off, and who deletes pods for NoExecute taints that a pod is gone.
// It deletes by name, and would end another pod of that name, on whatever node. A node
// without pods is not believed to be without any before.
const settlingPeriod = 5 * time.Second

// Settles is until when a node is not believed to be without pods, which had some last at a
// time; zero where it had none since it is drained.
func (d *Drain) Settles(hadPods time.Time) time.Time {
	return latest(d.Since, hadPods).Add(settlingPeriod)
}

// Pools are those for whose taints the node is drained, sorted.
func (d *Drain) Pools() []string { return LastChange{Drains: d.drained}.Drained() }

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

// completes reports whether a plan gives a node a taint of which it is drained already, for
// the same pool, or makes of the taint that has kept pods off meanwhile what it was before.
// That has begun in its turn and waits for nothing but the pods, whatever else of the pool
// waits by now. Where nodes are drained no more, it is a change like any other.
func (r *Rollouts) completes(p *NodePlan, id render.TaintID) bool {
	of := render.TaintID{Key: id.Key, Effect: corev1.TaintEffectNoExecute}
	if id != of && id != twinOf(of) {
		return false
	}
	drained, known := p.recorded.Change.Drains[of]
	want, wanted := p.desired.Taints[of]
	comes := p.taints.changed[of]
	switch {
	case !known || !wanted || comes == nil || *comes != drained.Value || want.Value != drained.Value:
		return false
	case want.Pool != drained.Pool && !slices.Contains(want.Agreeing, drained.Pool) || r.drainedBy(p, want.Pool) == nil:
		return false
	case id == of:
		return true
	}
	twin, stays := p.desired.Taints[id]
	if !stays { // where it was of this value before, the taint that comes keeps off the same pods
		return drained.Before == nil || *drained.Before == drained.Value
	}
	return drained.Before != nil && *drained.Before == twin.Value
}

// staged is what of an allowed plan may be written before a node is drained, and what has
// to be done meanwhile; the plan itself, and nil, where there is nothing to drain it for.
// Whoever wants a NoExecute taint, and whatever has kept it off until now: pods that do not
// tolerate it are evicted before it comes, unless somebody has only taken it off. A node that
// joins waits for no turn, and may have pods already.
func (f NodeFacts) staged(node *NodeState, allowed Allowed) (*NodePlan, *Drain) {
	p := allowed.Plan
	if f.Rollouts == nil {
		return p, nil
	}
	s := f.staging(node, p)
	switch {
	case len(s.comes) == 0:
		return p, nil
	case len(s.drain.drained) == 0:
		return weighDesired(node, p.ownership, s.desired, p.pools).without(p.withheldKeys()), nil
	}
	kept := LastChange{At: p.recorded.Change.at(f.Now).At, Drains: s.drain.drained}
	left := p.withheldKeys()
	for _, taint := range s.drain.Taints { // whatever becomes otherwise of what keeps pods off meanwhile
		delete(left, repairKey{Taint, twinOf(render.TaintID{Key: taint.Key}).String()})
	}
	staged := weighDesired(node, p.ownership, s.desired, p.pools).without(left)
	staged.Record.Change = kept
	for _, come := range s.comes {
		id := render.TaintID{Key: come.Taint.Key, Effect: come.Taint.Effect}
		if come.Obstacle == "" && !staged.Record.hasTaint(twinOf(id), come.Taint.Value) && !carriesTaint(node, twinOf(id), come.Taint.Value) {
			delete(s.drain.drained, id)
			s.drain.Began = false
		}
	}
	return staged, s.drain
}

// staging is a plan whose NoExecute taints are looked at one after the other.
type staging struct {
	NodeFacts
	node    *NodeState
	p       *NodePlan
	desired render.Desired
	drain   *Drain
	// comes are the taints that are left out, and how they come.
	comes []DrainBefore
}

// staging leaves out of a plan all taints of which the node has to be drained.
func (f NodeFacts) staging(node *NodeState, p *NodePlan) *staging {
	s := &staging{NodeFacts: f, node: node, p: p, desired: p.desired, drain: &Drain{Began: true, drained: map[render.TaintID]DrainedTaint{}}}
	s.desired.Taints = maps.Clone(s.desired.Taints)
	for _, change := range p.Changes {
		if id, comes := newNoExecute(change); comes {
			s.stage(id)
		}
	}
	return s
}

// stage leaves out a NoExecute taint of which the node has to be drained.
func (s *staging) stage(id render.TaintID) {
	r, p := s.Rollouts, s.p
	want, wanted := p.desired.Taints[id]
	by := r.drainedBy(p, want.Pool)
	if !wanted || by == nil { // or it is somebody else's, and is given back
		return
	}
	drained, began := s.drainedSince(id, want)
	entry, ours := p.recorded.Taints[twinOf(id)]
	obstacle, stands := r.obstacle(twinState{s.node, p, s.desired, entry, ours}, id, want), carriesTaint(s.node, twinOf(id), want.Value)
	overdue := began && !s.Now.Before(drained.Since.Add(by.drain.timeout))
	if began && s.Drained && obstacle == "" && stands || overdue && by.drain.force && s.Evicted && !r.closedFor(p, want.Pool, s.Now) {
		return
	}
	if entry, had := p.recorded.Taints[id]; had { // with another value, which stays until then
		s.desired.Taints[id] = r.recordedWant(entry)
	} else {
		delete(s.desired.Taints, id)
	}
	taint := corev1.Taint{Key: id.Key, Value: want.Value, Effect: id.Effect}
	s.comes = append(s.comes, DrainBefore{Taint: taint, Timeout: by.drain.timeout, Force: by.drain.force, Obstacle: obstacle})
	if _, takesOver := p.takesOver(s.node, twinOf(id)); obstacle != "" && !by.drain.force && !takesOver {
		return // it would never end: it does not begin, or is given up
	}
	d := s.drain
	if obstacle == "" && !stands {
		drained.Stands = inSeconds(s.Now)
	}
	d.drained[id], d.Began, d.Overdue = drained, d.Began && began && (stands || obstacle != ""), d.Overdue || overdue
	if obstacle != "" {
		d.Obstacle = obstacle
		return
	}
	s.keepOff(twinOf(id), want)
	d.Forces = d.Forces || overdue && by.drain.force && !r.closedFor(p, want.Pool, s.Now)
	d.Taints, d.Since = append(d.Taints, taint), latest(d.Since, drained.Stands)
}

// drainedSince says since when a node is drained of a taint, and reports whether it is already.
func (s *staging) drainedSince(id render.TaintID, want render.Want) (drained DrainedTaint, began bool) {
	drained, known := s.p.recorded.Change.Drains[id]
	began = known && drained.Value == want.Value && (drained.Pool == want.Pool || slices.Contains(want.Agreeing, drained.Pool))
	if now := inSeconds(s.Now); !began || drained.Since.After(now) { // by a clock that is ahead
		drained.Since, drained.Stands, began = now, now, false
	}
	if entry, had := s.p.recorded.Taints[twinOf(id)]; !known && had {
		drained.Before = &entry.Value
	}
	drained.Pool, drained.Value = want.Pool, want.Value
	return drained, began
}

// twinOf is the taint that keeps pods off while a node is drained of a NoExecute taint.
func twinOf(id render.TaintID) render.TaintID {
	return render.TaintID{Key: id.Key, Effect: corev1.TaintEffectNoSchedule}
}

// Twin is the taint that keeps pods off a node while it is drained of a NoExecute taint.
func Twin(taint corev1.Taint) corev1.Taint {
	taint.Effect = corev1.TaintEffectNoSchedule
	return taint
}

// keepOff has a taint keep pods off while a node is drained. What a weaker pool wants of it
// lets other pods come, and comes back later; what somebody else has put there is as good.
func (s *staging) keepOff(twin render.TaintID, want render.Want) {
	_, ours := s.p.recorded.Taints[twin]
	if wanted, known := s.desired.Taints[twin]; known && wanted.Value == want.Value || !ours && carriesTaint(s.node, twin, want.Value) {
		return
	}
	s.desired.Taints[twin] = want
}

// drains are the taints of which the node is drained after a write: those of a drain, and
// others that a full plan wants still, and whose pools wait, or hold still.
func (f NodeFacts) drains(full, p *NodePlan, wait NodeWait, drain *Drain) map[render.TaintID]DrainedTaint {
	drains := map[render.TaintID]DrainedTaint{}
	for id, drained := range p.recorded.Change.Drains {
		want, wanted := full.desired.Taints[id]
		waits := wanted && want.Value == drained.Value && wait.Of(drained.Pool) != nil
		if p.Record.hasTaint(twinOf(id), drained.Value) && !p.Record.hasTaint(id, drained.Value) && (waits || p.pools.Holds(drained.Pool)) {
			drains[id] = drained
		}
	}
	if drain == nil {
		return drains
	}
	for id, drained := range drain.drained {
		// What somebody takes off again and again is put back later, and stands from then on.
		if was, known := p.recorded.Change.Drains[id]; known && p.taints.withheld[twinOf(id)] {
			drained.Stands = was.Stands
		}
		drains[id] = drained
	}
	return drains
}

// closedFor reports whether a pool that governs another one on a node is closed at a time.
func (r *Rollouts) closedFor(p *NodePlan, pool string, now time.Time) bool {
	return slices.ContainsFunc(r.closedOf(p.concerned(), now), func(one *rollout) bool { return one.governs(r.of(pool)) })
}

func carriesTaint(node *NodeState, id render.TaintID, value string) bool {
	return slices.ContainsFunc(node.Taints, func(taint corev1.Taint) bool {
		return taint.Key == id.Key && taint.Effect == id.Effect && taint.Value == value
	})
}

// drainedBy is the strongest of the pools of a node which governs a pool and drains nodes;
// nil where none does.
func (r *Rollouts) drainedBy(p *NodePlan, pool string) *rollout {
	found := r.among(p.concerned(), func(one *rollout) bool { return one.drain != nil && one.governs(r.of(pool)) })
	if len(found) == 0 {
		return nil
	}
	return found[0]
}

// concerned are the pools that a node is in, or carries keys of.
func (p *NodePlan) concerned() []string {
	return slices.AppendSeq(slices.Clone(p.Pools), maps.Keys(p.recorded.Pools()))
}
