package plan

import (
	"maps"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// LastChange is what a node has followed in its turn; the zero value is that of a node of
// which that was long ago.
type LastChange struct {
	// At is when the node last began to follow something.
	At time.Time
	// Pools are those that the node is in, and has followed.
	Pools map[string]FollowedPool
	// Drains are the NoExecute taints that it gets when it is drained.
	Drains map[render.TaintID]DrainedTaint
}

// DrainedTaint is a NoExecute taint that a node gets when it is drained.
type DrainedTaint struct {
	// Pool wants the taint, and Value is the one that it wants.
	Pool, Value string
	// Since is when the node began to be drained of it, and Stands when it last got the taint
	// that keeps pods off meanwhile.
	Since, Stands time.Time
	// Before is the NoSchedule taint that pools gave the node before one kept pods off; nil
	// for none.
	Before *string
}

// FollowedPool is what a node has followed of a pool.
type FollowedPool struct {
	// At is when it began, or, where the node was drained for it, when that ended. Unready reports that the node was not ready then: that it is not
	// ready later, the change has not caused.
	At      time.Time
	Unready bool
	// Content stands for what the pool said of labels and taints. Keys stand for what it said
	// of those that changed with it, key by key, sorted: see [rollout.saying]. There are none
	// of what was followed before records had them, and where there was no room: then Content
	// stands for all of it.
	Content string
	Keys    []string
	// Commit is that of the revision which said it, in short; empty where that is not known. It
	// decides nothing, and no write is due because of it.
	Commit string
	// Labels and Taints are the values of the keys that changed with it as they were before;
	// nil for what no pool had put there. There are none where the change itself put back
	// what was before.
	Labels map[string]*string
	Taints map[render.TaintID]*string
}

// equal leaves the commit aside, by which nothing is decided.
func (f FollowedPool) equal(other FollowedPool) bool {
	return f.At.Equal(other.At) && f.Unready == other.Unready && f.Content == other.Content &&
		slices.Equal(f.Keys, other.Keys) && maps.EqualFunc(f.Labels, other.Labels, ptr.Equal) && maps.EqualFunc(f.Taints, other.Taints, ptr.Equal)
}

// LastChangeOf is the last change that a node has followed in its turn, by its record;
// zero where that cannot be read. Of the node no more is needed than its metadata.
func LastChangeOf(node interface{ GetAnnotations() map[string]string }) LastChange {
	record, err := recordTexts.read(node.GetAnnotations()[v1.AppliedAnnotation])
	if err != nil {
		return LastChange{}
	}
	return record.Change
}

// Equal reports whether two changes are the same.
func (c LastChange) Equal(other LastChange) bool {
	return c.At.Equal(other.At) && maps.EqualFunc(c.Pools, other.Pools, FollowedPool.equal) && c.equalDrains(other)
}

func (c LastChange) equalDrains(other LastChange) bool {
	return maps.EqualFunc(c.Drains, other.Drains, func(a, b DrainedTaint) bool {
		return a.Pool == b.Pool && a.Value == b.Value && a.Since.Equal(b.Since) && a.Stands.Equal(b.Stands) && ptr.Equal(a.Before, b.Before)
	})
}

// Drained are the pools for which the node is drained, sorted.
func (c LastChange) Drained() []string {
	var pools []string
	for _, drained := range c.Drains {
		pools = append(pools, drained.Pool)
	}
	slices.Sort(pools)
	return slices.Compact(pools)
}

// drainedFor reports whether the node is drained for a pool.
func (c LastChange) drainedFor(pool string) bool {
	for _, drained := range c.Drains {
		if drained.Pool == pool {
			return true
		}
	}
	return false
}

// NoLaterThan is the change with no time after another one.
func (c LastChange) NoLaterThan(at time.Time) LastChange {
	if !c.At.After(at) {
		return c
	}
	c.At, c.Pools = at, maps.Clone(c.Pools)
	for pool, followed := range c.Pools {
		if followed.At.After(at) {
			followed.At = at
			c.Pools[pool] = followed
		}
	}
	return c
}

// Behind reports whether another change is a later one: by its time, or, within the same
// second, by what has begun with it.
func (c LastChange) Behind(other LastChange) bool {
	if !c.At.Equal(other.At) {
		return c.At.Before(other.At)
	}
	for pool, followed := range other.Pools {
		if is, known := c.Pools[pool]; followed.At.Equal(other.At) && (!known || !is.At.Equal(followed.At)) {
			return true
		}
	}
	for id, drained := range other.Drains {
		if is, known := c.Drains[id]; drained.Since.Equal(other.At) && (!known || !is.Since.Equal(drained.Since)) {
			return true
		}
	}
	return false
}

// revertPeriod is for how long what a node had before it followed a change counts as that:
// what comes back later is a change like any other.
const revertPeriod = 7 * 24 * time.Hour

// reverts reports whether all that a plan does with the keys of a pool puts back what they
// were before the node followed that pool last.
func (r *Rollouts) reverts(p *NodePlan, pool string, now time.Time) bool {
	followed, known := p.recorded.Change.Pools[pool]
	if !known || !now.Before(followed.At.Add(revertPeriod)) {
		return false
	}
	labels, taints := p.changedLabels(pool), r.changedTaints(p, pool)
	return len(labels)+len(taints) > 0 && restores(labels, followed.Labels) && restores(taints, followed.Taints)
}

// changedLabels are the labels that a plan changes, and that have to do with a pool.
func (p *NodePlan) changedLabels(pool string) map[string]keyValues {
	return changedKeys(pool, p.recorded.Labels, p.Record.Labels, p.desired.Labels)
}

// changedTaints are the taints that a plan changes, and that have to do with a pool, but
// for those by which it ends a drain.
func (r *Rollouts) changedTaints(p *NodePlan, pool string) map[render.TaintID]keyValues {
	changed := changedKeys(pool, p.recorded.Taints, p.Record.Taints, p.desired.Taints)
	maps.DeleteFunc(changed, func(id render.TaintID, _ keyValues) bool { return r.completes(p, id) })
	return changed
}

// restores reports whether changes all lead to what was before.
func restores[K comparable](changes map[K]keyValues, before map[K]*string) bool {
	for key, change := range changes {
		was, known := before[key]
		if !known || (was == nil) != (change.after == nil) || was != nil && *was != *change.after {
			return false
		}
	}
	return true
}

// keyValues are the values that pools give a key before and after a plan; nil for none.
type keyValues struct{ before, after *string }

// changedKeys are the keys of a field that a plan changes, and that a pool has, gets, wants
// or agrees on.
func changedKeys[K comparable](pool string, recorded, record map[K]Entry, desired map[K]render.Want) map[K]keyValues {
	changed := map[K]keyValues{}
	consider := func(key K) {
		before, had := recorded[key]
		after, has := record[key]
		if had == has && before.Value == after.Value {
			return
		}
		want := desired[key]
		if before.Pool != pool && after.Pool != pool && want.Pool != pool && !slices.Contains(want.Agreeing, pool) {
			return
		}
		values := keyValues{}
		if had {
			values.before = &before.Value
		}
		if has {
			values.after = &after.Value
		}
		changed[key] = values
	}
	for key := range recorded {
		consider(key)
	}
	for key := range record {
		consider(key)
	}
	return changed
}

// begun is what a node has followed with a plan that disrupts it for some pools, of which
// staged is written now, and the rest when it is drained.
func (f NodeFacts) begun(p, staged *NodePlan, allowed Allowed) LastChange {
	c := p.recorded.Change.at(f.Now)
	continues := slices.ContainsFunc(allowed.Begins, func(pool string) bool { return f.Rollouts.continues(p, pool) })
	maps.DeleteFunc(c.Pools, func(pool string, followed FollowedPool) bool {
		return !slices.Contains(p.Pools, pool) && !(continues && followed.At.Equal(p.recorded.Change.At))
	})
	for _, pool := range allowed.Begins {
		of := f.Rollouts.of(pool)
		if f.Rollouts.continues(p, pool) {
			c.Pools[pool] = p.recorded.Change.Pools[pool].continued(c.At, f.unready(pool, allowed.unmet))
			continue
		}
		followed := FollowedPool{
			At: c.At, Unready: f.unready(pool, allowed.unmet), Content: of.content,
			Keys: of.follows(p.changedLabels(pool), f.Rollouts.changedTaints(p, pool)), Commit: of.commit,
		}
		if !f.Rollouts.reverts(p, pool, f.Now) {
			followed.Labels, followed.Taints = map[string]*string{}, map[render.TaintID]*string{}
			for _, written := range []*NodePlan{p, staged} {
				for key, values := range written.changedLabels(pool) {
					followed.Labels[key] = values.before
				}
				for id, values := range f.Rollouts.changedTaints(written, pool) {
					followed.Taints[id] = values.before
				}
			}
		}
		if before, known := c.Pools[pool]; known && c.At.Before(before.At.Add(f.Rollouts.failurePeriodOf(p, pool))) {
			followed = of.followedSince(before, followed)
		}
		c.Pools[pool] = followed
	}
	return c
}

// continues reports whether all that a plan does with the keys of a pool is the rest of the
// change that the node has followed last, of which a part was written alone: each of these keys
// is still as it was before. See [NodePlan.Walls].
func (r *Rollouts) continues(p *NodePlan, pool string) bool {
	followed, known := p.recorded.Change.Pools[pool]
	if !known || followed.Content != r.of(pool).content {
		return false
	}
	labels, taints := p.changedLabels(pool), r.changedTaints(p, pool)
	return len(labels)+len(taints) > 0 && len(unlike(labels, followed.Labels))+len(unlike(taints, followed.Taints)) == 0
}

// continued is what a node has followed, of which it gets the rest by now. One that is not
// ready any more fails by what it has got before.
func (f FollowedPool) continued(at time.Time, unready bool) FollowedPool {
	if f.Unready || !unready {
		f.At, f.Unready = at, unready
	}
	return f
}

// kept is the change that stays with a write that begins nothing: what the pools say by now
// the node has followed as well, where nothing of it waits. Keys that change with it no
// longer go back to what was before, unless they are that still.
func (f NodeFacts) kept(p *NodePlan, wait NodeWait) LastChange {
	c := p.recorded.Change
	if f.Rollouts == nil {
		return c
	}
	c.Pools = maps.Clone(c.Pools)
	for pool, followed := range c.Pools {
		of := f.Rollouts.of(pool)
		if wait.Of(pool) == nil && of.content != "" && !c.drainedFor(pool) {
			followed.Content, followed.Commit = of.content, of.commit
		}
		labels, taints := unlike(p.changedLabels(pool), followed.Labels), unlike(f.Rollouts.changedTaints(p, pool), followed.Taints)
		followed.Keys = of.without(followed.Keys, labels, taints)
		followed.Labels, followed.Taints = without(followed.Labels, labels), without(followed.Taints, taints)
		c.Pools[pool] = followed
	}
	return c
}

// failurePeriodOf is for how long, at the most, a node of a plan may fail by what it has
// followed of a pool while other waves than its own go on.
func (r *Rollouts) failurePeriodOf(p *NodePlan, pool string) time.Duration {
	period := failurePeriod
	for _, one := range r.among(p.concerned(), func(one *rollout) bool { return one.limits() && one.governs(r.of(pool)) }) {
		period = max(period, one.minReady)
		for _, w := range one.waves {
			period = max(period, w.soak)
		}
	}
	return period
}

// unlike are the changes of keys that were something else before the last change, or of which
// it is not known what they were.
func unlike[K comparable](changes map[K]keyValues, before map[K]*string) map[K]keyValues {
	if len(before) == 0 || len(changes) == 0 {
		return changes
	}
	others := maps.Clone(changes)
	maps.DeleteFunc(others, func(key K, change keyValues) bool {
		was, known := before[key]
		return known && ptr.Equal(was, change.before)
	})
	return others
}

// without are the values of keys that do not change.
func without[K comparable](before map[K]*string, changed map[K]keyValues) map[K]*string {
	if len(before) == 0 || len(changed) == 0 {
		return before
	}
	left := maps.Clone(before)
	maps.DeleteFunc(left, func(key K, _ *string) bool { _, changes := changed[key]; return changes })
	return left
}

// drained is a change with which a node is drained of some taints. Of what it has got
// instead, that it is not ready by now may be for the first write.
func (c LastChange) drained(drains map[render.TaintID]DrainedTaint, at time.Time) LastChange {
	c.At, c.Pools = at, maps.Clone(c.Pools)
	for id, drained := range c.Drains {
		followed, known := c.Pools[drained.Pool]
		if _, still := drains[id]; !still && known {
			followed.At = at
			c.Pools[drained.Pool] = followed
		}
	}
	c.Drains = drains
	return c
}

// maxSetBack is by how much a clock may be set back without notice: a time further ahead was
// wrong.
const maxSetBack = time.Hour

// at is the change with a time that is no earlier than now, in whole seconds, and later than
// its own: it is to be seen which of two is the later one.
func (c LastChange) at(now time.Time) LastChange {
	pools := maps.Clone(c.Pools)
	if pools == nil {
		pools = map[string]FollowedPool{}
	}
	at := inSeconds(now)
	if !at.After(c.At) && c.At.Before(at.Add(maxSetBack)) {
		at = c.At.Add(time.Second)
	}
	return LastChange{At: at, Pools: pools, Drains: c.Drains}
}

// inSeconds is a time that is no earlier than another one, in whole seconds.
func inSeconds(now time.Time) time.Time { return now.UTC().Add(time.Second - 1).Truncate(time.Second) }
