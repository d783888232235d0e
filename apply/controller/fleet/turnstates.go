package fleet

import (
	"github.com/nodepools/nodepools/apply/plan"
)

// turnsChange is what it is that the rollout of a pool is further: to the pool, and to those
// that wait for it.
type turnsChange struct{ own, waiting Change }

// publishTurns notes how far rollouts are, and publishes the pools of which that is another
// thing, and those that wait for them.
func (f *Fleet) publishTurns(turns plan.Turns) {
	f.turns.setCounted(turns.Counts)
	changes := f.turns.setWaves(turns.Waves)
	for _, pool := range f.turns.setHalts(turns.Halts) {
		changes[pool] = turnsChange{News, News}
	}
	for _, pool := range f.turns.setStuck(turns.Stuck) {
		changes[pool] = turnsChange{News, News}
	}
	for pool, change := range f.turns.setUnavailable(turns.Unavailable) {
		known := changes[pool]
		changes[pool] = turnsChange{known.own | change.own, known.waiting | change.waiting}
	}
	for pool, change := range changes {
		f.changes.publish(pool, change.own)
		for _, waiting := range f.waitFor(pool) {
			f.changes.publish(waiting, change.waiting)
		}
	}
}

// setWaves notes how far waves are, and returns the pools of which that is another thing
// than before. How many nodes have followed is a number; all else is news. Pools that wait
// for the waves may be many, and each would write its status with every wave: how far these
// are is neither to them, as long as nodes follow.
func (t *turns) setWaves(waves map[string]*plan.WaveState) map[string]turnsChange {
	t.mu.Lock()
	defer t.mu.Unlock()
	changes := map[string]turnsChange{}
	for pool, is := range waves {
		switch was := t.waves[pool]; {
		case was != nil && *was == *is:
		case was != nil && was.EqualButNumbers(is):
			changes[pool] = turnsChange{Numbers, Elsewhere}
		case was != nil && was.Behind > 0 && is.Behind > 0:
			changes[pool] = turnsChange{News, Elsewhere}
		default:
			changes[pool] = turnsChange{News, News}
		}
	}
	for pool := range t.waves {
		if waves[pool] == nil {
			changes[pool] = turnsChange{News, News}
		}
	}
	t.waves = waves
	return changes
}

// differences are the pools of which something is another thing than before, or not there any more.
func differences[V any](was, is map[string]V, same func(a, b V) bool) (pools []string) {
	for pool, now := range is {
		if before, known := was[pool]; !known || !same(before, now) {
			pools = append(pools, pool)
		}
	}
	for pool := range was {
		if _, still := is[pool]; !still {
			pools = append(pools, pool)
		}
	}
	return pools
}

// setHalts notes which rollouts are halted, and returns the pools of which that is another
// thing than before. Where one is halted by now, it is the turn of no node any more; whether
// it has begun becomes known.
func (t *turns) setHalts(halts map[string]*plan.Halt) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	changed := differences(t.halts, halts, (*plan.Halt).Equal)
	for _, pool := range changed {
		if halts[pool].Holds() {
			for node := range t.begun {
				t.begun[node] = turn{}
			}
		}
	}
	t.halts = halts
	return changed
}

// Halt returns the halt of the rollout of a pool, which is nil where there is none, and
// reports whether it is known: before, that of its status goes on.
func (f *Fleet) Halt(pool string) (halt *plan.Halt, known bool) {
	f.turns.mu.Lock()
	defer f.turns.mu.Unlock()
	return f.turns.halts[pool], f.turns.synced
}

// setLatches notes which waves are over. Whatever changes of that changes how far waves are, too.
func (t *turns) setLatches(latches plan.Latches) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.latches = latches
}

// Latches are which waves of a pool are over, and whether that is known: before, those of its status
// count.
func (f *Fleet) Latches(pool string) (latches map[string]plan.Latch, known bool) {
	f.turns.mu.Lock()
	defer f.turns.mu.Unlock()
	return f.turns.latches[pool], f.turns.synced
}

// setStuck notes which rollouts take too long for their next step, and returns the pools of
// which that is another thing than before.
func (t *turns) setStuck(stuck map[string]plan.Stuck) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	changed := differences(t.stuck, stuck, func(a, b plan.Stuck) bool { return a == b })
	t.stuck = stuck
	return changed
}

// setUnavailable notes which nodes use up the budgets of pools, and returns the pools of which
// that is another thing than before. A kubelet can have that change each second, so it is
// gathered as numbers are.
func (t *turns) setUnavailable(unavailable map[string]plan.Unavailable) map[string]turnsChange {
	t.mu.Lock()
	defer t.mu.Unlock()
	changes := map[string]turnsChange{}
	for _, pool := range differences(t.unavailable, unavailable, func(a, b plan.Unavailable) bool { return a == b }) {
		changes[pool] = turnsChange{Numbers, Elsewhere}
	}
	t.unavailable = unavailable
	return changes
}

// Unavailable returns the nodes that use up the budget of a pool in which changes wait.
func (f *Fleet) Unavailable(pool string) plan.Unavailable {
	f.turns.mu.Lock()
	defer f.turns.mu.Unlock()
	return f.turns.unavailable[pool]
}

// Stuck reports whether the next step of the rollout of a pool takes too long.
func (f *Fleet) Stuck(pool string) (plan.Stuck, bool) {
	f.turns.mu.Lock()
	defer f.turns.mu.Unlock()
	stuck, found := f.turns.stuck[pool]
	return stuck, found
}

// setCounted notes how many nodes are on their way. Only metrics have it: no pool writes its
// status for that.
func (t *turns) setCounted(counts map[string]plan.RolloutNodes) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counted = counts
}

// counts are those that were noted last, which must not change.
func (t *turns) counts() map[string]plan.RolloutNodes {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counted
}
