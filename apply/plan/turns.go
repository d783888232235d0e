package plan

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Follower is a node as far as turns depend on it.
type Follower struct {
	Name string
	// Pools are those that the node is in, or carries keys of.
	Pools []string
	// Asks are the pools in whose rollouts it waits for its turn; none where nothing of it
	// waits for that.
	Asks []string
	// Begun are the pools in whose rollouts it is its turn already. Busy reports that it was
	// its turn in some, be they other rollouts by now, and that it is not known yet what
	// came of it.
	Begun []string
	Busy  bool
	// Unavailable reports that it is not ready, or cordoned.
	Unavailable bool
	// Changed is when it last began to follow a change in its turn; zero where that was
	// long ago.
	Changed time.Time
}

// ChangedAt is when a node last began to follow a change in its turn, by its record; zero
// where that is long ago, or cannot be read.
func ChangedAt(node *NodeState) time.Time {
	record, err := readRecord(node)
	if err != nil {
		return time.Time{}
	}
	return record.Changed
}

// Limited reports whether nodes take turns in one of the rollouts.
func (r *Rollouts) Limited() bool {
	if r == nil {
		return false
	}
	for _, one := range r.pools {
		if one.limit != nil {
			return true
		}
	}
	return false
}

// Turns returns the nodes that may begin to follow their pools at a time, with the pools
// in whose rollouts it is their turn, and when that has to be decided anew though nothing
// happens; zero where it does not.
//
// It is the turn of a node when each rollout that it asks lets one more node be
// unavailable. Nodes that are unavailable already do not begin, and count in all their
// pools, whatever has made them unavailable. The order is that of the names.
func (r *Rollouts) Turns(nodes []Follower, now time.Time) (turns map[string][]string, again time.Time) {
	if r == nil {
		return nil, time.Time{}
	}
	nodes = slices.SortedFunc(slices.Values(nodes), func(a, b Follower) int { return strings.Compare(a.Name, b.Name) })
	budgets := r.budgets(nodes, now)
	turns = map[string][]string{}
	for i := range nodes {
		node := &nodes[i]
		if len(node.Asks) == 0 || containsAll(node.Begun, node.Asks) || node.Unavailable {
			continue
		}
		full := slices.ContainsFunc(node.Asks, func(pool string) bool {
			budget := budgets[pool]
			if budget == nil {
				return true // the rollout is another one by now
			}
			one := 1
			if node.occupies(r.pools[pool], now) {
				one = 0 // it counts already
			}
			return budget.Unavailable+one > budget.Most
		})
		if full {
			continue
		}
		turns[node.Name] = node.Asks
		for _, pool := range node.Pools {
			if budget := budgets[pool]; budget != nil && !node.occupies(r.pools[pool], now) {
				budget.Unavailable++
			}
		}
	}
	for i := range nodes {
		for _, pool := range nodes[i].Pools {
			if one := r.pools[pool]; one != nil && one.limit != nil {
				again = sooner(again, nodes[i].Changed.Add(one.minReady), now)
			}
		}
	}
	return turns, again
}

// sooner is the earlier of two times, where the zero time, and what is not after now, is
// none.
func sooner(a, b, now time.Time) time.Time {
	if !b.After(now) || !a.IsZero() && a.Before(b) {
		return a
	}
	return b
}

func containsAll(all, some []string) bool {
	return !slices.ContainsFunc(some, func(one string) bool { return !slices.Contains(all, one) })
}

// occupies reports whether a node counts as unavailable in a rollout.
func (n *Follower) occupies(r *rollout, now time.Time) bool {
	return n.Unavailable || n.Busy || !n.Changed.IsZero() && now.Before(n.Changed.Add(r.minReady))
}

// Budget is how many nodes of a pool are unavailable, and may be.
type Budget struct{ Unavailable, Most, Nodes int }

// budgets are those of the pools in which nodes take turns.
func (r *Rollouts) budgets(nodes []Follower, now time.Time) map[string]*Budget {
	budgets := map[string]*Budget{}
	for i := range nodes {
		for _, pool := range nodes[i].Pools {
			one := r.pools[pool]
			if one == nil || one.limit == nil {
				continue
			}
			if budgets[pool] == nil {
				budgets[pool] = &Budget{}
			}
			budgets[pool].Nodes++
			if nodes[i].occupies(one, now) {
				budgets[pool].Unavailable++
			}
		}
	}
	for pool, budget := range budgets {
		budget.Most = MostUnavailable(*r.pools[pool].limit, budget.Nodes)
	}
	return budgets
}

// MostUnavailable is what a limit lets be unavailable of a number of nodes: a percentage is
// rounded down, and is at least 1 unless it is 0.
func MostUnavailable(limit intstr.IntOrString, nodes int) int {
	most, err := intstr.GetScaledValueFromIntOrPercent(&limit, nodes, false)
	if err != nil || most < 0 {
		return 0 // the schema has refused it
	}
	if most == 0 && limit.Type == intstr.String && strings.Trim(limit.StrVal, "0%") != "" {
		return 1
	}
	return most
}
