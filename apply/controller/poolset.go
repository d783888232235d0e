package controller

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// poolSet keeps the pools of the cache worked out, so that a node event does not
// pay for it.
type poolSet struct {
	cached client.Reader

	// starting serializes the search for revisions that an earlier process has not
	// finished; resumed is true when it was done.
	starting sync.Mutex
	resumed  bool

	mu sync.Mutex
	// epoch counts the changes of pools that nodes have to follow.
	epoch   uint64
	current *poolSnapshot
	// deletions are those of pools that belong together.
	deletions deletions
	// letGo are the names of the pools that went when they had released their nodes.
	letGo map[string]bool

	// followers are called with the names of pools that are followed again, sorted, and
	// of those that they enclose.
	followers []func(pools []string)

	gate *revisionGate
	// onPartial is called with a source, and its revision, of which nodes follow a part
	// from then on.
	onPartial func(source, revision string)
}

// poolSnapshot is all pools at one epoch.
type poolSnapshot struct {
	*render.Expansion
	epoch uint64
	pools map[string]poolState
	// held are the pools that wait for an approval, by name.
	held heldPools
	// departed has the names of pools that records speak of and that the API
	// server was found not to have.
	departed sync.Map
}

// poolState is one pool of a snapshot.
type poolState struct {
	// line is the pool and what encloses it, the pool first.
	line []poolVersion
	// since is the epoch from which on the line is what it is.
	since uint64
	// definition is the cache's, which nobody may change.
	definition *v1.NodePool
}

// poolVersion is what there is about a pool that nodes have to follow.
type poolVersion struct {
	name       string
	uid        types.UID
	generation int64
	deleted    bool
	// These annotations decide what becomes of nodes.
	reconcile, requestedAt, approveRelease string
}

func versionOf(pool client.Object) poolVersion {
	annotations := pool.GetAnnotations()
	return poolVersion{
		name: pool.GetName(), uid: pool.GetUID(), generation: pool.GetGeneration(),
		deleted:     !pool.GetDeletionTimestamp().IsZero(),
		reconcile:   annotations[v1.ReconcileAnnotation],
		requestedAt: annotations[v1.RequestedAtAnnotation],

		approveRelease: annotations[v1.ApproveReleaseAnnotation],
	}
}

func newPoolSet(cached client.Reader) *poolSet {
	return &poolSet{
		cached: cached, epoch: 1, deletions: deletions{now: time.Now, seen: map[types.UID]bool{}}, letGo: map[string]bool{},
		gate: newRevisionGate(), onPartial: func(string, string) {},
	}
}

// changed begins an epoch, as a pool has changed. It reports whether the change is to
// be followed now; else there is an epoch when its revision is written.
func (s *poolSet) changed(pool string) bool {
	if s.gate.isFrozen(pool) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch++
	return true
}

// latest is the epoch that began last.
func (s *poolSet) latest() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.epoch
}

