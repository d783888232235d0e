package plan

import (
	"maps"
	"slices"
	"time"

	"github.com/nodepools/nodepools/render"
)

// LastChange is what a node has followed in its turn; the zero value is that of a node of
// which that was long ago.
type LastChange struct {
	// At is when the node last began to follow something.
	At time.Time
	// Pools are those that the node is in, and has followed.
	Pools map[string]FollowedPool
}

// FollowedPool is what a node has followed of a pool.
type FollowedPool struct {
	// At is when it began. Unready reports that the node was not ready then: that it is not
	// ready later, the change has not caused.
	At      time.Time
	Unready bool
	// Content stands for what the pool said of labels and taints.
	Content string
	// Labels and Taints are the values of the keys that changed with it as they were before;
	// nil for what no pool had put there. There are none where the change itself put back
	// what was before.
	Labels map[string]*string
	Taints map[render.TaintID]*string
	// Drains reports that the node is drained for it.
	Drains bool
}

func (f FollowedPool) equal(other FollowedPool) bool {
	same := func(a, b *string) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }
	return f.At.Equal(other.At) && f.Unready == other.Unready && f.Content == other.Content && f.Drains == other.Drains &&
		maps.EqualFunc(f.Labels, other.Labels, same) && maps.EqualFunc(f.Taints, other.Taints, same)
}

// LastChangeOf is the last change that a node has followed in its turn, by its record;
// zero where that cannot be read.
func LastChangeOf(node *NodeState) LastChange {
	record, err := readRecord(node)
	if err != nil {
		return LastChange{}
	}
	return record.Change
}

// Equal reports whether two changes are the same.
func (c LastChange) Equal(other LastChange) bool {
	return c.At.Equal(other.At) && maps.EqualFunc(c.Pools, other.Pools, FollowedPool.equal)
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
		if is, known := c.Pools[pool]; followed.At.Equal(other.At) && (!known || !is.At.Equal(followed.At) || is.Drains != followed.Drains) {
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
func (c LastChange) reverts(pool string, p *NodePlan, now time.Time) bool {
	followed, known := c.Pools[pool]
	if !known || !now.Before(followed.At.Add(revertPeriod)) {
		return false
	}
	labels := changedKeys(pool, p.recorded.Labels, p.Record.Labels, p.desired.Labels)
	taints := changedKeys(pool, p.recorded.Taints, p.Record.Taints, p.desired.Taints)
	return len(labels)+len(taints) > 0 && restores(labels, followed.Labels) && restores(taints, followed.Taints)
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
func (f NodeFacts) begun(p, staged *NodePlan, pools []string, drain *Drain) LastChange {
	c, _ := f.drained(p, drain)
	maps.DeleteFunc(c.Pools, func(pool string, _ FollowedPool) bool { return !slices.Contains(p.Pools, pool) })
	for _, pool := range pools {
		followed := FollowedPool{At: c.At, Unready: f.Unready, Content: f.Rollouts.of(pool).content}
		followed.Drains = drain != nil && slices.Contains(drain.Pools, pool)
		if !p.recorded.Change.reverts(pool, p, f.Now) {
			followed.Labels, followed.Taints = map[string]*string{}, map[render.TaintID]*string{}
			for _, written := range []*NodePlan{p, staged} {
				for key, values := range changedKeys(pool, written.recorded.Labels, written.Record.Labels, written.desired.Labels) {
					followed.Labels[key] = values.before
				}
				for id, values := range changedKeys(pool, written.recorded.Taints, written.Record.Taints, written.desired.Taints) {
					followed.Taints[id] = values.before
				}
			}
		}
		c.Pools[pool] = followed
	}
	return c
}

// drained is what a node has followed that is drained for all pools but some, and reports
// whether it is for more than before.
func (f NodeFacts) drained(p *NodePlan, drain *Drain) (LastChange, bool) {
	c, ended := p.recorded.Change.at(f.Now), false
	for pool, followed := range c.Pools {
		if followed.Drains && (drain == nil || !slices.Contains(drain.Pools, pool)) {
			followed.Drains, followed.At = false, c.At // that it is not ready by now may be for the first write
			c.Pools[pool], ended = followed, true
		}
	}
	return c, ended
}

// kept is the change that stays with a write that begins nothing: what the pools say by now
// the node has followed as well, where nothing of it waits.
func (f NodeFacts) kept(p *NodePlan, wait NodeWait) LastChange {
	c := p.recorded.Change
	if f.Rollouts == nil {
		return c
	}
	c.Pools = maps.Clone(c.Pools)
	for pool, followed := range c.Pools {
		if of := f.Rollouts.of(pool); wait.Of(pool) == nil && of.content != "" && !followed.Drains {
			followed.Content = of.content
			c.Pools[pool] = followed
		}
	}
	return c
}

// at is the change with a time that is no earlier than now, in whole seconds.
func (c LastChange) at(now time.Time) LastChange {
	pools := maps.Clone(c.Pools)
	if pools == nil {
		pools = map[string]FollowedPool{}
	}
	return LastChange{At: now.UTC().Add(time.Second - 1).Truncate(time.Second), Pools: pools}
}
