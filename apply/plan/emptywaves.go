package plan

import (
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// EmptyWave is a wave that no node of its pool is in. What it is there to show is not shown: the
// waves after it begin without it.
type EmptyWave struct {
	Pool string `json:"pool"`
	Wave string `json:"wave"`
	// Taken reports that it selects nodes, and that waves before it have all of them.
	Taken bool `json:"taken"`
}

func (w EmptyWave) String() string {
	text := fmt.Sprintf("no node of pool %q is in its wave %s", w.Pool, w.Wave)
	if w.Taken {
		text += ": waves before it have all that it selects"
	}
	return text
}

// EmptyWaves are those of pools, as nodes follow them at a moment, sorted by pool, in their order. A pool without
// nodes has none.
func EmptyWaves(pools []*v1.NodePool, numbers Numbers, nodes []*NodeState, now time.Time) []EmptyWave {
	accepted := numbers.AllAccepted(pools)
	return RolloutsOf(accepted).emptyWaves(nodes, render.Expand(accepted), now, func(string) bool { return true })
}

// EmptyWaves are those of the pools that the difference creates or changes, as they are
// afterwards.
func (d *Difference) EmptyWaves(cluster Cluster, now time.Time) []EmptyWave {
	changed := map[string]bool{}
	for _, change := range d.PoolChanges {
		changed[change.Name] = change.Action != Delete
	}
	return d.rolloutsAt(d.Accepted(), now).emptyWaves(cluster.Nodes, d.Expansion(), now, func(pool string) bool { return changed[pool] })
}

// emptyWaves are those of the pools that are of interest.
func (r *Rollouts) emptyWaves(nodes []*NodeState, pools *render.Expansion, now time.Time, ofInterest func(pool string) bool) []EmptyWave {
	if r == nil {
		return nil
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(r.pools)), func(name string) bool { return len(r.pools[name].waves) == 0 || !ofInterest(name) })
	if len(names) == 0 {
		return nil
	}
	followers := make([]Follower, len(nodes))
	for i, node := range nodes {
		followers[i] = FollowerOf(node, NodeOutcomeOf(node, pools, NodeFacts{Rollouts: r, Now: now}), true)
	}
	var empty []EmptyWave
	for _, name := range names {
		empty = append(empty, r.emptyWavesOf(name, followers, now)...)
	}
	return empty
}

// emptyWavesOf are those of a pool.
func (r *Rollouts) emptyWavesOf(pool string, nodes []Follower, now time.Time) []EmptyWave {
	if !slices.ContainsFunc(nodes, func(node Follower) bool { return slices.Contains(node.Pools, pool) }) {
		return nil
	}
	var empty []EmptyWave
	waves := r.WaveNodes(pool, nodes, now)
	for i, wave := range waves[:len(waves)-1] { // the rest may have none
		if len(wave.Followed)+len(wave.Behind) > 0 {
			continue
		}
		taken := slices.ContainsFunc(nodes, func(node Follower) bool {
			return slices.Contains(node.Pools, pool) && node.Selected[pool]&(1<<i) != 0
		})
		empty = append(empty, EmptyWave{Pool: pool, Wave: wave.Wave, Taken: taken})
	}
	return empty
}
