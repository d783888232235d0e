package fleet

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// Observation is what a pass over a node has found there.
type Observation struct {
	// Epoch is that of the pools that the pass went by; of a node that was not observed
	// yet, the one in which it came.
	Epoch uint64
	UID   types.UID
	// FollowerState is the node as far as turns depend on it.
	plan.FollowerState
	// Conflicts are the keys that pools do not get here, and Contests those that
	// somebody else keeps changing.
	Conflicts plan.Digest
	Contests  []plan.Contest
	// Step is what the node keeps while changes wait, as far as RuntimeClasses have to do
	// with it.
	Step *plan.ClassStep
	// Evicting is what is left to evict where the node is drained, and Overdue reports that
	// this takes too long.
	Evicting string
	Overdue  bool
	// Failed reports that what the pass wrote may not have gone through.
	Failed bool
	// Refused says of pools whose changes the API server does not take here what is wrong.
	Refused map[string]string
	// Problem says why the node could not be brought up to date; empty when it was.
	Problem string
	// Unreadable is set where the problem is that the record cannot be read.
	Unreadable bool

	// observed is false as long as no pass over the node has ended.
	observed bool
	// due is set while the node is in the queue, as pools have changed since.
	due bool
}

// Counts are what the nodes of a pool come to, for its status.
type Counts struct {
	v1.NodeCounts
	// Recorded is the number of nodes that carry keys of the pool, Stuck of those that
	// stay as they are until somebody acts.
	Recorded, Stuck int
	// Conflicts is how many keys the pool does not get, on all nodes together;
	// ConflictsOn has them by node, Contests the keys that somebody else keeps changing
	// there, and Problems what else is wrong.
	Conflicts   int
	ConflictsOn map[string]plan.Digest
	Contests    map[string][]plan.Contest
	Problems    map[string]string

	// Waits are why changes of the pool wait, with the number of nodes on which they do.
	Waits map[plan.PoolWait]int

	// Evicting is what is left to evict on nodes that are drained for the pool, by node;
	// Overdue is on how many of them that takes too long.
	Evicting map[string]string
	Overdue  int

	// steps are what nodes of the pool keep while they wait, by their text, with the
	// number of these nodes.
	steps map[string]countedStep
	// results by node, of which there was no event yet.
	results map[string]Result
}

// Waiting is the number of nodes on which changes of the pool wait.
func (c *Counts) Waiting() int {
	waiting := 0
	for _, nodes := range c.Waits {
		waiting += nodes
	}
	return waiting
}

// Result is what was done on a node for a pool.
type Result struct {
	Updated, Repaired, Released bool
}

// And is what was done in two passes.
func (r Result) And(other Result) Result {
	return Result{r.Updated || other.Updated, r.Repaired || other.Repaired, r.Released || other.Released}
}

// adds is how much the node adds to the counts of one of its pools.
func (o *Observation) adds(pool string) (updated, ready int32) {
	if o.Problem != "" || o.Wait.Of(pool) != nil || slices.Contains(o.Change.Drained(), pool) || o.Conflicts.Count(pool) > 0 || len(contestsOf(pool, o.Contests)) > 0 {
		return 0, 0
	}
	if o.Ready {
		return 1, 1
	}
	return 1, 0
}

func contestsOf(pool string, all []plan.Contest) []plan.Contest {
	var own []plan.Contest
	for _, contest := range all {
		if contest.Pool == pool {
			own = append(own, contest)
		}
	}
	return own
}

// equal reports whether two observations mean the same to every pool.
func (o *Observation) equal(other *Observation) bool {
	return o.Ready == other.Ready && slices.Equal(o.Members, other.Members) && slices.Equal(o.Recorded, other.Recorded) &&
		o.Wait.Equal(other.Wait) && o.Step.Equal(other.Step) && o.equalTroubles(other) &&
		slices.Equal(o.Change.Drained(), other.Change.Drained()) && o.Evicting == other.Evicting && o.Overdue == other.Overdue
}

// equalTroubles reports whether the same is wrong on the node.
func (o *Observation) equalTroubles(other *Observation) bool {
	return o.Problem == other.Problem && o.Stuck == other.Stuck && maps.Equal(o.Refused, other.Refused) &&
		o.Conflicts.Equal(other.Conflicts) &&
		slices.EqualFunc(o.Contests, other.Contests, plan.Contest.Equal)
}

// troubles reports whether something is wrong on the node that concerns a pool.
func (o *Observation) troubles(pool string) bool {
	return o.Problem != "" && slices.Contains(o.Pools(), pool) || o.Refused[pool] != ""
}

// orphaned reports whether the node still carries keys of a pool that it is not in.
func (o *Observation) orphaned(pool string) bool {
	return slices.Contains(o.Recorded, pool) && !slices.Contains(o.Members, pool)
}
