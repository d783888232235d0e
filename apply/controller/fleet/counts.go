package fleet

import (
	"maps"
	"slices"
	"sync"

	"github.com/nodepools/nodepools/apply/plan"
)

// counts adds up, pool by pool, what was observed on nodes. It has one small
// observation per node, so that a pool's counts cost nothing to read and a node event
// nothing that grows with the number of nodes.
type counts struct {
	changes *publisher

	mu sync.Mutex
	// epoch is the newest one in which every node is to be observed.
	epoch uint64
	// nodes has the last observation of each, which is replaced and never changed.
	nodes map[string]*Observation
	// underway has the nodes of which a pass is under way, which may have begun in an
	// earlier epoch.
	underway map[string]bool
	// epochs is, by epoch, how many nodes were last observed in it.
	epochs map[uint64]int
	pools  map[string]*Counts
	// waitNews are the pools of which something else waits than before, until that is
	// published.
	waitNews map[string]bool
	// unreadable is the number of nodes whose record cannot be read.
	unreadable int
	// awaited is, by pool, the epoch in which its counts are to settle.
	awaited map[string]uint64
}

func newCounts(changes *publisher) *counts {
	return &counts{
		changes: changes,
		nodes:   map[string]*Observation{}, underway: map[string]bool{}, epochs: map[uint64]int{},
		pools: map[string]*Counts{}, awaited: map[string]uint64{}, waitNews: map[string]bool{},
	}
}

// Await reports whether the counts of a pool are settled: a pass over every node has
// ended in the epoch or after it. Where they are not, [Settled] is published once when
// they are.
func (c *counts) Await(pool string, since uint64) (settled bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.settled(since) {
		delete(c.awaited, pool)
		return true
	}
	c.awaited[pool] = since
	return false
}

// leaveEpoch counts an observation less in an epoch. It may have been the last one that
// a pool waits for.
func (c *counts) leaveEpoch(epoch uint64) {
	if c.epochs[epoch]--; c.epochs[epoch] > 0 {
		return
	}
	delete(c.epochs, epoch)
	for pool, since := range c.awaited {
		if c.settled(since) {
			delete(c.awaited, pool)
			c.changes.publish(pool, Settled)
		}
	}
}

// expect adds a node that has come in an epoch and will be observed.
func (c *counts) expect(node string, epoch uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.nodes[node]; !known {
		c.nodes[node] = &Observation{Epoch: epoch}
		c.epochs[epoch]++
	}
}

// lastObservation is that of one node.
type lastObservation struct {
	node string
	*Observation
}

// begin starts an epoch: every node is to be observed again, or to be advanced. It
// returns the last observations of the unchanged nodes. The others will be observed
// anyway, and what was found there before says nothing of now: those that are new,
// those that are due, and those of which a pass is under way.
func (c *counts) begin(epoch uint64) []lastObservation {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch = max(c.epoch, epoch)
	all := make([]lastObservation, 0, len(c.nodes))
	for node, last := range c.nodes {
		if last.observed && !last.due && !c.underway[node] {
			all = append(all, lastObservation{node, last})
		}
	}
	return all
}

// setDue marks a node that is about to be put into the queue: it is due until a pass
// over it has ended that knows the newest pools.
func (c *counts) setDue(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last, known := c.nodes[node]; known {
		due := *last
		due.due = true
		c.nodes[node] = &due
	}
}

// Enter begins a pass over a node. The pass ends with [Fleet.Report], or, where it
// reports nothing, because it is repeated or the node is gone, with [Fleet.Leave].
func (c *counts) Enter(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.underway[node] = true
}

// Leave ends a pass over a node, if it has not ended yet.
func (c *counts) Leave(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.underway, node)
}

// advance makes observations those of a later epoch, too. One that was replaced
// meanwhile stays as it is.
func (c *counts) advance(observations []lastObservation, epoch uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, last := range observations {
		if c.nodes[last.node] != last.Observation || last.Epoch >= epoch {
			continue
		}
		later := *last.Observation
		later.Epoch = epoch
		c.nodes[last.node] = &later
		c.epochs[epoch]++
		c.leaveEpoch(last.Epoch)
	}
}

// Report ends a pass over a node: with what it has observed, and what it has done
// there, by pool. It reports whether the node has to be observed once more, because an
// epoch has begun meanwhile.
func (c *counts) Report(node string, now Observation, results map[string]Result) (again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.underway, node)
	before := c.remove(node)
	again = now.Epoch < c.epoch
	now.observed, now.due = true, again
	c.nodes[node] = &now
	c.epochs[now.Epoch]++
	c.add(node, &now, +1)
	if before != nil {
		c.leaveEpoch(before.Epoch)
	}
	for pool, result := range results {
		all := c.pool(pool).results
		all[node] = all[node].And(result)
	}
	c.publishDifference(before, &now, results)
	return again
}

// Forget drops a node that is gone.
func (c *counts) Forget(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before := c.remove(node); before != nil {
		c.leaveEpoch(before.Epoch)
		c.publishDifference(before, &Observation{}, nil)
	}
}

// remove takes the observation of a node out of all counts, but for that of its epoch;
// it is nil where there is none.
func (c *counts) remove(node string) *Observation {
	before, known := c.nodes[node]
	if !known {
		return nil
	}
	delete(c.nodes, node)
	c.add(node, before, -1)
	return before
}

