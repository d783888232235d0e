package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// ungoverned are, by pool with a rollout before and after, the pools whose changes wait for
// it no longer on nodes that both have, sorted: one of the two has another priority, or
// another pool around it. Where no nodes are known, they may have some in common.
func (d *Difference) ungoverned(cluster Cluster) map[string][]string {
	before := RolloutsOf(cluster.Pools)
	if before == nil {
		return nil
	}
	pools := poolsAfter(d.PoolChanges, cluster.Pools)
	after, stays := AllRollouts(pools), map[string]bool{}
	for _, pool := range pools {
		stays[pool.Name] = pool.Spec.Rollout != nil
	}
	found := map[string][]string{}
	for _, pool := range cluster.Pools {
		if pool.Spec.Rollout != nil && stays[pool.Name] {
			found[pool.Name] = governedBefore(pool, before, after)
		}
	}
	if len(cluster.Nodes) > 0 {
		found = d.together(cluster, found)
	}
	for pool, others := range found {
		if slices.Sort(others); len(others) == 0 {
			delete(found, pool)
		}
	}
	return found
}

// governedBefore are the pools whose changes waited for one before, and wait no longer.
func governedBefore(pool *v1.NodePool, before, after *Rollouts) (others []string) {
	was, is := before.of(pool.Name), after.of(pool.Name)
	for _, other := range before.ranked {
		if then := after.pools[other.name]; then != nil && was.governs(other) && !is.governs(then) {
			others = append(others, other.name)
		}
	}
	return others
}

// together are those of some pools, by pool, that have a node in common with it afterwards.
func (d *Difference) together(cluster Cluster, pairs map[string][]string) map[string][]string {
	found, expansion := map[string][]string{}, d.Expansion(cluster)
	for _, node := range cluster.Nodes {
		members := CurrentMembers(node, expansion)
		for _, pool := range members {
			for _, other := range pairs[pool] {
				if _, both := slices.BinarySearch(members, other); both && !slices.Contains(found[pool], other) {
					found[pool] = append(found[pool], other)
				}
			}
		}
	}
	return found
}

// maxUngoverned is how many of the pools are named that wait for a rollout no longer.
const maxUngoverned = 3

func noLongerWait(pools []string) string {
	named := make([]string, 0, maxUngoverned)
	for _, pool := range pools[:min(len(pools), maxUngoverned)] {
		named = append(named, strconv.Quote(pool))
	}
	text := strings.Join(named, ", ")
	switch more := len(pools) - len(named); {
	case more > 0:
		return fmt.Sprintf("pools %s and %d more wait for it no longer", text, more)
	case len(pools) == 1:
		return "pool " + text + " waits for it no longer"
	}
	return "pools " + text + " wait for it no longer"
}
