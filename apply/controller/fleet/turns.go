package fleet

import (
	"context"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/plan"
)

// turnsPeriod is how long changes are gathered before it is decided whose turn it is: of
// 5,000 nodes that takes some 10 ms of processor time.
const turnsPeriod = 100 * time.Millisecond

// maxRest is how long no turn is given at most, as deciding took long.
const maxRest = 5 * time.Second

// turns are the nodes that may begin to follow their pools. They are given by one
// goroutine, so that no two of them fit in the same place.
type turns struct {
	clock loop.Clock
	// due has an element when something has changed that turns depend on.
	due chan struct{}

	mu sync.Mutex
	// begun has, by node, the pools whose changes may go in its turn, as long as it is not
	// observed what came of it.
	begun map[string]turn
	// failed are the nodes of those of which the last pass has failed: it is not known
	// whether the write went through.
	failed map[string]bool
	// changed are the last changes that nodes have followed, where the cache may not show
	// them, or the record does not, as the node has left its pools: by the own writes, and
	// by those of an earlier leader.
	changed map[string]changedNode
	synced  bool
	// halts are those of pools, as they were decided here, or by an earlier leader.
	halts map[string]*plan.Halt
	// ahead are nodes that began in the future by the clock of an earlier leader, and since
	// when that is known: they count as begun then.
	ahead map[string]time.Time
	// latches are which waves are over, as it was decided here, or by an earlier leader.
	latches plan.Latches
	// waves are how far the waves of pools are.
	waves map[string]*plan.WaveState
	// stuck are the pools of which the next step takes too long.
	stuck map[string]plan.Stuck
	// unavailable are the nodes that use up the budgets of pools in which changes wait.
	unavailable map[string]plan.Unavailable
	// counted are how many nodes are on their way, by pool.
	counted map[string]plan.RolloutNodes
}

// turn is that of a node, and the epoch for which that was decided. When pools have changed since, the node may have begun, and has no turn any
// more: it may be another change that it would follow by now.
type turn struct {
	plan.Turn
	epoch uint64
}

// by is the turn, if it was given by a snapshot.
func (t turn) by(pools *Snapshot) plan.Turn {
	if t.epoch != pools.Epoch {
		return nil
	}
	return t.Turn
}

// changedNode is the last change that a node has followed.
type changedNode struct {
	plan.LastChange
	// released reports that no record has been left that could say so.
	released bool
}

func newTurns() *turns {
	return &turns{
		clock: loop.SystemClock(), due: make(chan struct{}, 1),
		begun: map[string]turn{}, failed: map[string]bool{}, changed: map[string]changedNode{}, ahead: map[string]time.Time{},
	}
}

func (t *turns) setDue() {
	select {
	case t.due <- struct{}{}:
	default:
	}
}

func (t *turns) of(node string) turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.begun[node]
}

// outdated reports whether a node may be another one than a cache shows, by whose record
// this is the last change that it has followed: it has begun since, or may have.
func (t *turns) outdated(node string, shown plan.LastChange) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	changed := t.changed[node]
	return t.failed[node] || shown.Behind(changed.LastChange) && !changed.released
}

// shown notes which change a node has followed last, read past the cache. A record that has
// been removed, or restored, says less than what was written.
func (t *turns) shown(node string, change plan.LastChange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if changed, known := t.changed[node]; known && change.Behind(changed.LastChange) {
		changed.released = true
		t.changed[node] = changed
	}
}

// ended notes what came of the turn of a node: it goes on where the pass has failed.
func (t *turns) ended(node string, now *Observation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// A time ahead, by the clock of an earlier leader or a kubelet, would hide all that the
	// node follows until then.
	if change := now.Change.NoLaterThan(t.clock.Now().Add(skew)); t.changed[node].Behind(change) {
		t.changed[node] = changedNode{change, len(now.Recorded) == 0}
	}
	if _, begun := t.begun[node]; !begun {
		return
	}
	if now.Failed {
		t.failed[node] = true
		return
	}
	delete(t.failed, node)
	delete(t.begun, node)
}

func (t *turns) forget(node string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.begun, node)
	delete(t.failed, node)
	delete(t.changed, node)
	delete(t.ahead, node)
}

// give notes whose turn it is, and returns the nodes of which that is new, sorted.
func (t *turns) give(turns plan.Turns, epoch uint64) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var nodes []string
	for node, given := range turns.Nodes {
		t.begun[node] = turn{given, epoch}
		nodes = append(nodes, node)
	}
	slices.Sort(nodes)
	return nodes
}

// known adds to what was observed of nodes what is known of their turns.
func (t *turns) known(nodes []plan.Follower, pools *Snapshot, now time.Time) []plan.Follower {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range nodes {
		node := &nodes[i]
		if begun, busy := t.begun[node.Name]; busy {
			node.Begun, node.Busy = begun.by(pools).Pools(), true
		}
		if changed := t.changed[node.Name]; changed.At.After(node.Change.At) {
			node.Change = changed.LastChange
		}
		node.Change = node.Change.NoLaterThan(t.past(node.Name, node.Change.At, now))
	}
	return nodes
}

// skew is by how much clocks may differ without notice.
const skew = 2 * time.Second

