package review

import (
	"fmt"
	"strings"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/impact"
)

// summarize counts, and returns two lines with what a reader has to know first.
func summarize(r *Review, newProblems int) Summary {
	s := Summary{Counts: counts(r)}
	s.Counts.NewProblems = newProblems
	s.Changes, s.Impact = s.Counts.changes(len(r.Renames)), worst(r.Impact, s.Counts)
	return s
}

func counts(r *Review) Counts {
	c := Counts{Problems: len(r.Problems), ReleasesHeldBack: len(r.HeldReleases)}
	for _, pool := range r.Pools {
		switch pool.Action {
		case plan.Create:
			c.PoolsCreated++
		case plan.Update:
			c.PoolsChanged++
		case plan.Delete:
			c.PoolsDeleted++
		}
	}
	for _, class := range r.RuntimeClasses {
		switch class.Action {
		case plan.Create:
			c.RuntimeClassesCreated++
		case plan.Update:
			c.RuntimeClassesChanged++
		case plan.Replace:
			c.RuntimeClassesReplaced++
		case plan.Delete:
			c.RuntimeClassesDeleted++
		}
	}
	if r.HeldBack != nil {
		c.PoolsHeldBack = len(r.HeldBack.Pools)
	}
	for _, group := range r.Nodes {
		c.NodesChanged += len(group.Names)
	}
	for _, pool := range r.Members {
		c.NodesEntering += len(pool.Entering)
		c.NodesLeaving += len(pool.Leaving)
	}
	for _, conflict := range r.Conflicts {
		c.Conflicts += len(conflict.Nodes)
		if !conflict.Standing {
			c.NewConflicts += len(conflict.Nodes)
		}
	}
	if r.Impact != nil {
		c.countImpact(r.Impact)
	}
	c.countRollouts(r)
	return c
}

func (c *Counts) countImpact(i *impact.Impact) {
	infeasible := map[impact.Workload]bool{}
	for _, eviction := range i.Evictions {
		if eviction.Finished {
			c.FinishedPodsDeleted += len(eviction.Pods)
		} else {
			c.Evictions += len(eviction.Pods)
		}
		if eviction.Drained() {
			c.PodsDrained += len(eviction.Pods)
		}
		if eviction.NotRecreated {
			c.NotRecreated += len(eviction.Pods)
		}
		if eviction.NoFeasibleNode {
			infeasible[eviction.Workload] = true
		}
	}
	for _, pods := range i.Unschedulable {
		c.Unschedulable += len(pods.Pods)
		if pods.NoFeasibleNode {
			infeasible[pods.Workload] = true
		}
	}
	for _, pods := range i.Stranded {
		c.PodsStranded += len(pods.Pods)
		if pods.NoFeasibleNode {
			infeasible[pods.Workload] = true
		}
	}
	c.NoFeasibleNode = len(infeasible)
	for _, budget := range i.Budgets {
		if budget.Exceeded {
			c.BudgetsExceeded++
		}
		if budget.Blocks() {
			c.BudgetsBlocking++
		}
	}
	for _, pods := range i.DaemonPods {
		c.DaemonPodsRemoved += len(pods.Removed)
		c.DaemonPodsStarted += len(pods.Started)
	}
	c.RuntimeClassesInUse = len(i.RuntimeClasses)
	for _, overlap := range i.Overlaps {
		c.Overlaps += len(overlap.Nodes)
	}
}

// changes says what changes; a pool that is renamed is neither created nor deleted there.
func (c Counts) changes(renamed int) string {
	var parts []string
	add := func(n int, noun, verb string) {
		if n > 0 {
			parts = append(parts, strings.TrimSpace(Count(n, noun)+" "+verb))
		}
	}
	add(renamed, "pool", "renamed")
	add(c.PoolsCreated-renamed, "pool", Happened(plan.Create))
	add(c.PoolsChanged, "pool", Happened(plan.Update))
	add(c.PoolsDeleted-renamed, "pool", Happened(plan.Delete))
	add(c.RuntimeClassesCreated, "RuntimeClass", Happened(plan.Create))
	add(c.RuntimeClassesChanged, "RuntimeClass", Happened(plan.Update))
	add(c.RuntimeClassesReplaced, "RuntimeClass", Happened(plan.Replace))
	add(c.RuntimeClassesDeleted, "RuntimeClass", Happened(plan.Delete))
	add(c.NodesChanged, "node", "changed")
	if len(parts) == 0 {
		parts = append(parts, "no difference")
	}
	add(c.PoolsHeldBack, "pool", "not pruned")
	add(c.ReleasesHeldBack, "change", "held back for its releases")
	add(c.RolloutsBypassed, "node", "changed without asking a rollout")
	add(c.RolloutsHalted, "rollout", "halted")
	add(c.NewConflicts, "conflict", "")
	add(c.Conflicts-c.NewConflicts, "conflict", "as before")
	add(c.NewProblems, "problem", "")
	add(c.Problems-c.NewProblems, "problem", "as before")
	return strings.Join(parts, ", ")
}

