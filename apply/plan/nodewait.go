package plan

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// joiningPeriod is how long a node counts as one that joins: its labels may come one
// after the other.
const joiningPeriod = 15 * time.Minute

// NodeWait are the pools whose changes a node does not follow yet, sorted by name.
type NodeWait []*PoolWait

// Of is the wait for one pool; nil where its changes do not wait.
func (w NodeWait) Of(pool string) *PoolWait {
	at, found := slices.BinarySearchFunc(w, pool, func(one *PoolWait, name string) int { return strings.Compare(one.Pool, name) })
	if !found {
		return nil
	}
	return w[at]
}

// Until is when the wait has to be decided anew; zero where nothing is found to end it.
func (w NodeWait) Until() time.Time {
	var first time.Time
	for _, one := range w {
		if first.IsZero() || !one.Until.IsZero() && one.Until.Before(first) {
			first = one.Until
		}
	}
	return first
}

// Equal reports whether two waits say the same.
func (w NodeWait) Equal(other NodeWait) bool { return slices.EqualFunc(w, other, (*PoolWait).Equal) }

// Allowed is what of a plan for a node may be written.
type Allowed struct {
	Plan *NodePlan
	// Wait are the pools whose changes wait.
	Wait NodeWait
	// Asks are the pools in whose rollouts the node waits for its turn, sorted: see
	// [Rollouts.Turns].
	Asks []string
	// Begins reports that the plan has changes that had to wait for a turn.
	Begins bool
}

// Allow returns what of a plan for a node may be written at a time, where it is the turn
// of the node in the rollouts of some pools. What pools see of the node when all of them
// have moved they do not see yet: where one waits, the others go by what there is.
func (r *Rollouts) Allow(node *NodeState, p *NodePlan, now time.Time, turns []string) Allowed {
	allowed := r.wait(node, p, now, turns)
	if len(allowed.Wait) == 0 {
		return allowed
	}
	if p.step != nil {
		step := r.wait(node, p.step, now, turns)
		if len(step.Wait) == 0 {
			step.Wait, step.Asks = allowed.Wait, allowed.Asks
			return step
		}
		allowed = step
	}
	allowed.Plan = allowed.Plan.holding(node, allowed.Wait, r)
	return allowed
}

// Wait returns the pools whose changes a node may not follow at a time, of a plan for it,
// turns left aside.
//
// A pool moves whole: where one of its changes is disruptive, all of them wait.
// Disruptive is what may keep pods off the node, or end them there: that a label changes
// or goes, and that a NoSchedule or NoExecute taint comes, changes or goes. What was
// changed by hand is no change of a pool. Nodes that join wait for nothing.
func (r *Rollouts) Wait(node *NodeState, p *NodePlan, now time.Time) NodeWait {
	return slices.DeleteFunc(r.wait(node, p, now, nil).Wait, func(wait *PoolWait) bool { return wait.Turn })
}

func (r *Rollouts) wait(node *NodeState, p *NodePlan, now time.Time, turns []string) Allowed {
	if r == nil || p.NoOp() {
		return Allowed{Plan: p}
	}
	closed, limiting := r.closedOf(p.concerned(), now), r.limiting(p.concerned())
	if len(closed)+len(limiting) == 0 {
		return Allowed{Plan: p}
	}
	windows, limits := map[string][]*rollout{}, map[string][]string{}
	for _, name := range p.concerned() {
		changing := r.pools[name]
		if changing == nil || windows[name] != nil || limits[name] != nil || joins(node, p.recorded, changing, now) {
			continue
		}
		for _, one := range closed {
			if one.governs(changing) {
				windows[name] = append(windows[name], one)
			}
		}
		for _, one := range limiting {
			if one.governs(changing) {
				limits[name] = append(limits[name], one.name)
			}
		}
	}
	hasTurn := func(pool string) bool {
		return !slices.ContainsFunc(limits[pool], func(limiting string) bool { return !slices.Contains(turns, limiting) })
	}
	a := Allowed{Plan: p}
	for _, name := range r.disrupted(p, func(pool string) bool { return windows[pool] == nil && hasTurn(pool) }) {
		if windows[name] != nil {
			a.Wait = append(a.Wait, r.waitFor(name, windows[name], now))
			continue
		}
		a.Wait, a.Asks = append(a.Wait, r.turnFor(name, limits[name], now)), append(a.Asks, limits[name]...)
	}
	slices.Sort(a.Asks)
	a.Asks = slices.Compact(a.Asks)
	begins := func(pool string) bool { return limits[pool] != nil && windows[pool] == nil && hasTurn(pool) }
	a.Begins = len(r.disrupted(p, func(pool string) bool { return !begins(pool) })) > 0
	return a
}

// limiting are those of the named pools in which nodes take turns, sorted.
func (r *Rollouts) limiting(names []string) []*rollout {
	var limiting []*rollout
	for _, name := range names {
		if one := r.pools[name]; one != nil && one.limits() && !slices.Contains(limiting, one) {
			limiting = append(limiting, one)
		}
	}
	slices.SortFunc(limiting, func(a, b *rollout) int { return strings.Compare(a.name, b.name) })
	return limiting
}

// concerned are the pools that the node is in, or carries keys of.
func (p *NodePlan) concerned() []string {
	return slices.AppendSeq(slices.Clone(p.Pools), maps.Keys(p.recorded.Pools()))
}