// past is a time at which a node has begun, or, where that is in the future by the clock,
// when this was seen first. Nobody waits for the clock of somebody else.
func (t *turns) past(node string, at, now time.Time) time.Time {
	if !at.After(now.Add(skew)) {
		delete(t.ahead, node)
		return at
	}
	if t.ahead[node].IsZero() || t.ahead[node].After(now) {
		t.ahead[node] = now
	}
	return t.ahead[node]
}

func (c *counts) followers() []plan.Follower {
	c.mu.Lock()
	defer c.mu.Unlock()
	nodes := make([]plan.Follower, 0, len(c.nodes))
	for name, o := range c.nodes {
		nodes = append(nodes, o.Follower(name))
	}
	return nodes
}

// Earlier is what an earlier leader may have written, and the cache does not show yet.
type Earlier struct {
	// Changes are the last ones that nodes have followed.
	Changes map[string]plan.LastChange
	// Halts are those of pools, and Latches which of their waves are over.
	Halts   map[string]*plan.Halt
	Latches plan.Latches
}

// GiveTurns decides again and again whose turn it is, until the context ends. List
// returns what an earlier leader has written, by the API server and not by a cache.
// Enqueue is called with each node whose turn it is.
func (f *Fleet) GiveTurns(ctx context.Context, list func(context.Context) (Earlier, error), enqueue func(node string)) {
	again, rest := time.Duration(0), turnsPeriod
	for f.turns.wait(ctx, again, rest) {
		began, err := time.Now(), error(nil)
		if again, err = f.giveTurns(ctx, list, enqueue); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "it is not decided yet which nodes may follow their pools")
			again = loop.RetryPeriod
		}
		// However many nodes and pools there are, that takes a tenth of a processor, as long as
		// it takes less than half a second. A wait for the API server is no work, and may be as
		// long as that is away.
		rest = min(max(turnsPeriod, 9*time.Since(began)), maxRest)
	}
}

// wait waits until turns are due, or for a time at most, where 0 is one that is not known,
// and then some time for others. It reports whether there may be some, and not the end of the context.
func (t *turns) wait(ctx context.Context, again, rest time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-t.due:
	case <-t.clock.After(loop.Bounded(again)):
	}
	select {
	case <-ctx.Done():
		return false
	case <-t.clock.After(rest):
		return true
	}
}

// giveTurns decides once, and returns after what time that is due again though nothing
// happens; 0 for never.
func (f *Fleet) giveTurns(ctx context.Context, list func(context.Context) (Earlier, error), enqueue func(node string)) (again time.Duration, err error) {
	pools, err := f.Snapshot(ctx)
	if err != nil {
		return 0, err
	}
	if !pools.Rollouts.Limited() {
		f.publishTurns(plan.Turns{Halts: pools.Rollouts.Standing(f.turns.halts)})
		return 0, nil
	}
	if known, err := f.EveryNodeObserved(ctx); err != nil || !known {
		return loop.RetryPeriod, err
	}
	if err := f.turns.sync(ctx, list); err != nil {
		return 0, err
	}
	now := f.turns.clock.Now()
	settled := f.isSettled(pools.Epoch) && !f.opening(now)
	pools.Rollouts.Keep(f.turns.latches)
	turns := pools.Rollouts.Turns(f.turns.known(f.counts.followers(), pools, now), f.turns.halts, now, settled)
	for _, node := range f.turns.give(turns, pools.Epoch) {
		enqueue(node)
	}
	if !settled { // before, nobody knows how far waves are, and who asks
		return loop.RetryPeriod, nil
	}
	f.turns.setLatches(turns.Latches)
	f.publishTurns(turns)
	if turns.Again.IsZero() {
		return 0, nil
	}
	return max(turns.Again.Sub(now), loop.AtOnce), nil
}

// waitFor are the pools of which changes wait for another one.
func (c *counts) waitFor(pool string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var waiting []string
	for name, counts := range c.pools {
		for wait := range counts.Waits {
			if name != pool && slices.Contains(wait.For, pool) {
				waiting = append(waiting, name)
				break
			}
		}
	}
	return waiting
}

// Wave returns how far the waves of a pool are; nil where it has none, or where all nodes
// have followed.
func (f *Fleet) Wave(pool string) *plan.WaveState {
	f.turns.mu.Lock()
	defer f.turns.mu.Unlock()
	return f.turns.waves[pool]
}

func (c *counts) isSettled(since uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.settled(since)
}

// openingPeriod is how long passes may take at an opening, be they repeated.
const openingPeriod = loop.MaxBackoff

// opening reports whether nodes are known to wait for an opening that has come: they are yet
// to ask for their turn, and may be before others that ask already.
func (c *counts) opening(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.nodes {
		if opens := o.Wait.Until(); !opens.IsZero() && !opens.After(now) && now.Before(opens.Add(openingPeriod)) {
			return true
		}
	}
	return false
}

// sync learns, once, what an earlier leader has done.
func (t *turns) sync(ctx context.Context, list func(context.Context) (Earlier, error)) error {
	if t.synced { // by the one goroutine
		return nil
	}
	earlier, err := list(ctx)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for node, change := range earlier.Changes {
		if change = change.NoLaterThan(t.clock.Now().Add(skew)); change.At.After(t.changed[node].At) {
			t.changed[node] = changedNode{LastChange: change}
		}
	}
	t.halts, t.latches, t.synced = earlier.Halts, earlier.Latches, true
	return nil
}
