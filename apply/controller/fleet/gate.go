package fleet

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// MaxUnfinishedWait bounds how long nodes wait for a revision that an earlier process
// has written in part. Nobody knows any more what its pools said before. Nodes that
// join get nothing meanwhile, also what keeps pods from them, so the wait must end
// where Git cannot be reached; the end is reported.
const MaxUnfinishedWait = 10 * time.Second

// gate keeps a revision from being followed in part. A revision is many
// pools, and the API server takes them one after the other. A node that followed one
// of them and not yet the next could carry what neither the old revision nor the new
// one says. So from before the first write of a revision until the cache has the last
// one, nodes and pools follow the definitions from before, without a time limit: they
// go on with all else, and nodes that join get the old revision as a whole.
type gate struct {
	mu sync.Mutex
	// frozen has, by source, the pools of the revision that is being written, by name,
	// as they were before it; nil for one that did not exist.
	frozen map[string]map[string]*v1.NodePool
	// unfinished has, by source, the revision that an earlier process began.
	unfinished map[string]*unfinishedRevision
}

// unfinishedRevision is over when its channel is closed, by the timer at the latest.
type unfinishedRevision struct {
	over  chan struct{}
	timer *time.Timer
}

func newGate() *gate {
	return &gate{frozen: map[string]map[string]*v1.NodePool{}, unfinished: map[string]*unfinishedRevision{}}
}

// freeze keeps pools as they are now, whatever becomes of them, until unfreeze is
// called for the source. One that the source has frozen already stays as it was then.
// Where nodes wait for a revision that an earlier process began, there is no earlier
// state to freeze, and they go on waiting.
func (g *gate) freeze(source string, pools map[string]*v1.NodePool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, waits := g.unfinished[source]; waits {
		return
	}
	if g.frozen[source] == nil {
		g.frozen[source] = make(map[string]*v1.NodePool, len(pools))
	}
	for name, pool := range pools {
		if _, already := g.frozen[source][name]; !already {
			g.frozen[source][name] = pool
		}
	}
}

// unfreeze ends what freeze and await began for a source, and returns the names of
// the pools that were frozen, sorted.
func (g *gate) unfreeze(source string) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if u, waits := g.unfinished[source]; waits {
		u.timer.Stop()
		close(u.over)
		delete(g.unfinished, source)
	}
	names := slices.Sorted(maps.Keys(g.frozen[source]))
	delete(g.frozen, source)
	return names
}

// writes reports whether the source is writing a revision, or has one to finish.
func (g *gate) writes(source string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.frozen[source] != nil || g.unfinished[source] != nil
}

// freezes reports whether pools are frozen for the source.
func (g *gate) freezes(source string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.frozen[source] != nil
}

// isFrozen reports whether changes of a pool are not followed for now.
func (g *gate) isFrozen(pool string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, pools := range g.frozen {
		if _, frozen := pools[pool]; frozen {
			return true
		}
	}
	return false
}

// before returns the pools that are followed: live ones, and of the frozen ones the
// definitions from before.
func (g *gate) before(live []*v1.NodePool) []*v1.NodePool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.frozen) == 0 {
		return live
	}
	followed := make(map[string]*v1.NodePool, len(live))
	for _, pool := range live {
		followed[pool.Name] = pool
	}
	for _, pools := range g.frozen {
		maps.Copy(followed, pools)
	}
	maps.DeleteFunc(followed, func(_ string, pool *v1.NodePool) bool { return pool == nil })
	return slices.Collect(maps.Values(followed))
}

// await makes [gate.wait] wait until unfreeze is called for the source, or
// until MaxUnfinishedWait has passed and expired was called.
func (g *gate) await(source string, expired func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	u := &unfinishedRevision{over: make(chan struct{})}
	u.timer = time.AfterFunc(MaxUnfinishedWait, func() {
		if g.expire(source, u) {
			expired()
		}
	})
	g.unfinished[source] = u
}

// expire ends the wait for a revision; it reports whether that was not over.
func (g *gate) expire(source string, u *unfinishedRevision) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.unfinished[source] != u {
		return false
	}
	close(u.over)
	delete(g.unfinished, source)
	return true
}

// wait returns when the revisions are written that an earlier process began, or no
// longer waited for.
func (g *gate) wait(ctx context.Context) error {
	g.mu.Lock()
	waits := slices.Collect(maps.Values(g.unfinished))
	g.mu.Unlock()
	for _, u := range waits {
		select {
		case <-u.over:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
