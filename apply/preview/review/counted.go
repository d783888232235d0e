package review

import (
	"fmt"
	"strings"
)

// counted says of the counts what they count, the worst first.
var counted = []struct {
	name, noun, verb string
	// harm reports that the count is of something harmful.
	harm bool
}{
	{"evictions", "pod", "evicted", true},
	{"podsDrained", "pod", "drained", false},
	{"notRecreated", "evicted pod", "not created again", true},
	{"budgetsExceeded", "PodDisruptionBudget", "exceeded", true},
	{"budgetsBlocking", "PodDisruptionBudget", "blocking drains", true},
	{"noFeasibleNode", "workload", "without a feasible node", true},
	{"daemonPodsRemoved", "pod", "of DaemonSets removed", true},
	{"podsStranded", "pod", "without a node stranded", true},
	{"unschedulable", "pod", "that could not be scheduled again", true},
	{"runtimeClassesInUse", "RuntimeClass", "deleted or replaced while in use", true},
	{"finishedPodsDeleted", "finished pod", "deleted", false},
	{"overlaps", "node", "on which pools shut each other's pods out", true},
	{"poolsHeldBack", "pool", "not pruned", true},
	{"releasesHeldBack", "change", "held back until approved", true},
	{"rolloutsBypassed", "node", "changed without asking a rollout", true},
	{"conflicts", "conflict", "", false},
	{"problems", "problem", "", false},
	{"poolsCreated", "pool", "created", false},
	{"poolsChanged", "pool", "changed", false},
	{"poolsDeleted", "pool", "deleted", false},
	{"nodesChanged", "node", "changed", false},
	{"nodesEntering", "node", "entering a pool", false},
	{"nodesLeaving", "node", "leaving a pool", false},
	{"daemonPodsStarted", "pod", "of DaemonSets started", false},
}

// Said is a count that is not 0, in words.
type Said struct {
	// Name is that of [Counts], and the ID of the section on it.
	Name   string
	Number int
	// Text is all but the number: "pods evicted".
	Text string
	Harm bool
}

// Say returns the counts that are not 0, the worst first. Those of evictions have no drained
// pods, which are counted apart.
func (c Counts) Say() []Said {
	var all []Said
	for _, count := range counted {
		n := c.number(count.name)
		if count.name == "evictions" {
			n -= c.PodsDrained
		}
		if n > 0 {
			_, text, _ := strings.Cut(Count(n, count.noun), " ")
			if count.verb != "" {
				text += " " + count.verb
			}
			all = append(all, Said{count.name, n, text, count.harm})
		}
	}
	return all
}

// String returns the number and what it counts.
func (s Said) String() string { return fmt.Sprintf("%d %s", s.Number, s.Text) }