// ForgetPool drops what was done for a pool that is gone.
func (c *counts) ForgetPool(pool string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.awaited, pool)
	if counts, known := c.pools[pool]; known {
		clear(counts.results)
		c.drop(pool)
	}
}

// Counts returns the counts of a pool. Settled reports whether a pass over every node
// has ended in the epoch or after it. Where that is not so, only nodes of which one has
// ended count as up to date.
func (c *counts) Counts(pool string, since uint64) (counts Counts, settled bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	settled = c.settled(since)
	known, found := c.pools[pool]
	if !found {
		return counts, settled
	}
	counts = *known
	counts.results = nil
	counts.ConflictsOn, counts.Problems, counts.Contests = maps.Clone(known.ConflictsOn), maps.Clone(known.Problems), maps.Clone(known.Contests)
	counts.Waits, counts.Evicting, counts.steps = maps.Clone(known.Waits), maps.Clone(known.Evicting), nil
	if settled {
		return counts, true
	}
	counts.Updated, counts.Ready = 0, 0
	for _, o := range c.nodes {
		if o.Epoch >= since && slices.Contains(o.Members, pool) {
			updated, ready := o.adds(pool)
			counts.Updated += updated
			counts.Ready += ready
		}
	}
	return counts, false
}

// Results returns what was done for a pool, by node, since the call before.
func (c *counts) Results(pool string) map[string]Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts, known := c.pools[pool]
	if !known {
		return nil
	}
	results := counts.results
	counts.results = map[string]Result{}
	c.drop(pool)
	return results
}

func (c *counts) settled(since uint64) bool {
	for epoch := range c.epochs {
		if epoch < since {
			return false
		}
	}
	return true
}

// Last returns the last observation of a node, which must not change; nil where no pass
// over it has ended since the start.
func (c *counts) Last(node string) *Observation {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o, known := c.nodes[node]; known && o.observed {
		return o
	}
	return nil
}

func (c *counts) pool(name string) *Counts {
	counts, found := c.pools[name]
	if !found {
		counts = &Counts{ConflictsOn: map[string]plan.Digest{}, Problems: map[string]string{}, Contests: map[string][]plan.Contest{}, Waits: map[plan.PoolWait]int{}, steps: map[string]countedStep{}, results: map[string]Result{}, Evicting: map[string]string{}}
		c.pools[name] = counts
	}
	return counts
}

// drop drops the counts of a pool that count nothing.
func (c *counts) drop(name string) {
	if counts, known := c.pools[name]; known && counts.Desired == 0 && counts.Recorded == 0 && len(counts.Waits) == 0 && len(counts.results) == 0 {
		delete(c.pools, name)
	}
}

// add adds an observation to the counts of its pools, or takes it out again.
func (c *counts) add(node string, o *Observation, sign int32) {
	if o.Unreadable {
		c.unreadable += int(sign)
	}
	for _, pool := range o.Recorded {
		c.pool(pool).Recorded += int(sign)
	}
	for _, pool := range o.Members {
		counts := c.pool(pool)
		counts.Desired += sign
		updated, ready := o.adds(pool)
		counts.Updated += sign * updated
		counts.Ready += sign * ready
		own := o.Conflicts.Count(pool)
		counts.Conflicts += int(sign) * own
		if own > 0 && sign > 0 {
			counts.Conflicted++
			counts.ConflictsOn[node] = o.Conflicts
		} else if own > 0 {
			counts.Conflicted--
			delete(counts.ConflictsOn, node)
		}
		if own := contestsOf(pool, o.Contests); len(own) > 0 && sign > 0 {
			counts.Contests[node] = own
		} else if len(own) > 0 {
			delete(counts.Contests, node)
		}
	}
	for pool, problem := range o.Refused {
		if counts := c.pool(pool); sign > 0 {
			counts.Problems[node] = problem
		} else {
			delete(counts.Problems, node)
		}
	}
	c.addWait(o, int(sign))
	c.addEvicting(node, o, int(sign))
	if o.Problem == "" {
		return
	}
	for _, pool := range o.Pools() {
		counts := c.pool(pool)
		if o.Stuck {
			counts.Stuck += int(sign)
		}
		if sign > 0 {
			counts.Problems[node] = o.Problem
		} else {
			delete(counts.Problems, node)
		}
	}
}

// publishDifference publishes the pools whose counts two observations, or what was done,
// may have changed. That a node has come, is up to date, is ready or is gone, changes
// numbers; what people have to know of, or a pool waits for, is news.
func (c *counts) publishDifference(before, after *Observation, results map[string]Result) {
	concerned := map[string]bool{}
	for pool := range results {
		concerned[pool] = true
	}
	if before == nil {
		before = &Observation{}
	}
	if !before.equal(after) {
		for _, pool := range append(before.Pools(), after.Pools()...) {
			concerned[pool] = true
		}
	}
	troubles := !before.equalTroubles(after)
	for pool := range concerned {
		result := results[pool]
		if troubles || before.troubles(pool) != after.troubles(pool) ||
			before.orphaned(pool) || after.orphaned(pool) || c.waitNews[pool] || result.Repaired || result.Released {
			c.changes.publish(pool, News)
		} else {
			c.changes.publish(pool, Numbers)
		}
		c.drop(pool)
	}
	clear(c.waitNews)
}
