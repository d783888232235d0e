package status

import (
	"slices"
	"time"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

// turns are what nodes wait for, worked out as the controller does.
type turns struct {
	pools    map[string]*v1.NodePool
	rollouts *plan.Rollouts
	nodes    []plan.Follower
	// byName are the nodes.
	byName map[string]*plan.Follower
	// waits are those of nodes for a pool, by its name.
	waits map[string][]plan.PoolWait
	// waves are how far the waves are of the pools that have some.
	waves map[string]*plan.WaveState
	// unavailable are the nodes that use up the budgets of pools.
	unavailable map[string]plan.Unavailable
}

func turnsOf(cluster Cluster, now time.Time) *turns {
	accepted := plan.NumbersOf(cluster.Sources).AllAccepted(cluster.Pools)
	t := &turns{
		pools: make(map[string]*v1.NodePool, len(cluster.Pools)), rollouts: plan.RolloutsOf(accepted),
		byName: map[string]*plan.Follower{}, waits: map[string][]plan.PoolWait{}, waves: map[string]*plan.WaveState{},
	}
	for _, pool := range cluster.Pools {
		t.pools[pool.Name] = pool
	}
	for _, pool := range accepted {
		t.pools[pool.Name] = pool
	}
	if t.rollouts == nil {
		return t
	}
	expansion, facts := render.Expand(accepted), plan.NodeFacts{Rollouts: t.rollouts, Now: now}
	for _, node := range cluster.Nodes {
		outcome := plan.NodeOutcomeOf(node.NodeState, expansion, facts)
		for _, wait := range outcome.Wait {
			if !slices.ContainsFunc(t.waits[wait.Pool], func(known plan.PoolWait) bool { return known.Equal(wait) }) {
				t.waits[wait.Pool] = append(t.waits[wait.Pool], *wait)
			}
		}
		follower := plan.FollowerOf(node.NodeState, outcome, node.Ready)
		t.byName[node.Name] = &follower
		t.nodes = append(t.nodes, follower)
	}
	halts := map[string]*plan.Halt{}
	for _, pool := range cluster.Pools {
		if halt := plan.HaltOf(pool); halt != nil {
			halts[pool.Name] = halt
		}
	}
	decided := t.rollouts.Turns(t.nodes, halts, now, true)
	t.waves, t.unavailable = decided.Waves, decided.Unavailable
	return t
}

// first is the wait for a pool that ends first, as its status has it; nil where none is
// known.
func (t *turns) first(pool string) *plan.PoolWait { return plan.FirstWait(t.waits[pool]) }

// waitedFor are a pool, and the others whose rollouts its nodes wait for, by name.
func (t *turns) waitedFor(pool string) []string {
	names := []string{pool}
	if wait := t.first(pool); wait != nil {
		for _, name := range wait.For {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// wave is the first of the waves that are waited for, with its pool; nil where there is
// none.
func (t *turns) wave(pool string) (of string, wave *plan.WaveState) {
	wait := t.first(pool)
	if wait == nil || !wait.Turn {
		return pool, t.waves[pool]
	}
	for _, name := range wait.For {
		if t.waves[name] != nil {
			return name, t.waves[name]
		}
	}
	return "", nil
}
