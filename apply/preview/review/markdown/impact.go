package markdown

import (
	"slices"
	"strings"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/impact"
	"github.com/nodepools/nodepools/apply/preview/review"
)

// Bounds of what a cell of a table names.
const (
	fewNames = 4
	maxCell  = 120 // bytes
)

// impacts returns what happens to pods, the worst first.
func impacts(i *impact.Impact) []section {
	if i == nil {
		return nil
	}
	all := []section{
		evictions(i.Evictions), drains(i.Evictions), notRecreated(i.Evictions), budgets(i.Budgets), blocking(i.Budgets), infeasible(i), stranded(i.Stranded), unschedulable(i.Unschedulable),
		daemonPods(i.DaemonPods), runtimeClasses(i.RuntimeClasses), overlaps(i.Overlaps),
	}
	return slices.DeleteFunc(all, func(s section) bool { return len(s.rows) == 0 })
}

func evictions(all []impact.Eviction) section {
	s := section{
		title: "Evicted pods", intro: "A new NoExecute taint deletes these pods. No PodDisruptionBudget holds that back.",
		one: "workload", more: "workloads",
	}
	var rows [][]string
	var parts []part
	for _, eviction := range all {
		if eviction.Drained() {
			continue
		}
		when := review.WhenDeleted(eviction, stay(eviction.AfterSeconds))
		rows = append(rows, []string{
			workload(eviction.Workload), thousands(len(eviction.Pods)), when, codes(eviction.Taints, fewNames), names(nodesOf(eviction.Pods), maxCell),
		})
		parts = append(parts, part{"Of " + workload(eviction.Workload) + ":", podLines('-', eviction.Pods)})
	}
	return s.with([]string{"Workload", "Pods", "When", "By the taint", "On the nodes"}, rows).opening(parts, "evicted pod", "evicted pods")
}

// drains lists evicted pods that go before the taint comes, if budgets allow.
func drains(all []impact.Eviction) section {
	s := section{
		title: "Drained pods", intro: "They are evicted as PodDisruptionBudgets allow, before a new NoExecute taint comes.",
		one: "workload", more: "workloads",
	}
	var rows [][]string
	var parts []part
	for _, eviction := range all {
		if !eviction.Drained() {
			continue
		}
		rows = append(rows, []string{
			workload(eviction.Workload), thousands(len(eviction.Pods)), codes(eviction.Taints, fewNames), review.WhenStaying(eviction.Drain), names(nodesOf(eviction.Pods), maxCell),
		})
		parts = append(parts, part{"Of " + workload(eviction.Workload) + ":", podLines('-', eviction.Pods)})
	}
	return s.with([]string{"Workload", "Pods", "Before the taint", "If they stay", "On the nodes"}, rows).opening(parts, "drained pod", "drained pods")
}

func budgets(all []impact.Budget) section {
	s := section{
		title: "PodDisruptionBudgets exceeded",
		intro: "A NoExecute taint ignores them, and so does a DaemonSet: the pods go all the same. Pods that are not healthy do not count.",
		one:   "PodDisruptionBudget", more: "PodDisruptionBudgets",
	}
	var rows [][]string
	for _, budget := range all {
		if budget.Exceeded {
			rows = append(rows, []string{code(budget.Namespace + "/" + budget.Name), thousands(budget.Allowed), thousands(budget.Lost - budget.Drained)})
		}
	}
	return s.with([]string{"PodDisruptionBudget", "Disruptions allowed", "Healthy pods deleted"}, rows)
}

// blocking lists the budgets for which drains wait.
func blocking(all []impact.Budget) section {
	s := section{title: "PodDisruptionBudgets that block a drain", one: "PodDisruptionBudget", more: "PodDisruptionBudgets"}
	var rows [][]string
	for _, budget := range all {
		if budget.Blocks() {
			pods := append(slices.Clone(budget.Waiting), budget.Undrainable...)
			rows = append(rows, []string{code(budget.Namespace + "/" + budget.Name), thousands(len(pods)), sentence(review.Blocked(budget)), names(nodesOf(pods), maxCell)})
		}
	}
	return s.with([]string{"PodDisruptionBudget", "Pods that stay", "Why", "On the nodes"}, rows)
}

// notRecreated lists evicted pods that nothing recreates, grouped by workload.
func notRecreated(all []impact.Eviction) section {
	s := section{
		title: "Evicted and not created again", intro: "They have no controller, or their DaemonSet is gone: nothing creates others in their place.",
		one: "pod or workload", more: "pods or workloads",
	}
	listed := map[impact.Workload]bool{}
	for _, eviction := range all {
		if eviction.NotRecreated && !listed[eviction.Workload] {
			listed[eviction.Workload] = true
			s.rows = append(s.rows, workload(eviction.Workload))
		}
	}
	return s
}

// infeasible lists workloads for whose next pod no node is feasible, each once.
func infeasible(i *impact.Impact) section {
	s := section{
		title: "No feasible node", intro: "No node takes the next pod of these, going by labels and taints.",
		one: "workload", more: "workloads",
	}
	listed := map[impact.Workload]bool{}
	add := func(of impact.Workload, infeasible bool) {
		if infeasible && !listed[of] {
			listed[of] = true
			s.rows = append(s.rows, workload(of))
		}
	}
	for _, eviction := range i.Evictions {
		add(eviction.Workload, eviction.NoFeasibleNode)
	}
	for _, pods := range i.Unschedulable {
		add(pods.Workload, pods.NoFeasibleNode)
	}
	for _, pods := range i.Stranded {
		add(pods.Workload, pods.NoFeasibleNode)
	}
	return s
}

