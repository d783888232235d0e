package plan

import "time"

// RolloutNodes counts the nodes of a pool in whose rollout nodes take turns.
type RolloutNodes struct {
	// Following have begun to follow a change: they are yet to be written, are drained, or
	// were written less than minReady ago.
	Following int
	// Unavailable count against maxUnavailable, whatever has made them so; those that follow
	// are among them, and others that have left the pool as they did.
	Unavailable int
	// Failed have followed a change of which more waits, and are not ready, or do not meet the
	// conditions of the pool. Those of a halt that was resumed are among them.
	Failed int
}

// count counts the nodes of each pool in whose rollout nodes take turns, those included whose
// turn it is by now.
func (t *Turns) count(r *Rollouts, members map[string][]*Follower, budgets map[string]*budget, progresses map[string]*progress, now time.Time) {
	for pool, of := range members {
		one, waits := r.pools[pool], len(progresses[pool].waiting) > 0
		nodes := RolloutNodes{Unavailable: budgets[pool].unavailable}
		for _, node := range of {
			if node.left(pool) {
				continue
			}
			if _, begins := t.Nodes[node.Name]; begins || node.follows(one, now) {
				nodes.Following++
			}
			if waits && node.unready(pool) && node.Failed(pool) && !r.behind(one, node) {
				nodes.Failed++
			}
		}
		t.Counts[pool] = nodes
	}
}
