package controller

import (
	"maps"
	"slices"
	"sync"

	"github.com/nodepools/nodepools/apply/plan"
)

// tally counts, pool by pool, what the node loop found. It holds one small note
// per node, so that a pool's figures cost nothing to read and a node event
// nothing that grows with the number of nodes. It can be lost at any time: the
// node loop looks at every node when it starts.
type tally struct {
	mu sync.Mutex
	// epoch is the newest one in which every node is to be looked at.
	epoch uint64
	nodes map[string]*note
	// underway has the nodes of which a pass is under way, which may have begun in an
	// earlier epoch.
	underway map[string]bool
	// looks is, by epoch, how many nodes were last looked at in it.
	looks map[uint64]int
	pools map[string]*figures
	// moved is told the name of a pool when its figures have changed, and whether
	// that is news, or nothing but counts; settles when they are settled that were
	// asked for before: see await.
	moved   func(pool string, news bool)
	settles func(pool string)
	// awaited is, by pool, the epoch in which its figures are to settle.
	awaited map[string]uint64
}

func newTally() *tally {
	return &tally{
		nodes: map[string]*note{}, underway: map[string]bool{},
		looks: map[uint64]int{},
		pools: map[string]*figures{},
		moved: func(string, bool) {}, settles: func(string) {},
		awaited: map[string]uint64{},
	}
}

// onMove sets who is told of pools whose figures have changed, and of those that
// have settled.
func (t *tally) onMove(moved func(pool string, news bool), settles func(pool string)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.moved, t.settles = moved, settles
}

// notify leads to a pass over a pool.
func (t *tally) notify(pool string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settles(pool)
}

// await tells whether the figures of a pool are settled: every node was looked at
// in the epoch or after it. Where they are not, it is told once when they are.
func (t *tally) await(pool string, since uint64) (settled bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.settled(since) {
		delete(t.awaited, pool)
		return true
	}
	t.awaited[pool] = since
	return false
}

// dropLook drops a look in an epoch. It may have been the last that a pool waits
// for.
func (t *tally) dropLook(epoch uint64) {
	if t.looks[epoch]--; t.looks[epoch] > 0 {
		return
	}
	delete(t.looks, epoch)
	for pool, since := range t.awaited {
		if t.settled(since) {
			delete(t.awaited, pool)
			t.settles(pool)
		}
	}
}

// expect notes that a node has come in an epoch and will be looked at.
func (t *tally) expect(node string, epoch uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.nodes[node]; !known {
		t.nodes[node] = &note{epoch: epoch}
		t.looks[epoch]++
	}
}

// lastLook is what was found when a node was last looked at.
type lastLook struct {
	node string
	*note
}

// begin starts an epoch: every node is to be looked at again, or to be advanced.
// It returns what was found on the nodes at rest. The others will be looked at
// anyway, and what was found there before says nothing of now: those that are new,
// those that are due, and those of which a pass is under way.
func (t *tally) begin(epoch uint64) []lastLook {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.epoch = max(t.epoch, epoch)
	looks := make([]lastLook, 0, len(t.nodes))
	for node, found := range t.nodes {
		if found.looked && !found.due && !t.underway[node] {
			looks = append(looks, lastLook{node, found})
		}
	}
	return looks
}

// owe notes that a node is about to be put into the queue: it is due until a pass
// over it has ended that knows the newest pools.
func (t *tally) owe(node string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if found, known := t.nodes[node]; known {
		due := *found
		due.due = true
		t.nodes[node] = &due
	}
}

// enter notes that a pass over a node begins. It ends with its report, or, where it
// has none, because it is repeated or the node is gone, with leave.
func (t *tally) enter(node string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.underway[node] = true
}

func (t *tally) leave(node string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.underway, node)
}

// advance notes that looks hold in a later epoch as well. A node that was looked
// at meanwhile is left as that has found it.
func (t *tally) advance(looks []lastLook, epoch uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, last := range looks {
		if t.nodes[last.node] != last.note || last.epoch >= epoch {
			continue
		}
		found := *last.note
		found.epoch = epoch
		t.nodes[last.node] = &found
		t.looks[epoch]++
		t.dropLook(last.epoch)
	}
}

// report files the note of a node, and what was done there, by pool. It
// tells whether the node has to be looked at once more, because an epoch began
// meanwhile.
func (t *tally) report(node string, found note, done map[string]deed) (again bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.underway, node)
	before := t.take(node)
	again = found.epoch < t.epoch
	found.looked, found.due = true, again
	t.nodes[node] = &found
	t.looks[found.epoch]++
	t.count(node, &found, +1)
	if before != nil {
		t.dropLook(before.epoch)
	}
	for pool, did := range done {
		deeds := t.pool(pool).deeds
		deeds[node] = deeds[node].and(did)
	}
	t.tell(before, &found, done)
	return again
}