// worst returns what happens to pods, the worst first; empty where nothing does.
func worst(i *impact.Impact, c Counts) string {
	if i == nil {
		return ""
	}
	var parts []string
	add := func(n int, text string) {
		if n > 0 {
			parts = append(parts, text)
		}
	}
	add(c.Evictions, fmt.Sprintf("%s evicted%s%s", evicted(i.Evictions, c.Evictions), drained(c), notRecreated(c)))
	add(c.BudgetsExceeded, budgetsThat(i.Budgets, c.BudgetsExceeded, "exceeded", "exceeded", func(b impact.Budget) bool { return b.Exceeded }))
	add(c.BudgetsBlocking, budgetsThat(i.Budgets, c.BudgetsBlocking, "blocks drains", "block drains", func(b impact.Budget) bool { return b.Blocks() }))
	add(c.NoFeasibleNode, fmt.Sprintf("no feasible node for %s", Count(c.NoFeasibleNode, "workload")))
	for _, class := range i.RuntimeClasses {
		if class.Action == string(plan.Delete) {
			add(1, fmt.Sprintf("RuntimeClass %s deleted, which %s", Word(class.Name), whoName(len(class.Workloads), class.Pods)))
		}
	}
	add(c.DaemonPodsRemoved, fmt.Sprintf("%s of DaemonSets removed", Count(c.DaemonPodsRemoved, "pod")))
	add(c.PodsStranded, fmt.Sprintf("%s without a node stranded", Count(c.PodsStranded, "pod")))
	add(c.Unschedulable, fmt.Sprintf("%s could not be scheduled again", Count(c.Unschedulable, "pod")))
	add(c.FinishedPodsDeleted, fmt.Sprintf("%s deleted", Count(c.FinishedPodsDeleted, "finished pod")))
	add(c.Overlaps, fmt.Sprintf("%s on which pools shut each other's pods out", Count(c.Overlaps, "node")))
	return strings.Join(parts, "; ")
}

// evicted returns "12 pods of 3 Deployments".
func evicted(evictions []impact.Eviction, pods int) string {
	owners, kinds := map[impact.Workload]bool{}, map[string]bool{}
	for _, eviction := range evictions {
		if eviction.Finished {
			continue
		}
		owners[eviction.Workload], kinds[eviction.Workload.Kind] = true, true
	}
	noun := "workload"
	if len(kinds) == 1 {
		for kind := range kinds {
			if kind == "Pod" {
				return Count(pods, "pod")
			}
			noun = Word(kind)
		}
	}
	return fmt.Sprintf("%s of %s", Count(pods, "pod"), Count(len(owners), noun))
}

// drained returns how many of the evicted pods are drained.
func drained(c Counts) string { return among(c.PodsDrained, c.Evictions, "drained") }

// notRecreated returns how many of the evicted pods nothing recreates.
func notRecreated(c Counts) string { return among(c.NotRecreated, c.Evictions, "not created again") }

// budgetsThat names the only one of some budgets, or counts them.
func budgetsThat(budgets []impact.Budget, n int, does, do string, which func(impact.Budget) bool) string {
	if n != 1 {
		return fmt.Sprintf("%s %s", Count(n, "PodDisruptionBudget"), do)
	}
	for _, budget := range budgets {
		if which(budget) {
			return fmt.Sprintf("PodDisruptionBudget %s/%s %s", Word(budget.Namespace), Word(budget.Name), does)
		}
	}
	return ""
}

func whoName(workloads, pods int) string {
	if workloads == 0 {
		return Count(pods, "pod") + " name"
	}
	if workloads == 1 {
		return "1 workload names"
	}
	return Count(workloads, "workload") + " name"
}

// outlook returns why a workload has fewer pods after an eviction, or after
// pods could not be scheduled again; empty where it may have as many.
func outlook(of impact.Workload, notRecreated, infeasible bool) string {
	switch {
	case notRecreated && of.Kind == "Pod":
		return "it has no controller, so nothing creates it again"
	case notRecreated:
		return fmt.Sprintf("their %s is gone, so nothing creates them again", Word(of.Kind))
	case infeasible && of.Kind == "DaemonSet":
		return "no node is feasible for its pods"
	case infeasible:
		return "no node is feasible for its next pod"
	}
	return ""
}

// Count returns "1 pool", "2 pools".
func Count(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "s"):
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
