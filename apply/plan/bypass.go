package plan

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Bypass is a pool that disturbs nodes without asking rollouts that are on them: it is stronger than
// the pools of these rollouts, or the change takes the rollouts away.
type Bypass struct {
	Pool string `json:"pool"`
	// Rollouts are the pools whose rollouts are not asked, sorted.
	Rollouts []string `json:"rollouts"`
	// Nodes are those on which the rollouts are not asked, sorted.
	Nodes []string `json:"nodes"`
}

func (b Bypass) String() string {
	nodes, rollouts, pools := "1 node", "rollout", "pool "
	if len(b.Nodes) > 1 {
		nodes = fmt.Sprintf("%d nodes", len(b.Nodes))
	}
	if len(b.Rollouts) > 1 {
		rollouts, pools = "rollouts", "pools "
	}
	const most = 3
	var quoted []string
	for _, name := range b.Rollouts[:min(most, len(b.Rollouts))] {
		quoted = append(quoted, strconv.Quote(name))
	}
	text := fmt.Sprintf("pool %q changes %s without asking the %s of %s%s", b.Pool, nodes, rollouts, pools, strings.Join(quoted, ", "))
	if more := len(b.Rollouts) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Bypasses are the pools that disturb nodes without asking a rollout that is on them, if the
// revision is applied at a moment; sorted by name. A rollout is on the nodes that are in its pool
// before or after. Nodes that join ask no rollout.
func (d *Difference) Bypasses(cluster Cluster, now time.Time) []Bypass {
	pools, bypasses := d.Pools.leaving(cluster.Pools), []Bypass{}
	was, is := withRollout(cluster.Pools), withRollout(pools)
	if len(was)+len(is) == 0 {
		return bypasses
	}
	rollouts := d.rolloutsAt(pools, now)
	if rollouts == nil {
		rollouts = AllRollouts(pools)
	}
	states, members := map[string]*NodeState{}, Expand(cluster.Pools, cluster.Numbers)
	for _, node := range cluster.Nodes {
		states[node.Name] = node
	}
	byPool := map[string]*Bypass{}
	for _, node := range d.Nodes {
		state, carried := states[node.Name], node.recorded.Pools()
		before, after := CurrentMembers(state, members), node.concerned()
		for pool := range rollouts.disturbs(node.NodePlan, noTaint) {
			missed := slices.DeleteFunc(slices.Concat(before, after), func(name string) bool {
				asked := is[name] && slices.Contains(after, name) && rollouts.of(name).governs(rollouts.of(pool))
				return asked || !was[name] && !is[name]
			})
			if len(missed) == 0 || joins(state, carried, rollouts.of(pool), now) {
				continue
			}
			if byPool[pool] == nil {
				byPool[pool] = &Bypass{Pool: pool}
			}
			byPool[pool].Nodes = append(byPool[pool].Nodes, node.Name)
			byPool[pool].Rollouts = append(byPool[pool].Rollouts, missed...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byPool)) {
		slices.Sort(byPool[name].Rollouts)
		byPool[name].Rollouts = slices.Compact(byPool[name].Rollouts)
		bypasses = append(bypasses, *byPool[name])
	}
	return bypasses
}

// withRollout are the pools that have a rollout.
func withRollout(pools []*v1.NodePool) map[string]bool {
	with := map[string]bool{}
	for _, pool := range pools {
		if pool.Spec.Rollout != nil {
			with[pool.Name] = true
		}
	}
	return with
}