// forget drops a node that is gone.
func (t *tally) forget(node string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if before := t.take(node); before != nil {
		t.dropLook(before.epoch)
		t.tell(before, &note{}, nil)
	}
}

// take takes the note of a node out of all figures; it is nil where there is
// none. That it was looked at is left to the caller.
func (t *tally) take(node string) *note {
	before, known := t.nodes[node]
	if !known {
		return nil
	}
	delete(t.nodes, node)
	t.count(node, before, -1)
	return before
}

// forgetPool drops what was done for a pool that is gone.
func (t *tally) forgetPool(pool string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.awaited, pool)
	if f, known := t.pools[pool]; known {
		clear(f.deeds)
		t.drop(pool)
	}
}

// read returns the figures of a pool. Settled tells whether every node was looked
// at in the epoch or after it. Where that is not so, only those that were count
// as up to date.
func (t *tally) read(pool string, since uint64) (f figures, settled bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	settled = t.settled(since)
	known, found := t.pools[pool]
	if !found {
		return f, settled
	}
	f = *known
	f.conflictsOn, f.problems, f.contests = maps.Clone(known.conflictsOn), maps.Clone(known.problems), maps.Clone(known.contests)
	if settled {
		return f, true
	}
	f.Updated, f.Ready = 0, 0
	for _, n := range t.nodes {
		if n.epoch >= since && slices.Contains(n.members, pool) {
			updated, ready := n.standing(pool)
			f.Updated += updated
			f.Ready += ready
		}
	}
	return f, false
}

// drain returns what was done for a pool, by node, since it was last asked.
func (t *tally) drain(pool string) map[string]deed {
	t.mu.Lock()
	defer t.mu.Unlock()
	f, known := t.pools[pool]
	if !known {
		return nil
	}
	deeds := f.deeds
	f.deeds = map[string]deed{}
	t.drop(pool)
	return deeds
}

func (t *tally) settled(since uint64) bool {
	for epoch := range t.looks {
		if epoch < since {
			return false
		}
	}
	return true
}

// last is what was found when a node was last looked at; nil where it was not since
// the start. It is not to be changed.
func (t *tally) last(node string) *note {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n, known := t.nodes[node]; known && n.looked {
		return n
	}
	return nil
}

// looked tells whether a node was looked at since the start.
func (t *tally) looked(node string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, known := t.nodes[node]
	return known && n.looked
}

func (t *tally) pool(name string) *figures {
	f, found := t.pools[name]
	if !found {
		f = &figures{conflictsOn: map[string]plan.Digest{}, problems: map[string]string{}, contests: map[string][]plan.Contest{}, deeds: map[string]deed{}}
		t.pools[name] = f
	}
	return f
}

// drop drops the figures of a pool that say nothing.
func (t *tally) drop(name string) {
	if f, known := t.pools[name]; known && f.Desired == 0 && f.recorded == 0 && len(f.deeds) == 0 {
		delete(t.pools, name)
	}
}

// count adds a note to the figures of its pools, or takes it out again.
func (t *tally) count(node string, n *note, sign int32) {
	for _, pool := range n.recorded {
		t.pool(pool).recorded += int(sign)
	}
	for _, pool := range n.members {
		f := t.pool(pool)
		f.Desired += sign
		updated, ready := n.standing(pool)
		f.Updated += sign * updated
		f.Ready += sign * ready
		own := n.conflicts.Count(pool)
		f.conflicts += int(sign) * own
		if own > 0 && sign > 0 {
			f.Conflicted++
			f.conflictsOn[node] = n.conflicts
		} else if own > 0 {
			f.Conflicted--
			delete(f.conflictsOn, node)
		}
		if own := contestsOf(pool, n.contests); len(own) > 0 && sign > 0 {
			f.contests[node] = own
		} else if len(own) > 0 {
			delete(f.contests, node)
		}
	}
	if n.problem == "" {
		return
	}
	for _, pool := range n.pools() {
		f := t.pool(pool)
		if n.stuck {
			f.stuck += int(sign)
		}
		if sign > 0 {
			f.problems[node] = n.problem
		} else {
			delete(f.problems, node)
		}
	}
}

// tell wakes the pools whose figures the two notes, or what was done, may have
// changed. That a node has come, is up to date, is ready or is gone, changes counts;
// what people have to know of, or a pool waits for, is news.
func (t *tally) tell(before, after *note, done map[string]deed) {
	concerned := map[string]bool{}
	for pool := range done {
		concerned[pool] = true
	}
	if before == nil {
		before = &note{}
	}
	if !before.sameFor(after) {
		for _, pool := range append(before.pools(), after.pools()...) {
			concerned[pool] = true
		}
	}
	troubles := !before.sameTroubles(after)
	for pool := range concerned {
		did := done[pool]
		news := troubles || before.troubles(pool) != after.troubles(pool) ||
			before.leaves(pool) || after.leaves(pool) || did.repaired || did.released
		t.moved(pool, news)
		t.drop(pool)
	}
}
