package plan

import (
	"slices"
	"strings"
	"time"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// WaveNodes are the nodes of one wave of a pool, by how far they are. Each list is sorted.
type WaveNodes struct {
	// Wave is the name of the wave; that of the rest for nodes that are in none.
	Wave string
	// Behind are the nodes on which changes wait, of the pool or of others that wait for it;
	// Followed are all others.
	Followed, Behind []string
	// Unavailable are those of both that are not available, and Settling those that only follow a
	// change, or followed one less than minReady ago: they keep a later wave from beginning.
	Unavailable, Settling []string
}

// WaveNodes returns the nodes of all waves of a pool at a time, the rest last. That of a
// pool without waves is all of its nodes. It decides nothing: [Rollouts.Turns] reports
// which of the waves follows, and what it waits for.
func (r *Rollouts) WaveNodes(pool string, nodes []Follower, now time.Time) []WaveNodes {
	if r == nil || r.pools[pool] == nil {
		return nil
	}
	one := r.pools[pool]
	waves := make([]WaveNodes, len(one.waves)+1)
	for i, w := range one.waves {
		waves[i].Wave = w.name
	}
	waves[len(one.waves)].Wave = v1.RestWave
	members := make([]*Follower, len(nodes))
	for i := range nodes {
		members[i] = &nodes[i]
	}
	slices.SortFunc(members, func(a, b *Follower) int { return strings.Compare(a.Name, b.Name) })
	members, of := r.assigned(one, members)
	for _, node := range members {
		wave := &waves[of[node.Name]]
		if r.behind(one, node) {
			wave.Behind = append(wave.Behind, node.Name)
		} else {
			wave.Followed = append(wave.Followed, node.Name)
		}
		switch {
		case node.left(pool):
		case node.why(pool) != "":
			wave.Unavailable = append(wave.Unavailable, node.Name)
		case node.occupies(one, now):
			wave.Settling = append(wave.Settling, node.Name)
		}
	}
	return waves
}

// assigned are those of some nodes that are in the rollout of a pool, and their waves. The nodes are
// sorted by name.
func (r *Rollouts) assigned(pool *rollout, nodes []*Follower) (members []*Follower, of map[string]int) {
	since := time.Time{}
	for _, node := range nodes {
		if !slices.Contains(node.Pools, pool.name) && !node.left(pool.name) {
			continue
		}
		members = append(members, node)
		for _, name := range node.Waits {
			if changing := r.pools[name]; changing != nil && pool.governs(changing) {
				since = latest(since, changing.changed)
			}
		}
	}
	return members, assign(pool, members, func(node *Follower) bool { return !r.behind(pool, node) && node.joined(since) })
}

// behind reports whether a change waits on a node that waits for a pool.
func (r *Rollouts) behind(pool *rollout, node *Follower) bool {
	return slices.ContainsFunc(node.Waits, func(name string) bool {
		changing := r.pools[name]
		return changing != nil && pool.governs(changing)
	})
}