// snapshot returns the pools as they stand in the cache, or as they stood after
// the last change: later differences come with a change of their own. Of a revision
// that is being written it has the pools as they were before: see [revisionGate].
func (s *poolSet) snapshot(ctx context.Context) (*poolSnapshot, error) {
	if err := s.resume(ctx); err != nil {
		return nil, err
	}
	if err := s.gate.wait(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil && s.current.epoch == s.epoch {
		if !s.current.held.over(s.deletions.now()) {
			return s.current, nil
		}
		s.epoch++
	}
	live, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	definitions := s.gate.before(live)
	held, err := s.heldReleases(ctx, definitions)
	if err != nil {
		return nil, err
	}
	next := &poolSnapshot{
		Expansion: held.expand(definitions), epoch: s.epoch,
		pools: make(map[string]poolState, len(definitions)), held: held,
	}
	byName := index(definitions)
	for _, pool := range definitions {
		state := poolState{line: lineOf(pool, byName), since: s.epoch, definition: pool}
		if before, known := s.before(pool.Name); known && slices.Equal(before.line, state.line) && held.has(pool.Name) == s.current.held.has(pool.Name) {
			state.since = before.since
		}
		next.pools[pool.Name] = state
	}
	s.current = next
	return next, nil
}

func (s *poolSet) before(name string) (poolState, bool) {
	if s.current == nil {
		return poolState{}, false
	}
	state, known := s.current.pools[name]
	return state, known
}

// enclosed returns the names of the pools that one of the named pools encloses, or
// would enclose if it existed.
func (s *poolSet) enclosed(ctx context.Context, names ...string) ([]string, error) {
	definitions, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	named := make(map[string]bool, len(names))
	for _, name := range names {
		named[name] = true
	}
	byName := index(definitions)
	var inner []string
	for _, pool := range definitions {
		around := lineOf(pool, byName)[1:]
		if slices.ContainsFunc(around, func(p poolVersion) bool { return named[p.name] }) {
			inner = append(inner, pool.Name)
		}
	}
	return inner, nil
}

// freeze keeps the named pools as the cache has them: see [revisionGate.freeze].
func (s *poolSet) freeze(ctx context.Context, source string, names []string) error {
	definitions, err := s.list(ctx)
	if err != nil {
		return err
	}
	byName, before := index(definitions), make(map[string]*v1.NodePool, len(names))
	for _, name := range names {
		before[name] = byName[name]
	}
	s.gate.freeze(source, before)
	return nil
}

// unfreeze follows the pools again that the source has frozen, as the cache has them.
func (s *poolSet) unfreeze(ctx context.Context, source string) error {
	names := s.gate.unfreeze(source)
	if len(names) == 0 {
		return nil
	}
	inner, err := s.enclosed(ctx, names...)
	names = slices.Compact(slices.Sorted(slices.Values(append(names, inner...))))
	s.mu.Lock()
	s.epoch++
	followers := slices.Clone(s.followers)
	s.mu.Unlock()
	for _, follow := range followers {
		follow(names)
	}
	return err
}

// onUnfreeze adds a follower.
func (s *poolSet) onUnfreeze(follow func(pools []string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.followers = append(s.followers, follow)
}

// resume makes [poolSet.snapshot] wait for the revisions that an earlier process has
// not finished. It does so once, before the first snapshot and the first pass over a
// source.
func (s *poolSet) resume(ctx context.Context) error {
	s.starting.Lock()
	defer s.starting.Unlock()
	if s.resumed {
		return nil
	}
	var sources v1.NodePoolSourceList
	if err := s.cached.List(ctx, &sources, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list sources: %w", err)
	}
	for i := range sources.Items {
		if name, revision := sources.Items[i].Name, sources.Items[i].Status.ApplyingRevision; revision != "" {
			s.gate.await(name, func() { s.onPartial(name, revision) })
		}
	}
	s.resumed = true
	return nil
}

func (s *poolSet) list(ctx context.Context) ([]*v1.NodePool, error) {
	var list v1.NodePoolList
	// Nothing here changes a pool, and a copy of every pool per change is what
	// would cost most.
	if err := s.cached.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list pools: %w", err)
	}
	definitions := make([]*v1.NodePool, 0, len(list.Items))
	for i := range list.Items {
		definitions = append(definitions, &list.Items[i])
	}
	return definitions, nil
}

func index(definitions []*v1.NodePool) map[string]*v1.NodePool {
	byName := make(map[string]*v1.NodePool, len(definitions))
	for _, pool := range definitions {
		byName[pool.Name] = pool
	}
	return byName
}

// lineOf is a pool and what encloses it. A parent that does not exist is in it
// by its name alone; a cycle is gone round once.
func lineOf(pool *v1.NodePool, byName map[string]*v1.NodePool) []poolVersion {
	line := []poolVersion{versionOf(pool)}
	for parent := pool.Spec.Parent; parent != ""; {
		if slices.ContainsFunc(line, func(p poolVersion) bool { return p.name == parent }) {
			break
		}
		next, found := byName[parent]
		if !found {
			return append(line, poolVersion{name: parent})
		}
		line = append(line, versionOf(next))
		parent = next.Spec.Parent
	}
	return line
}

// covers tells whether the snapshot was made from this state of the pool.
func (s *poolSnapshot) covers(pool *v1.NodePool) bool {
	state, found := s.pools[pool.Name]
	return found && state.line[0] == versionOf(pool)
}
