package page

import (
	"strings"

	"github.com/nodepools/nodepools/apply/review"
)

// figure is a number that a reader has to see first.
type figure struct {
	Number int
	Text   string
	// Bad is one that hurts.
	Bad bool
}

// figures are those that are not zero.
func figures(r *review.Review) []figure {
	c := r.Summary.Counts
	var all []figure
	tell := func(n int, noun, verb string, bad bool) {
		if n == 0 {
			return
		}
		if n != 1 {
			noun = plural(noun)
		}
		all = append(all, figure{n, strings.TrimSpace(noun + " " + verb), bad})
	}
	tell(c.Evictions, "pod", "evicted", true)
	tell(c.BudgetsExceeded, "disruption budget", "exceeded", true)
	tell(c.Nowhere, "workload", "with no node left", true)
	tell(c.DaemonPodsRemoved, "daemon pod", "removed", true)
	tell(c.Unschedulable, "pod", "not schedulable again", true)
	tell(c.RuntimeClassesInUse, "used RuntimeClass", "going", true)
	tell(c.FinishedPodsDeleted, "finished pod", "deleted", false)
	tell(c.Overlaps, "node", "shut by overlapping pools", true)
	tell(c.PoolsHeldBack, "pool", "held back", true)
	tell(c.ReleasesHeldBack, "change", "held back for its releases", true)
	tell(c.Conflicts, "conflict", "", false)
	tell(c.Problems, "problem", "", false)
	tell(c.PoolsCreated, "pool", "created", false)
	tell(c.PoolsChanged, "pool", "changed", false)
	tell(c.PoolsDeleted, "pool", "deleted", false)
	tell(c.NodesChanged, "node", "changed", false)
	tell(c.NodesEntering, "node", "entering a pool", false)
	tell(c.NodesLeaving, "node", "leaving a pool", false)
	tell(c.DaemonPodsStarted, "daemon pod", "started", false)
	return all
}

func plural(noun string) string {
	if strings.HasSuffix(noun, "s") {
		return noun + "es"
	}
	return noun + "s"
}
