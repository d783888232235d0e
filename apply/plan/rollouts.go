package plan

import (
	"bytes"
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
	// ranked are the pools by rank.
	ranked []*rollout
	// settled finds the members by what all nodes have followed; nil where these are those by now.
	settled *render.Expansion
	// latches are those that [Rollouts.Turns] goes by.
	latches Latches

	// restrictions are those that were worked out last, by the pools that are closed: they are
	// the same for all nodes and pools that wait, and the search for an opening may be long.
	mu           sync.Mutex
	restrictions map[string]*Restriction
	// refusals are those of pools by what the API server says.
	refusals map[string]*Restriction
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
	// changed is when the spec of the pool was last written, or it was marked for deletion.
	changed time.Time
	// deleted pools govern their own release, and nothing else.
	deleted bool
	// limit is how many nodes may be unavailable; nil where any number may. minReady is how
	// long one that has followed counts as that.
	limit    *intstr.IntOrString
	minReady time.Duration
	paused   bool
	// waves follow one after the other.
	waves []wave
	// approved is the value of the annotation that approves one, and resumed of that which
	// resumes the rollout; expedited are the changes that wait for no window and no wave.
	// change stands for what the pool says by now in approvals and expedited changes, and
	// spec in what nodes have followed, and in halts. commit is that which says it.
	approved, resumed, change, spec, commit string
	expedited                               []string
	// failures is how many nodes may fail; nil for none.
	failures *intstr.IntOrString
	// labels and taints are those that the pool wants; none where it is deleted.
	labels map[string]v1.LabelValue
	taints []v1.Taint
	// deadline is how long the next step may take; 0 for any time.
	deadline time.Duration
	// drain is how nodes are drained before they get NoExecute taints; nil where they are not.
	drain *draining
	// conditions are those that a node has to meet to be available, sorted by type.
	conditions []v1.NodeCondition
	// byZone reports that the nodes of one zone begin before those of the next.
	byZone bool

	mu sync.Mutex
	// closed is valid from one time to another.
	closed   bool
	from, to time.Time
}

// RolloutsOf returns the rollouts of pools; nil where none has one. A pool that is being
// deleted has a say about its own release.
func RolloutsOf(pools []*v1.NodePool) *Rollouts {
	if !slices.ContainsFunc(pools, func(pool *v1.NodePool) bool { return pool.Spec.Rollout != nil }) {
		return nil
	}
	return AllRollouts(pools)
}

// AllRollouts are those of pools, be there none: changes of a pool may wait for something
// else, see [NodeFacts.Refused].
func AllRollouts(pools []*v1.NodePool) *Rollouts {
	r := &Rollouts{pools: make(map[string]*rollout, len(pools)), restrictions: map[string]*Restriction{}}
	byName := make(map[string]*v1.NodePool, len(pools))
	for _, pool := range pools {
		byName[pool.Name] = pool
	}
	for rank, pool := range slices.SortedFunc(slices.Values(pools), render.CompareRank) {
		one := &rollout{name: pool.Name, policy: pool.Spec.ConflictPolicy, rank: rank, around: enclosing(pool, byName),
			changed: lastChange(pool), deleted: !pool.DeletionTimestamp.IsZero(), change: ChangeID(pool), spec: specHash(pool), commit: commitOf(pool)}
		if !one.deleted {
			one.labels, one.taints = pool.Spec.Labels, pool.Spec.Taints
		}
		one.read(pool)
		r.pools[pool.Name], r.ranked = one, append(r.ranked, one)
	}
	r.settled, r.latches = settledMembers(pools, byName), LatchesOf(pools)
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
	r.failures, r.byZone = pool.Spec.Rollout.MaxFailures, pool.Spec.Rollout.Order == v1.OrderByZone
	r.conditions = namedConditions(pool.Spec.Rollout)
	r.drain = drainingOf(pool.Spec.Rollout.Drain)
	if deadline := pool.Spec.Rollout.ProgressDeadline; deadline != nil {
		r.deadline = deadline.Duration
	}
	r.waves, r.approved = wavesOf(pool), pool.Annotations[v1.ApproveRolloutAnnotation]
	r.resumed = pool.Annotations[v1.ResumeRolloutAnnotation]
	r.expedited = strings.Split(pool.Annotations[v1.ExpediteRolloutAnnotation], ".")
}

// Limits reports whether nodes take turns in the rollout of a pool.
func (r *Rollouts) Limits(pool string) bool {
	return r != nil && r.pools[pool] != nil && r.pools[pool].limits()
}

// expedites reports whether a change waits for no window and no wave.
func (r *rollout) expedites(change string) bool {
	return change != "" && slices.Contains(r.expedited, change)
}

// limits reports whether nodes take turns in the rollout.
func (r *rollout) limits() bool { return r.limit != nil || len(r.waves) > 0 || r.drain != nil }

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

// lastChange is when the spec of a pool was last written, as the API server has noted it,
// or when the pool was marked for deletion. Whoever writes an annotation is no reason to
// take nodes for older than what the pool says.
func lastChange(pool *v1.NodePool) time.Time {
	last := pool.CreationTimestamp.Time
	for _, entry := range pool.ManagedFields {
		if ofSpec := entry.FieldsV1 != nil && bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:spec"`)); ofSpec && entry.Time != nil && entry.Time.After(last) {
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

// turnsAt is when a calendar opens or closes next after a time, or may; it must be the last
// one that [rollout.closedAt] was asked about.
func (r *rollout) turnsAt(now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.from.IsZero() || now.Before(r.from) {
		return time.Time{}
	}
	return r.to
}

// maxRemembered bounds for how long an answer of a calendar is kept: the rules of zones
// change more rarely.
const maxRemembered = 24 * time.Hour

// of returns a pool. One that is gone is the weakest.
func (r *Rollouts) of(pool string) *rollout {
	if known := r.pools[pool]; known != nil {
		return known
	}
	return &rollout{name: pool, rank: len(r.pools)}
}

// closedOf are the pools among those named that are closed at a time, the strongest first.
func (r *Rollouts) closedOf(names []string, now time.Time) []*rollout {
	return r.among(names, func(one *rollout) bool { return one.closedAt(now) })
}

// limiting are those of the named pools in which nodes take turns, the strongest first.
func (r *Rollouts) limiting(names []string) []*rollout {
	return r.among(names, (*rollout).limits)
}

func (r *Rollouts) among(names []string, chosen func(*rollout) bool) []*rollout {
	var found []*rollout
	for _, name := range names {
		if one := r.pools[name]; one != nil && chosen(one) {
			found = append(found, one)
		}
	}
	slices.SortFunc(found, func(a, b *rollout) int { return cmp.Compare(a.rank, b.rank) })
	return slices.Compact(found)
}

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
	return &PoolWait{Pool: pool, Restriction: r.restrictionOf(closed, now)}
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
