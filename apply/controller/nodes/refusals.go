package nodes

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/plan"
)

const (
	// firstRefusal is after what time what a pool changes on a node is tried again that the API
	// server has refused; it is twice as long each time that it still does, up to maxRefusal.
	firstRefusal = 10 * time.Second
	maxRefusal   = time.Minute
	// triesPause is how long after the last ones pools are tried again that have not changed,
	// so many at a time: there may be hundreds of them on each of thousands of nodes.
	triesPause = 30 * time.Second
	maxTries   = 4
	// triesGap is the least time between two nodes on which pools are tried again that have
	// not changed, of those that are tried for the first time and of the others each. What a
	// policy refuses on every node of a large fleet costs no more for that than on a small
	// one; it takes longer until all of them have followed that it is lifted, as long as that
	// many nodes need.
	triesGap = 50 * time.Millisecond
)

// refusals keeps of which pools the API server does not take what they change on nodes.
type refusals struct {
	mu    sync.Mutex
	nodes map[string]*refusedNode
	// first and again are the last times that were given to nodes to try their pools again:
	// after a refusal, and once more. A new node does not wait for thousands of old ones.
	first, again time.Time
	// texts are those that the API server has answered lately: thousands of nodes share them.
	texts map[string]string
}

// refusedNode has the refusals of a node by pool, and from when on some are tried again.
type refusedNode struct {
	uid   types.UID
	pools map[string]refusal
	again time.Time
}

// refusal is that of a pool as it has been since an epoch. It is to be tried again from a time
// on, or when the pool is another one. The period is zero where the pool waits as it was not
// its turn yet to be tried at all.
type refusal struct {
	plan.Refusal
	since  uint64
	until  time.Time
	period time.Duration
}

func newRefusals() *refusals {
	return &refusals{nodes: map[string]*refusedNode{}, texts: map[string]string{}}
}

// standing are the refusals of a node at a time.
type standing struct {
	refused map[string]plan.Refusal
	// untried are those that were never tried, and due those to be tried again now: that have
	// changed, and that have waited longest, which waited reports that there are.
	untried, due []string
	waited       bool
}

func (r *refusals) of(node string, uid types.UID, pools *fleet.Snapshot, now time.Time) (s standing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.nodes[node]
	if known == nil {
		return s
	}
	if known.uid != uid {
		delete(r.nodes, node)
		return s
	}
	s.refused = make(map[string]plan.Refusal, len(known.pools))
	var changed, waited []string
	pause := now.Before(known.again)
	for pool, one := range known.pools {
		s.refused[pool] = one.Refusal
		switch {
		case one.period == 0:
			s.untried = append(s.untried, pool)
		case one.since != pools.Since(pool):
			changed = append(changed, pool)
		case !now.Before(one.until) && !pause:
			waited = append(waited, pool)
		}
	}
	slices.Sort(changed)
	slices.SortFunc(waited, func(a, b string) int {
		return cmp.Or(known.pools[a].until.Compare(known.pools[b].until), cmp.Compare(a, b))
	})
	waited = waited[:min(len(waited), maxTries)]
	s.due, s.waited = append(waited, changed[:min(len(changed), maxTries)]...), len(waited) > 0
	return s
}

// next is after what time the first pool of a node is tried again; 0 for none.
func (r *refusals) next(node string, pools *fleet.Snapshot, now time.Time) (after time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.nodes[node]
	if known == nil {
		return 0
	}
	for pool, one := range known.pools {
		until := one.until
		if one.since != pools.Since(pool) {
			until = now
		} else if one.period > 0 && until.Before(known.again) {
			until = known.again
		}
		after = loop.Sooner(after, max(until.Sub(now), loop.AtOnce))
	}
	return after
}

// note notes that pools are refused on a node, and others wait until they are tried.
func (r *refusals) note(node string, uid types.UID, found, untried map[string]plan.Refusal, pools *fleet.Snapshot, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(found)+len(untried) == 0 {
		return
	}
	known := r.nodes[node]
	if known == nil || known.uid != uid {
		known = &refusedNode{uid: uid, pools: map[string]refusal{}}
		r.nodes[node] = known
	}
	soonest := maxRefusal
	for pool, one := range found {
		one.Says = r.shared(one.Says)
		period := firstRefusal
		if before := known.pools[pool]; before.since == pools.Since(pool) {
			period = min(max(period, 2*before.period), maxRefusal)
		}
		soonest = min(soonest, period)
		known.pools[pool] = refusal{one, pools.Since(pool), now.Add(period), period}
	}
	if len(found) > 0 && !known.again.After(now) { // it has no time yet, be it that a pool has changed that all nodes have
		known.again = r.nextTry(&r.first, now.Add(soonest))
	}
	for pool, one := range untried {
		one.Says = r.shared(one.Says)
		known.pools[pool] = refusal{Refusal: one, since: pools.Since(pool), until: now}
	}
}

// tried notes that pools of a node were tried again.
func (r *refusals) tried(node string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.nodes[node]; known != nil {
		known.again = r.nextTry(&r.again, now.Add(triesPause))
	}
}

// nextTry is the first moment from a time on that comes triesGap after the last one that was
// given to a node. Where that is later than all nodes together need, the times until then are
// mostly those of nodes that no longer wait, and it begins anew. The lock is held.
func (r *refusals) nextTry(last *time.Time, from time.Time) time.Time {
	next := last.Add(triesGap)
	if latest := from.Add(time.Duration(len(r.nodes)) * triesGap); next.Before(from) || next.After(latest) {
		next = from
	}
	*last = next
	return next
}

// maxTexts bounds how many texts are shared.
const maxTexts = 1000

// shared is a text that is kept once.
func (r *refusals) shared(text string) string {
	if known, found := r.texts[text]; found {
		return known
	}
	if len(r.texts) >= maxTexts {
		clear(r.texts)
	}
	r.texts[text] = text
	return text
}

// lift forgets that pools were refused on a node.
func (r *refusals) lift(node string, pools []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.nodes[node]
	if known == nil {
		return
	}
	maps.DeleteFunc(known.pools, func(pool string, _ refusal) bool { return slices.Contains(pools, pool) })
	if len(known.pools) == 0 {
		delete(r.nodes, node)
	}
}

func (r *refusals) forget(node string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.nodes, node)
}
