package page

import (
	"strings"

	"github.com/nodepools/nodepools/apply/preview/review"
)

// count is a number that a reader has to see first.
type count struct {
	Number int
	Text   string
	// Target is the anchor of what it counts.
	Target string
	// Bad reports that the count is of something harmful.
	Bad bool
}

// counts returns those that are not zero.
func counts(c review.Counts) []count {
	var all []count
	add := func(n int, noun, verb, target string, bad bool) {
		if n == 0 {
			return
		}
		if n != 1 {
			noun = plural(noun)
		}
		all = append(all, count{n, strings.TrimSpace(noun + " " + verb), target, bad})
	}
	add(c.Evictions-c.PodsDrained, "pod", "evicted", "evictions", true)
	add(c.PodsDrained, "pod", "drained", "drained-pods", false)
	add(c.NotRecreated, "evicted pod", "not created again", "not-created-again", true)
	add(c.BudgetsExceeded, "disruption budget", "exceeded", "disruption-budgets", true)
	add(c.BudgetsBlocking, "disruption budget", "blocking drains", "disruption-budgets", true)
	add(c.NoFeasibleNode, "workload", "without a feasible node", "no-feasible-node", true)
	add(c.DaemonPodsRemoved, "daemon pod", "removed", "daemon-pods-removed", true)
	add(c.PodsStranded, "pod", "stranded", "stranded", true)
	add(c.Unschedulable, "pod", "not schedulable again", "unschedulable", true)
	add(c.RuntimeClassesInUse, "used RuntimeClass", "going", "runtimeclasses-in-use", true)
	add(c.FinishedPodsDeleted, "finished pod", "deleted", "finished-pods", false)
	add(c.Overlaps, "node", "shut by overlapping pools", "overlaps", true)
	add(c.PoolsHeldBack, "pool", "held back", "pools-held-back", true)
	add(c.ReleasesHeldBack, "change", "held back for its releases", "releases-held-back", true)
	add(c.Conflicts, "conflict", "", "conflicts", false)
	add(c.Problems, "problem", "", "problems", false)
	add(c.PoolsCreated, "pool", "created", "pools-created", false)
	add(c.PoolsChanged, "pool", "changed", "pools-changed", false)
	add(c.PoolsDeleted, "pool", "deleted", "pools-deleted", false)
	add(c.NodesChanged, "node", "changed", "nodes-changed", false)
	add(c.NodesEntering, "node", "entering a pool", "nodes-entering", false)
	add(c.NodesLeaving, "node", "leaving a pool", "nodes-leaving", false)
	add(c.DaemonPodsStarted, "daemon pod", "started", "daemon-pods-started", false)
	return all
}

func plural(noun string) string {
	if strings.HasSuffix(noun, "s") {
		return noun + "es"
	}
	return noun + "s"
}
