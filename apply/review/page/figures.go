package page

import (
	"strings"

	"github.com/nodepools/nodepools/apply/review"
)

// figure is a number that a reader has to see first.
type figure struct {
	Number int
	Text   string
	// Target is the anchor of what it counts.
	Target string
	// Bad is one that hurts.
	Bad bool
}

// figures are those that are not zero.
func figures(r *review.Review) []figure {
	c := r.Summary.Counts
	var all []figure
	tell := func(n int, noun, verb, target string, bad bool) {
		if n == 0 {
			return
		}
		if n != 1 {
			noun = plural(noun)
		}
		all = append(all, figure{n, strings.TrimSpace(noun + " " + verb), target, bad})
	}
	tell(c.Evictions, "pod", "evicted", "evictions", true)
	tell(c.NotRecreated, "evicted pod", "not created again", "not-created-again", true)
	tell(c.BudgetsExceeded, "disruption budget", "exceeded", "disruption-budgets", true)
	tell(c.Nowhere, "workload", "with no node left", "no-node-left", true)
	tell(c.DaemonPodsRemoved, "daemon pod", "removed", "daemon-pods-removed", true)
	tell(c.Unschedulable, "pod", "not schedulable again", "unschedulable", true)
	tell(c.RuntimeClassesInUse, "used RuntimeClass", "going", "runtimeclasses-in-use", true)
	tell(c.FinishedPodsDeleted, "finished pod", "deleted", "finished-pods", false)
	tell(c.Overlaps, "node", "shut by overlapping pools", "overlaps", true)
	tell(c.PoolsHeldBack, "pool", "held back", "pools-held-back", true)
	tell(c.ReleasesHeldBack, "change", "held back for its releases", "releases-held-back", true)
	tell(c.Conflicts, "conflict", "", "conflicts", false)
	tell(c.Problems, "problem", "", "problems", false)
	tell(c.PoolsCreated, "pool", "created", "pools-created", false)
	tell(c.PoolsChanged, "pool", "changed", "pools-changed", false)
	tell(c.PoolsDeleted, "pool", "deleted", "pools-deleted", false)
	tell(c.NodesChanged, "node", "changed", "nodes-changed", false)
	tell(c.NodesEntering, "node", "entering a pool", "nodes-entering", false)
	tell(c.NodesLeaving, "node", "leaving a pool", "nodes-leaving", false)
	tell(c.DaemonPodsStarted, "daemon pod", "started", "daemon-pods-started", false)
	return all
}

func plural(noun string) string {
	if strings.HasSuffix(noun, "s") {
		return noun + "es"
	}
	return noun + "s"
}
