package page

import (
	"slices"

	"github.com/nodepools/nodepools/apply/preview/review"
)

// nodes are those that the summary counts.
type nodes struct {
	Changed []string
	// Entering and Leaving are by pool; a node is counted once for each.
	Entering, Leaving moves
}

// moves are nodes that enter pools, or leave them.
type moves struct {
	Count int
	Pools folded[move]
}

type move struct {
	Pool, ID string
	Nodes    []string
}

func nodesOf(r *review.Review, pools []pool) nodes {
	var all nodes
	for _, group := range r.Nodes {
		all.Changed = append(all.Changed, group.Names...)
	}
	var entering, leaving []move
	for _, pool := range pools {
		entering = append(entering, move{pool.Name, pool.ID, pool.Entering})
		leaving = append(leaving, move{pool.Name, pool.ID, pool.Leaving})
	}
	all.Entering, all.Leaving = movesOf(entering), movesOf(leaving)
	return all
}

func movesOf(all []move) moves {
	all = slices.DeleteFunc(all, func(m move) bool { return len(m.Nodes) == 0 })
	var count int
	for _, move := range all {
		count += len(move.Nodes)
	}
	return moves{count, fold(all)}
}

// None reports that the summary counts none.
func (n nodes) None() bool { return len(n.Changed)+n.Entering.Count+n.Leaving.Count == 0 }
