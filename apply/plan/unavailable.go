package plan

import (
	"fmt"
	"time"
)

// Unavailable are the nodes that use up the budget of a pool, or that keep later waves from
// beginning.
type Unavailable struct {
	// Nodes is how many are not available. First is the first of them by name, and Why is why,
	// as "is cordoned".
	Nodes      int
	First, Why string
	// Settling is how many others begin to follow a change, or began less than minReady ago.
	Settling int
}

// None reports whether there are none.
func (u Unavailable) None() bool { return u == Unavailable{} }

// String names the first of the nodes, with the reason, and counts the others.
func (u Unavailable) String() string {
	text := ""
	switch {
	case u.Nodes == 1:
		text = fmt.Sprintf("node %s %s", u.First, u.Why)
	case u.Nodes > 1:
		text = fmt.Sprintf("%d nodes are not available: node %s %s, for one", u.Nodes, u.First, u.Why)
	}
	switch {
	case u.Settling == 0:
		return text
	case text != "":
		text += "; "
	}
	if u.Settling == 1 {
		return text + "1 node is settling"
	}
	return text + fmt.Sprintf("%d nodes are settling", u.Settling)
}

// add counts a node of a pool: it is not available for a reason, or settles where there is none.
func (u *Unavailable) add(node *Follower, why string) {
	switch {
	case why == "":
		u.Settling++
	case u.Nodes == 0:
		u.First, u.Why = node.Name, why
		fallthrough
	default:
		u.Nodes++
	}
}

// unavailableOf are the nodes that use up the budget of a pool. The members are sorted by name.
// While the budget has room, those that settle keep no node from beginning, and are left out.
func unavailableOf(pool *rollout, members []*Follower, b *budget, now time.Time) (u Unavailable) {
	for _, node := range members {
		if why := node.why(pool.name); why != "" && !node.left(pool.name) && node.occupies(pool, now) {
			u.add(node, why)
		}
	}
	if b.unavailable >= b.most {
		u.Settling = b.unavailable - u.Nodes
	}
	return u
}

// why is why a node is not available in the rollout of a pool; empty where it is, or only settles.
func (n *Follower) why(pool string) string {
	switch lacks := n.Unmet[pool]; {
	case n.Unready:
		return "is not ready"
	case lacks != "":
		return lacks
	case n.Unavailable:
		return "is cordoned"
	case len(n.Change.Drains) > 0:
		return "is being drained"
	case n.Stuck:
		return "is paused, or its record cannot be read"
	}
	return ""
}

// unavailability is why a node counts as unavailable in rollouts, by pool. Whether it is ready is
// not asked.
func (f NodeFacts) unavailability(node *NodeState, outcome NodeOutcome) map[string]string {
	if f.Rollouts == nil {
		return nil
	}
	unavailable, follower := map[string]string{}, FollowerOf(node, outcome, true)
	for _, one := range f.Rollouts.limiting(follower.Pools) {
		if !follower.occupies(one, f.Now) {
			continue
		}
		if unavailable[one.name] = follower.why(one.name); unavailable[one.name] == "" {
			unavailable[one.name] = "settles until " + describeMoment(follower.Change.At.Add(one.minReady).UTC())
		}
	}
	return unavailable
}
