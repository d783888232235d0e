package plan

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/api/window"
	"github.com/nodepools/nodepools/render"
)

// Rollouts say when nodes may follow changes of pools, by the windows and exclusions of
// all of them. Nil is that of pools without any: then nothing waits. They are safe for
// concurrent use.
//
// A change of a pool waits as long as one of these is closed that the node is in, or
// carries keys of: the pool itself, one around it, or a stronger one, by priority, then
// age. A weaker pool keeps no change of a stronger one off a node.
type Rollouts struct {
	pools map[string]*rollout

	// waits are those that were worked out last, by pool and what it waits for: they are
	// the same for all nodes, and the search for an opening may be long.
	mu    sync.Mutex
	waits map[string]*PoolWait
}

// rollout is what there is to know of one pool.
type rollout struct {
	name string
	// calendar is nil where the pool restricts nothing.
	calendar *window.Calendar
	// around are the names of the pools that enclose it.
	around []string
	policy v1.ConflictPolicy
	// rank is its position among all pools, the strongest first.
	rank int
	// changed is when somebody last wrote the pool, or marked it for deletion.
	changed time.Time
	// limit is how many nodes may be unavailable; nil where any number may. minReady is how
	// long one that has followed counts as that.
	limit    *intstr.IntOrString
	minReady time.Duration
	paused   bool
	// waves follow one after the other.
	waves      []wave
	generation int64

	mu sync.Mutex
	// closed is valid from one time to another.
	closed   bool
	from, to time.Time
}

// RolloutsOf returns the rollouts of pools. One that is being deleted has a say about its
// own release.
func RolloutsOf(pools []*v1.NodePool) *Rollouts {
	if !slices.ContainsFunc(pools, func(pool *v1.NodePool) bool { return pool.Spec.Rollout != nil }) {
		return nil
	}
	r := &Rollouts{pools: make(map[string]*rollout, len(pools)), waits: map[string]*PoolWait{}}
	byName := make(map[string]*v1.NodePool, len(pools))
	for _, pool := range pools {
		byName[pool.Name] = pool
	}
	for rank, pool := range slices.SortedFunc(slices.Values(pools), render.CompareStrength) {
		one := &rollout{name: pool.Name, policy: pool.Spec.ConflictPolicy, rank: rank, around: enclosing(pool, byName), changed: lastChange(pool)}
		one.read(pool)
		r.pools[pool.Name] = one
	}
	return r
}

func (r *rollout) read(pool *v1.NodePool) {
	if pool.Spec.Rollout == nil {
		return
	}
	if calendar := pool.Calendar(); !calendar.Unrestricted() {
		r.calendar = calendar
	}
	r.limit, r.paused = pool.Spec.Rollout.MaxUnavailable, pool.Spec.Rollout.Paused
	if ready := pool.Spec.Rollout.MinReady; ready != nil {
		r.minReady = ready.Duration
	}
	r.waves, r.generation = wavesOf(pool), pool.Generation
}

// limits reports whether nodes take turns in the rollout.
func (r *rollout) limits() bool { return r.limit != nil || len(r.waves) > 0 }

// enclosing are the names of the pools around one, the innermost first. A cycle is gone
// round once.
func enclosing(pool *v1.NodePool, byName map[string]*v1.NodePool) []string {
	var around []string
	for next := pool.Spec.Parent; next != "" && next != pool.Name && !slices.Contains(around, next); {
		around = append(around, next)
		if byName[next] == nil {
			break
		}
		next = byName[next].Spec.Parent
	}
	return around
}

