package plan

import (
	"hash/maphash"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// governance compares what the rollouts of pools govern before a difference and after it.
type governance struct {
	// pools are those that there are before or after, by name.
	pools map[string]*governed
}

// governed is a pool before and after.
type governed struct {
	name string
	// was and is are nil where there is no such pool.
	was, is *rollout
	// restrains reports that it has a rollout before and after, and only that it has nothing
	// else: what it says of a node is then said by its having the node.
	restrains, only bool
	// changed reports that it may stand in another relation to other pools than before.
	changed bool
	// free are the pools that wait for it no longer; waves and drains are of the pools whose
	// waves or drain come in place of its own.
	free, waves, drains names
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
	g := newGovernance(before, AllRollouts(pools), cluster.Pools, pools)
	if len(cluster.Nodes) == 0 {
		g.compare(namesOfPools(cluster.Pools), mayKeepNodes(cluster.Pools, pools))
	} else {
		g.compareNodes(cluster, d.Expansion())
	}
	changes := map[string][]string{}
	for name, pool := range g.pools {
		if texts := pool.texts(); len(texts) > 0 {
			changes[name] = texts
		}
	}
	return changes
}

func newGovernance(before, after *Rollouts, was, is []*v1.NodePool) *governance {
	g := &governance{pools: map[string]*governed{}}
	then := byName(was)
	for name, one := range before.pools {
		g.pools[name] = &governed{name: name, was: one, is: after.pools[name]}
	}
	for _, pool := range is {
		one := g.pools[pool.Name]
		if one == nil {
			g.pools[pool.Name] = &governed{name: pool.Name, is: after.pools[pool.Name], changed: true}
			continue
		}
		live := then.get(pool.Name)
		one.restrains = live.Spec.Rollout != nil && pool.Spec.Rollout != nil
		one.only = one.restrains && nothingElse(live)
		one.changed = live.Spec.Priority != pool.Spec.Priority || one.was.deleted != one.is.deleted ||
			!slices.Equal(one.was.around, one.is.around) ||
			hasWaves(one.was) != hasWaves(one.is) || hasDrain(one.was) != hasDrain(one.is)
	}
	return g
}

// compareNodes compares where the nodes are, each set of pools once.
func (g *governance) compareNodes(cluster Cluster, after *render.Expansion) {
	before := Expand(cluster.Pools, cluster.Numbers)
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

// compare compares what governs a node that is in some pools before and in some after, both
// sorted. Of two pools that stand to each other as before there is nothing to compare.
func (g *governance) compare(before, after []string) {
	var all, changed []*governed
	for _, name := range after {
		if pool := g.pools[name]; pool != nil && pool.is != nil {
			if all = append(all, pool); pool.changed {
				changed = append(changed, pool)
			}
		}
	}
	for _, name := range before {
		if _, stays := slices.BinarySearch(after, name); !stays && g.pools[name] != nil && g.pools[name].only {
			g.pools[name].givesUp(all, before)
		}
	}
	for _, pool := range all {
		others := changed
		if pool.changed {
			others = all
		}
		if pool.restrains {
			pool.meets(others)
		}
	}
}

// givesUp notes the pools of a node that waited for one which has the node no longer.
func (p *governed) givesUp(pools []*governed, before []string) {
	for _, other := range pools {
		if _, there := slices.BinarySearch(before, other.name); there && other.was != nil && p.was.governs(other.was) {
			p.free.add(other.name)
		}
	}
}

// meets notes which of the pools on a node have become stronger than this one, or left it.
func (p *governed) meets(others []*governed) {
	for _, other := range others {
		if other == p {
			continue
		}
		if other.was != nil && p.was.governs(other.was) && !p.is.governs(other.is) {
			p.free.add(other.name)
		}
		if p.isReplaced(other, hasWaves) {
			p.waves.add(other.name)
		}
		if p.isReplaced(other, hasDrain) {
			p.drains.add(other.name)
		}
	}
}

// isReplaced reports whether what a stronger pool has comes in place of what this one has, and
// has not done so before.
func (p *governed) isReplaced(other *governed, has func(*rollout) bool) bool {
	if !has(p.was) || !has(p.is) || !has(other.is) || other.is.deleted || other.is.rank > p.is.rank {
		return false
	}
	return other.was == nil || !has(other.was) || other.was.rank > p.was.rank
}

func hasWaves(r *rollout) bool { return r != nil && len(r.waves) > 0 }

func hasDrain(r *rollout) bool { return r != nil && r.drain != nil }

// texts say in a few words each what the rollout of the pool governs less.
func (p *governed) texts() (texts []string) {
	if len(p.free.first) > 0 {
		waits := " no longer wait for it"
		if len(p.free.first) == 1 {
			waits = " no longer waits for it"
		}
		texts = append(texts, p.free.of()+waits)
	}
	if len(p.waves.first) > 0 {
		texts = append(texts, "the waves of "+p.waves.of()+" come in place of its own")
	}
	if len(p.drains.first) > 0 {
		texts = append(texts, "the drain of "+p.drains.of()+" comes in place of its own")
	}
	return texts
}

// nothingElse reports whether a pool has a rollout, and nothing that nodes get.
func nothingElse(pool *v1.NodePool) bool {
	return pool.Spec.Rollout != nil && len(pool.Spec.Labels) == 0 && len(pool.Spec.Annotations) == 0 && len(pool.Spec.Taints) == 0 && pool.Spec.Handler == ""
}

// mayKeepNodes are the names of pools, sorted, less those that have nothing but a rollout and
// may have fewer nodes than they had.
func mayKeepNodes(was, is []*v1.NodePool) []string {
	then := byName(was)
	return namesOfPools(slices.DeleteFunc(slices.Clone(is), func(pool *v1.NodePool) bool {
		live := then.get(pool.Name)
		return live != nil && nothingElse(live) && mayHaveFewer(live, pool)
	}))
}

// mayHaveFewer reports whether a pool may have lost nodes by what it says of them.
func mayHaveFewer(was, is *v1.NodePool) bool {
	grows := len(was.Spec.NodeNames) > 0 && !slices.ContainsFunc(was.Spec.NodeNames, func(name string) bool { return !slices.Contains(is.Spec.NodeNames, name) })
	return was.Spec.Parent != is.Spec.Parent || !equality.Semantic.DeepEqual(was.Spec.Selector, is.Spec.Selector) || !grows && !slices.Equal(was.Spec.NodeNames, is.Spec.NodeNames)
}

func namesOfPools(pools []*v1.NodePool) []string {
	names := make([]string, len(pools))
	for i, pool := range pools {
		names[i] = pool.Name
	}
	slices.Sort(names)
	return names
}

// names are the first few of some names, sorted, and whether there are more.
type names struct {
	first []string
	more  bool
}

// maxNames is how many of them there are: whoever changes 10,000 pools changes how each of them
// stands to each other.
const maxNames = 3

func (n *names) add(name string) {
	at, known := slices.BinarySearch(n.first, name)
	if known {
		return
	}
	if n.first = slices.Insert(n.first, at, name); len(n.first) > maxNames {
		n.first, n.more = n.first[:maxNames], true
	}
}

// of names the pools.
func (n *names) of() string {
	quoted := make([]string, len(n.first))
	for i, name := range n.first {
		quoted[i] = strconv.Quote(name)
	}
	text := "pool " + quoted[0]
	if len(quoted) > 1 {
		text = "pools " + strings.Join(quoted, ", ")
	}
	if n.more {
		text += " and others"
	}
	return text
}
