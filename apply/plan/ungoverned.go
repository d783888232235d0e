package plan

import (
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// governance is what the rollouts of pools govern before a difference and after it, of the
// pools that have one at both times.
type governance struct {
	before, after *Rollouts
	// stay are the pools with a rollout at both times, and policies those of them that have
	// nothing else: what they say of a node is said by its being in them.
	stay, policies map[string]bool
	// lost are, by pool with a rollout, the pools that wait for it no longer, and replaced what
	// comes in place of what its rollout says.
	lost, replaced map[string]map[string]bool
}

// lessGoverned says, by pool with a rollout, in what it governs less than before where nodes
// are: a pool no longer waits for it, because one of the two has another priority or another
// pool around it, or because it has given up the node; or the waves or the drain of a
// stronger one come in place of its own. Where no nodes are known, pools may have some in
// common.
func (d *Difference) lessGoverned(cluster Cluster) map[string][]string {
	before := RolloutsOf(cluster.Pools)
	if before == nil {
		return nil
	}
	pools := poolsAfter(d.PoolChanges, cluster.Pools)
	g := &governance{
		before: before, after: AllRollouts(pools), stay: map[string]bool{}, policies: map[string]bool{},
		lost: map[string]map[string]bool{}, replaced: map[string]map[string]bool{},
	}
	var given []string
	now := make(map[string]*v1.NodePool, len(pools))
	for _, pool := range pools {
		now[pool.Name] = pool
	}
	for _, was := range cluster.Pools {
		is := now[was.Name]
		if is == nil || was.Spec.Rollout == nil || is.Spec.Rollout == nil {
			continue
		}
		g.stay[was.Name], g.policies[was.Name] = true, isPolicy(was)
		if isPolicy(was) && mayHaveFewer(was, is) {
			given = append(given, was.Name)
		}
	}
	if len(cluster.Nodes) == 0 {
		everywhere := slices.Sorted(maps.Keys(now))
		g.compare(slices.Sorted(maps.Keys(before.pools)), slices.DeleteFunc(everywhere, func(pool string) bool { return slices.Contains(given, pool) }))
	} else {
		g.compareNodes(cluster, d.Expansion(cluster))
	}
	return g.sentences()
}

// compareNodes compares where the nodes are, each set of pools once.
func (g *governance) compareNodes(cluster Cluster, after *render.Expansion) {
	before := render.Expand(cluster.Pools)
	seed, seen := maphash.MakeSeed(), map[uint64]bool{}
	for _, node := range cluster.Nodes {
		was, is := CurrentMembers(node, before), CurrentMembers(node, after)
		sets := maphash.String(seed, strings.Join(was, "/")+"//"+strings.Join(is, "/"))
		if !seen[sets] {
			seen[sets] = true
			g.compare(was, is)
		}
	}
}

// compare compares what governs a node that is in some pools, both sorted.
func (g *governance) compare(before, after []string) {
	for _, pool := range before {
		if _, stays := slices.BinarySearch(after, pool); !stays && g.policies[pool] {
			g.givesUp(pool, before, after)
		}
	}
	for _, pool := range after {
		if g.stay[pool] {
			g.weighs(pool, after)
		}
	}
}

// givesUp notes the pools of a node that waited for one which it is in no longer.
func (g *governance) givesUp(pool string, before, after []string) {
	for _, other := range after {
		if _, was := slices.BinarySearch(before, other); was && g.before.of(pool).governs(g.before.of(other)) {
			note(g.lost, pool, other)
		}
	}
}

// weighs notes what has become stronger than a pool, or has left it, on a node in some pools.
func (g *governance) weighs(pool string, after []string) {
	was, is := g.before.of(pool), g.after.of(pool)
	for _, name := range after {
		if name == pool {
			continue
		}
		then, other := g.before.pools[name], g.after.of(name)
		if then != nil && was.governs(then) && !is.governs(other) {
			note(g.lost, pool, name)
		}
		comesFirst := func(has func(*rollout) bool) bool {
			first := has(was) && has(is) && has(other) && other.rank < is.rank && !other.deleted
			return first && (then == nil || !has(then) || then.rank > was.rank)
		}
		if comesFirst(func(r *rollout) bool { return len(r.waves) > 0 }) {
			note(g.replaced, pool, fmt.Sprintf("the waves of pool %q come in place of its own", name))
		}
		if comesFirst(func(r *rollout) bool { return r.drain != nil }) {
			note(g.replaced, pool, fmt.Sprintf("the drain of pool %q comes in place of its own", name))
		}
	}
}

func note(notes map[string]map[string]bool, pool, text string) {
	if notes[pool] == nil {
		notes[pool] = map[string]bool{}
	}
	notes[pool][text] = true
}

// sentences are a few words for each thing that was noted, by pool.
func (g *governance) sentences() map[string][]string {
	changes := map[string][]string{}
	for pool, others := range g.lost {
		changes[pool] = append(changes[pool], noLongerWait(slices.Sorted(maps.Keys(others))))
	}
	for pool, texts := range g.replaced {
		all := slices.Sorted(maps.Keys(texts))
		if more := len(all) - maxUngoverned; more > 0 {
			all = append(all[:maxUngoverned], fmt.Sprintf("%d more come in place of its own", more))
		}
		changes[pool] = append(changes[pool], all...)
	}
	return changes
}

// isPolicy reports whether a pool has a rollout and nothing that nodes get.
func isPolicy(pool *v1.NodePool) bool {
	return len(pool.Spec.Labels) == 0 && len(pool.Spec.Annotations) == 0 && len(pool.Spec.Taints) == 0 && pool.Spec.Handler == ""
}

// mayHaveFewer reports whether a pool may have lost nodes by what it says of them.
func mayHaveFewer(was, is *v1.NodePool) bool {
	before, after := choice(was), choice(is)
	if len(before.NodeNames) > 0 && !slices.ContainsFunc(before.NodeNames, func(name string) bool { return !slices.Contains(after.NodeNames, name) }) {
		after.NodeNames = before.NodeNames
	}
	return identify(before) != identify(after)
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