func stranded(all []impact.Stranded) section {
	s := section{
		title: "Stranded pods", intro: "They have no node, and no node takes them as they are.",
		one: "workload", more: "workloads",
	}
	var rows [][]string
	var parts []part
	for _, pods := range all {
		advice, command := review.StrandedAdvice(pods)
		if command != "" {
			command = ": " + code(command)
		}
		rows = append(rows, []string{workload(pods.Workload), thousands(len(pods.Pods)), sentence(review.StrandedBy(pods)), sentence(advice) + command})
		var lines []string
		for _, pod := range pods.Pods {
			lines = append(lines, diffLine('!', pod))
		}
		parts = append(parts, part{"Of " + workload(pods.Workload) + ":", lines})
	}
	return s.with([]string{"Workload", "Pods", "Why", "What to do"}, rows).opening(parts, "stranded pod", "stranded pods")
}

func unschedulable(all []impact.Unschedulable) section {
	s := section{
		title: "Pods that could not be scheduled again", intro: "They go on running. Made anew they could not run where they are now.",
		one: "workload", more: "workloads",
	}
	var rows [][]string
	var parts []part
	for _, pods := range all {
		rows = append(rows, []string{workload(pods.Workload), thousands(len(pods.Pods)), sentence(pods.Reason.String()), names(nodesOf(pods.Pods), maxCell)})
		parts = append(parts, part{"Of " + workload(pods.Workload) + ":", podLines('!', pods.Pods)})
	}
	return s.with([]string{"Workload", "Pods", "Why", "On the nodes"}, rows).opening(parts, "pod", "pods")
}

func daemonPods(all []impact.DaemonPods) section {
	s := section{title: "Pods of DaemonSets", one: "DaemonSet", more: "DaemonSets"}
	var rows [][]string
	var parts []part
	for _, pods := range all {
		rows = append(rows, []string{workload(pods.Workload), thousands(len(pods.Removed)), thousands(len(pods.Started))})
		lines := podLines('-', pods.Removed)
		for _, node := range pods.Started {
			lines = append(lines, diffLine('+', "a pod on "+node))
		}
		parts = append(parts, part{"Of " + workload(pods.Workload) + ":", lines})
	}
	return s.with([]string{"DaemonSet", "Pods removed", "Pods started"}, rows).opening(parts, "pod of a DaemonSet", "pods of DaemonSets")
}

func runtimeClasses(all []impact.RuntimeClassUse) section {
	s := section{
		title: "RuntimeClasses in use",
		intro: "Pods that name them go on running. New ones are refused: for good where it is deleted, for a moment where it is replaced.",
		one:   "RuntimeClass", more: "RuntimeClasses",
	}
	var rows [][]string
	var parts []part
	for _, class := range all {
		rows = append(rows, []string{code(class.Name), happened(plan.Action(class.Action)), thousands(class.Pods), workloads(class.Workloads)})
		parts = append(parts, part{"Of RuntimeClass " + code(class.Name) + ":", podLines('!', class.Users)})
	}
	return s.with([]string{"RuntimeClass", "Is", "Pods", "Named by"}, rows).opening(parts, "pod that names it", "pods that name them")
}

func overlaps(all []impact.Overlap) section {
	s := section{
		title: "Pools that shut each other out", intro: "No pod of the RuntimeClasses of these pools can run on a node that is in all of them.",
		one: "group of pools", more: "groups of pools",
	}
	var rows [][]string
	for _, overlap := range all {
		rows = append(rows, []string{codes(overlap.Pools, fewNames), names(overlap.Nodes, maxCell), sentence(overlap.Reason.String())})
	}
	return s.with([]string{"Pools", "On the nodes", "Why"}, rows)
}

// opening adds a fold with each pod to the section.
func (s section) opening(parts []part, one, more string) section {
	f := fold{parts: parts}
	if n := f.lines(); n > 0 {
		f.html = count(n, one, more)
		s.fold = &f
	}
	return s
}

func workload(w impact.Workload) string {
	return sentence(w.Kind) + " " + code(w.Namespace+"/"+w.Name)
}

func workloads(all []impact.Workload) string {
	var written []string
	for _, w := range all[:min(fewNames, len(all))] {
		written = append(written, workload(w))
	}
	if more := len(all) - fewNames; more > 0 {
		written = append(written, "… ("+thousands(more)+" more)")
	}
	return strings.Join(written, ", ")
}

// stay returns when a pod is deleted.
func stay(seconds int64) string {
	if seconds <= 0 {
		return "at once"
	}
	return "after " + thousands(int(seconds)) + " s"
}

// nodesOf returns the nodes of pods, each once, sorted.
func nodesOf(pods []impact.Pod) []string {
	nodes := make([]string, 0, len(pods))
	for _, pod := range pods {
		nodes = append(nodes, pod.Node)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

func podLines(sign rune, pods []impact.Pod) []string {
	lines := make([]string, 0, len(pods))
	for _, pod := range pods {
		lines = append(lines, diffLine(sign, pod.Name+" on "+pod.Node))
	}
	return lines
}
