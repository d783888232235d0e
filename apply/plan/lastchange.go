package plan

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	// At is when it began, or, where the node was drained for it, when that ended. Unready reports
	// that the node was not ready then: that it is not ready later, the change has not caused.
	At      time.Time
	Unready bool
	// Spec stands for what the pool said: see [rollout.specFor].
	Spec string
	// Previous stands for what the node had of the pool before: see [Record.portion]. It is empty
	// where going back to that is no revert.
	Previous string
	// Commit is that of the revision which said it, in short; empty where that is not known. It
	// decides nothing, and no write is due because of it.
	Commit string
}

// equal leaves the commit aside, by which nothing is decided.
func (f FollowedPool) equal(other FollowedPool) bool {
	return f.At.Equal(other.At) && f.Unready == other.Unready && f.Spec == other.Spec && f.Previous == other.Previous
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

// reverts reports whether a plan gives a node back what it had of a pool before it followed that
// pool last.
func (p *NodePlan) reverts(pool string, now time.Time) bool {
	followed := p.recorded.Change.Pools[pool]
	if followed.Previous == "" || !now.Before(followed.At.Add(revertPeriod)) {
		return false
	}
	after := p.Record.portion(pool)
	return after == followed.Previous && after != p.recorded.portion(pool)
}

// portion stands for what a record has of a pool: the labels, and the taints that may keep pods
// off.
func (r Record) portion(pool string) string {
	var keys []string
	for key, entry := range r.Labels {
		if entry.Pool == pool {
			keys = append(keys, "label "+key+"="+entry.Value)
		}
	}
	for id, entry := range r.Taints {
		if entry.Pool == pool && id.Effect != corev1.TaintEffectPreferNoSchedule {
			keys = append(keys, "taint "+id.String()+"="+entry.Value)
		}
	}
	slices.Sort(keys)
	return digest(6, keys...)
}

// begun is what a node has followed with the allowed part of a full plan, which disrupts it for
// some pools. What it has followed of pools that it has left is known as long as it may go back.
func (f NodeFacts) begun(full *NodePlan, allowed Allowed) LastChange {
	c := full.recorded.Change.at(f.Now)
	maps.DeleteFunc(c.Pools, func(pool string, followed FollowedPool) bool {
		return !slices.Contains(full.Pools, pool) && (f.Rollouts.pools[pool] == nil || !f.Now.Before(followed.At.Add(revertPeriod)))
	})
	for pool := range full.recorded.Pools() { // which it leaves, and is on its way from
		if f.Rollouts.Limits(pool) && !slices.Contains(full.Pools, pool) && !slices.Contains(allowed.Begins, pool) && allowed.Wait.Of(pool) == nil {
			left, known := c.Pools[pool]
			if spec := f.Rollouts.of(pool).specFor(full); !known || left.Spec != spec {
				left = FollowedPool{Unready: true, Spec: spec}
			}
			left.At = c.At
			c.Pools[pool] = left
		}
	}
	for _, pool := range allowed.Begins {
		of, before := f.Rollouts.of(pool), full.recorded.portion(pool)
		was, known := full.recorded.Change.Pools[pool]
		now := FollowedPool{At: c.At, Unready: f.unready(pool, allowed.unmet), Spec: of.specFor(full), Commit: of.commit}
		switch {
		case known && was.Spec == now.Spec: // the rest of a change, of which a part was written alone
			now.Previous = was.Previous
			if now.Unready && !was.Unready { // by that part
				now.At, now.Unready = was.At, false
			}
		case !full.reverts(pool, f.Now) && before != full.Record.portion(pool):
			now.Previous = before
		}
		c.Pools[pool] = now
	}
	return c
}

// kept is the change that stays with a write that begins nothing: what the pools say by now
// the node has followed as well, where nothing of it waits. It does not go back then to what it
// had before its last turn.
func (f NodeFacts) kept(p *NodePlan, wait NodeWait) LastChange {
	c := p.recorded.Change
	if f.Rollouts == nil {
		return c
	}
	c.Pools = maps.Clone(c.Pools)
	for pool, followed := range c.Pools {
		of := f.Rollouts.of(pool)
		if wait.Of(pool) != nil || of.spec == "" || c.drainedFor(pool) {
			continue
		}
		if spec := of.specFor(p); spec != followed.Spec {
			followed.Spec, followed.Previous = spec, ""
		}
		followed.Commit = of.commit
		c.Pools[pool] = followed
	}
	return c
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