// lastChange is when somebody last wrote anything of a pool but its status, as the API
// server has noted it.
func lastChange(pool *v1.NodePool) time.Time {
	last := pool.CreationTimestamp.Time
	for _, entry := range pool.ManagedFields {
		if entry.Subresource == "" && entry.Time != nil && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	if pool.DeletionTimestamp != nil && pool.DeletionTimestamp.After(last) {
		last = pool.DeletionTimestamp.Time
	}
	return last
}

// closedAt reports whether nodes may not follow changes at a time. The answer is kept
// until the calendar gives another.
func (r *rollout) closedAt(now time.Time) bool {
	if r.calendar == nil || r.paused {
		return r.paused
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.from.IsZero() && !now.Before(r.from) && (r.to.IsZero() || now.Before(r.to)) {
		return r.closed
	}
	r.from, r.closed = now, !r.calendar.Open(now)
	if r.closed {
		r.to, _ = r.calendar.Next(now)
	} else {
		r.to = r.calendar.Until(now)
	}
	if longest := now.Add(maxRemembered); r.to.IsZero() || r.to.After(longest) {
		r.to = longest
	}
	return r.closed
}

// maxRemembered bounds for how long an answer of a calendar is kept: the rules of zones
// change more rarely.
const maxRemembered = 24 * time.Hour

// closedOf are the pools among those named that are closed at a time, sorted.
func (r *Rollouts) closedOf(names []string, now time.Time) []*rollout {
	var closed []*rollout
	for _, name := range names {
		if one := r.pools[name]; one != nil && one.closedAt(now) && !slices.Contains(closed, one) {
			closed = append(closed, one)
		}
	}
	slices.SortFunc(closed, func(a, b *rollout) int { return strings.Compare(a.name, b.name) })
	return closed
}

// governs reports whether a change of another pool waits for this one.
func (r *rollout) governs(other *rollout) bool {
	return r == other || slices.Contains(other.around, r.name) || r.rank < other.rank
}

// causes reports whether it is a change of the first pool that a key goes to it from the
// second: the stronger one of two has begun to want the key, or no longer does.
func (r *Rollouts) causes(to, from string) bool {
	first, second := r.pools[to], r.pools[from]
	return first != nil && second != nil && first.rank < second.rank
}

func (r *Rollouts) policyOf(pool string) v1.ConflictPolicy {
	if one := r.pools[pool]; one != nil {
		return one.policy
	}
	return v1.ReportConflicts
}

// waitFor is what a pool waits for, that is, that all of the closed ones are open.
func (r *Rollouts) waitFor(pool string, closed []*rollout, now time.Time) *PoolWait {
	names := make([]string, len(closed))
	for i, one := range closed {
		names[i] = one.name
	}
	return r.remembered(pool+"/"+strings.Join(names, "/"), now, func() *PoolWait { return newPoolWait(pool, names, closed, now) })
}

// turnFor is what a pool waits for while it is not the turn of a node in some pools.
func (r *Rollouts) turnFor(pool string, limiting []string, now time.Time) *PoolWait {
	return r.remembered(pool+"//"+strings.Join(limiting, "/"), now, func() *PoolWait {
		return &PoolWait{Pool: pool, For: limiting, Turn: true, from: now}
	})
}

func (r *Rollouts) remembered(id string, now time.Time, work func() *PoolWait) *PoolWait {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.waits[id]; known != nil && !now.Before(known.from) && (known.Until.IsZero() || now.Before(known.Until)) {
		return known
	}
	wait := work()
	if len(r.waits) >= maxWaits {
		clear(r.waits)
	}
	r.waits[id] = wait
	return wait
}

// maxWaits bounds how many waits are kept.
const maxWaits = 10_000

// ClassWait is why the RuntimeClass of a pool may not be replaced at a time: the pool, or
// one around it, is closed. It is nil where it may.
func (r *Rollouts) ClassWait(pool string, now time.Time) *PoolWait {
	if r == nil || r.pools[pool] == nil {
		return nil
	}
	closed := r.closedOf(append([]string{pool}, r.pools[pool].around...), now)
	if len(closed) == 0 {
		return nil
	}
	return r.waitFor(pool, closed, now)
}

// MayWait reports whether changes of a pool may have to wait at a time, on some node.
func (r *Rollouts) MayWait(pool string, now time.Time) bool {
	if r == nil || r.pools[pool] == nil {
		return false
	}
	for _, one := range r.pools {
		if one.governs(r.pools[pool]) && (one.limits() || one.closedAt(now)) {
			return true
		}
	}
	return false
}

// Closed are the pools with a rollout, by name, and whether nodes may not follow changes
// of them at a time.
func (r *Rollouts) Closed(now time.Time) map[string]bool {
	if r == nil {
		return nil
	}
	closed := map[string]bool{}
	for name, one := range r.pools {
		if one.calendar != nil {
			closed[name] = one.closedAt(now)
		}
	}
	return closed
}

// comparePoolWaits orders the wait that ends first before others: turns are taken all the
// time. One of which no end was found is the last.
func comparePoolWaits(a, b *PoolWait) int {
	if a.Turn != b.Turn {
		if a.Turn {
			return -1
		}
		return 1
	}
	if a.Next.IsZero() != b.Next.IsZero() {
		if a.Next.IsZero() {
			return 1
		}
		return -1
	}
	return cmp.Or(a.Next.Compare(b.Next), slices.Compare(a.For, b.For), strings.Compare(a.Pool, b.Pool))
}