// joins reports whether a node is new to a pool: it has come since the pool last changed,
// or a moment ago, and has never been up to date.
func joins(node *NodeState, recorded Record, pool *rollout, now time.Time) bool {
	if node.Created.IsZero() {
		return false
	}
	young, untouched := now.Sub(node.Created.Time) <= joiningPeriod, recorded.Empty()
	if node.Created.Time.Before(pool.changed) {
		return young && untouched
	}
	return young || untouched
}

// disrupted are the pools that have a disruptive change on the node and are not free to
// make it, sorted. A value on which pools agree comes as soon as one of them is free.
func (r *Rollouts) disrupted(p *NodePlan, free func(pool string) bool) []string {
	pools := map[string]bool{}
	note := func(name string) { pools[name] = true }
	wanted := func(want render.Want) {
		if !free(want.Pool) && !slices.ContainsFunc(want.Agreeing, free) {
			note(want.Pool)
			for _, name := range want.Agreeing {
				note(name)
			}
		}
	}
	consider := func(entry Entry, ours bool, want render.Want, still bool) {
		if ours && (!still || want.Pool != entry.Pool && !r.causes(want.Pool, entry.Pool)) {
			note(entry.Pool)
		} else {
			wanted(want)
		}
	}
	for key, want := range p.desired.Labels {
		if entry, ours := p.recorded.Labels[key]; ours && want.Value != entry.Value || !ours && p.replaces(key) {
			consider(entry, ours, want, true)
		}
	}
	for id, want := range p.desired.Taints {
		entry, ours := p.recorded.Taints[id]
		if _, changes := p.taints.changed[id]; disruptive(id) && (ours && want.Value != entry.Value || !ours && changes) {
			consider(entry, ours, want, true)
		}
	}
	for key, entry := range p.recorded.Labels {
		if _, still := p.desired.Labels[key]; !still {
			consider(entry, true, render.Want{}, false)
		}
	}
	for id, entry := range p.recorded.Taints {
		if _, still := p.desired.Taints[id]; disruptive(id) && !still {
			consider(entry, true, render.Want{}, false)
		}
	}
	maps.DeleteFunc(pools, func(name string, _ bool) bool { return free(name) })
	return slices.Sorted(maps.Keys(pools))
}

// replaces reports whether the change of a label has a value before it.
func (p *NodePlan) replaces(label string) bool {
	at, found := slices.BinarySearchFunc(p.Changes, KeyChange{Field: Label, Key: label}, compareKeyChanges)
	return found && p.Changes[at].Before != nil
}

func disruptive(id render.TaintID) bool { return id.Effect != corev1.TaintEffectPreferNoSchedule }

// holding is the plan for a node of which the changes of some pools wait: it wants of
// them what they have put there by the record, and of all others what the full plan
// wants. So what somebody changed by hand is put back, to the value of the record.
func (p *NodePlan) holding(node *NodeState, wait NodeWait, rollouts *Rollouts) *NodePlan {
	h := holder{wait: wait, rollouts: rollouts}
	desired := render.Desired{
		Pools:       p.desired.Pools,
		Labels:      hold(h, p.desired.Labels, p.recorded.Labels),
		Annotations: hold(h, p.desired.Annotations, p.recorded.Annotations),
		Taints:      hold(h, p.desired.Taints, p.recorded.Taints),
	}
	return weighDesired(node, p.recorded, desired, p.pools)
}

type holder struct {
	wait     NodeWait
	rollouts *Rollouts
}

// hold returns what is wanted of a node while the changes of some pools wait.
func hold[K comparable](h holder, want map[K]render.Want, recorded map[K]Entry) map[K]render.Want {
	held := make(map[K]render.Want, len(want))
	for key, wanted := range want {
		wanted, free := h.inTheNameOfAnother(wanted)
		entry, ours := recorded[key]
		switch {
		case ours && h.keeps(entry, wanted, free):
			held[key] = recordedWant(entry)
		case free:
			held[key] = wanted
		}
	}
	for key, entry := range recorded {
		if _, wanted := want[key]; !wanted && h.waits(entry.Pool) {
			held[key] = recordedWant(entry)
		}
	}
	return held
}

func (h holder) waits(pool string) bool { return h.wait.Of(pool) != nil }

// inTheNameOfAnother is a want of which the pool waits, and another one that agrees on
// the value does not. It reports whether there is one that does not wait.
func (h holder) inTheNameOfAnother(want render.Want) (render.Want, bool) {
	if !h.waits(want.Pool) {
		return want, true
	}
	for _, name := range want.Agreeing {
		if !h.waits(name) {
			want.Agreeing = slices.Sorted(slices.Values(append(slices.DeleteFunc(slices.Clone(want.Agreeing), func(other string) bool { return other == name }), want.Pool)))
			want.Pool, want.Policy = name, h.rollouts.policyOf(name)
			return want, true
		}
	}
	return want, false
}

// keeps reports whether an entry of the record stays as it is, though a key is wanted
// otherwise, and whoever wants it is free or not.
func (h holder) keeps(entry Entry, want render.Want, free bool) bool {
	if entry.Pool == want.Pool || h.rollouts.causes(want.Pool, entry.Pool) {
		return !free
	}
	return h.waits(entry.Pool)
}

// recordedWant wants what the record says, so that the rule changes nothing of it.
func recordedWant(entry Entry) render.Want {
	want := render.Want{Value: entry.Value, Pool: entry.Pool, Policy: v1.ReportConflicts}
	switch {
	case entry.Adopted:
		want.Policy = v1.Adopt
	case entry.Before != nil:
		want.Policy = v1.TakeOver
	}
	return want
}
