package controller

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// note is what the node loop found on one node.
type note struct {
	// epoch of the pools by which the node was looked at; for a node that is
	// still to be looked at, the one in which it came.
	epoch  uint64
	looked bool
	// due tells that the node is in the queue, as pools have changed since.
	due bool
	// members are the pools that the node is in; recorded are those that have
	// keys in its record.
	members  []string
	recorded []string
	// uid of the node.
	uid types.UID
	// ready tells the node's condition Ready.
	ready bool
	// conflicts are the keys that pools do not get here.
	conflicts plan.Digest
	// contests are the keys here that somebody else keeps changing.
	contests []plan.Contest
	// problem says why the node could not be brought up to date; empty when it
	// was. Stuck tells that it stays so until somebody acts.
	problem string
	stuck   bool
}

// figures are what a pool's status tells.
type figures struct {
	v1.NodeCounts
	// recorded is the number of nodes that carry keys of the pool, stuck of those
	// that stay as they are until somebody acts.
	recorded, stuck int
	// conflicts is how many keys the pool does not get, on all nodes together;
	// conflictsOn has them by node, contests the keys that somebody else keeps changing
	// there, and problems what else is wrong.
	conflicts   int
	conflictsOn map[string]plan.Digest
	contests    map[string][]plan.Contest
	problems    map[string]string
	// deeds by node since they were last told.
	deeds map[string]deed
}

// deed is what was done on a node for a pool.
type deed struct {
	updated, repaired, released bool
}

func (d deed) and(other deed) deed {
	return deed{d.updated || other.updated, d.repaired || other.repaired, d.released || other.released}
}

// pools are those that the node is in, or carries keys of.
func (n *note) pools() []string {
	pools := slices.Concat(n.members, n.recorded)
	slices.Sort(pools)
	return slices.Compact(pools)
}

// standing is how much the node adds to the counts of one of its pools.
func (n *note) standing(pool string) (updated, ready int32) {
	if n.problem != "" || n.conflicts.Count(pool) > 0 || len(contestsOf(pool, n.contests)) > 0 {
		return 0, 0
	}
	if n.ready {
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

// sameFor tells whether both notes say the same of every pool.
func (n *note) sameFor(other *note) bool {
	return n.ready == other.ready && slices.Equal(n.members, other.members) && slices.Equal(n.recorded, other.recorded) &&
		n.sameTroubles(other)
}

// sameTroubles tells whether both notes say the same of what is wrong on the node.
func (n *note) sameTroubles(other *note) bool {
	return n.problem == other.problem && n.stuck == other.stuck &&
		n.conflicts.Equal(other.conflicts) &&
		slices.EqualFunc(n.contests, other.contests, plan.Contest.Equal)
}

// troubles tells whether what is wrong on the node is told of a pool.
func (n *note) troubles(pool string) bool {
	return n.problem != "" && slices.Contains(n.pools(), pool)
}

// leaves tells whether the node still carries keys of a pool that it is not in.
func (n *note) leaves(pool string) bool {
	return slices.Contains(n.recorded, pool) && !slices.Contains(n.members, pool)
}
