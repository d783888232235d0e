package text

import (
	"fmt"
	"slices"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/impact"
	"github.com/nodepools/nodepools/apply/preview/review"
)

// maxPods is how many pods of one workload are named.
const maxPods = 8

// impact writes what happens to pods, the worst first.
func (t *writer) impact(r *review.Review) {
	if r.Impact == nil {
		return
	}
	t.evictions(r.Impact.Evictions)
	t.budgets(r.Impact.Budgets)
	t.daemons(r.Impact.DaemonPods)
	t.classes(r.Impact.RuntimeClasses)
	t.stranded(r.Impact.Stranded)
	t.unschedulable(r.Impact.Unschedulable)
	t.overlaps(r.Impact.Overlaps)
}

func (t *writer) evictions(evictions []impact.Eviction) {
	deleted, drained := split(evictions)
	if len(deleted) > 0 {
		t.heading("Evicted, by NoExecute taints, which ask no PodDisruptionBudget:")
	}
	for _, eviction := range deleted {
		stay := "at once"
		if eviction.AfterSeconds > 0 {
			stay = fmt.Sprintf("after %d s", eviction.AfterSeconds)
		}
		t.pods(eviction.Workload, eviction.Pods, fmt.Sprintf("%s, by %s", review.WhenDeleted(eviction, stay), enumerate(eviction.Taints)),
			review.Outlook(eviction.Workload, eviction.NotRecreated, eviction.NoFeasibleNode))
	}
	if len(drained) > 0 {
		t.heading("Drained, evicted before NoExecute taints as PodDisruptionBudgets allow:")
	}
	for _, eviction := range drained {
		t.pods(eviction.Workload, eviction.Pods, fmt.Sprintf("before %s; %s", enumerate(eviction.Taints), review.WhenStaying(eviction.Drain)),
			review.Outlook(eviction.Workload, eviction.NotRecreated, eviction.NoFeasibleNode))
	}
}

// split are the evictions by taints, and those of pods that are drained.
func split(evictions []impact.Eviction) (deleted, drained []impact.Eviction) {
	for _, eviction := range evictions {
		if eviction.Drained() {
			drained = append(drained, eviction)
		} else {
			deleted = append(deleted, eviction)
		}
	}
	return deleted, drained
}

func (t *writer) budgets(budgets []impact.Budget) {
	if len(budgets) == 0 {
		return
	}
	t.heading("PodDisruptionBudgets:")
	for _, budget := range budgets {
		verdict, why := review.BudgetVerdict(budget)
		t.sentence("  ", fmt.Sprintf("%s/%s %s: %s", review.Word(budget.Namespace), review.Word(budget.Name), verdict, why))
	}
}

func (t *writer) daemons(sets []impact.DaemonPods) {
	if len(sets) == 0 {
		return
	}
	t.heading("DaemonSets, whose nodes match no longer, or match now:")
	for _, set := range sets {
		if len(set.Removed) > 0 {
			t.pods(set.Workload, set.Removed, "removed", "")
		}
		if len(set.Started) > 0 {
			t.sentence("  ", fmt.Sprintf("%s: %s started, on", workload(set.Workload), review.Count(len(set.Started), "pod")))
			t.list("    ", words(review.Compact(set.Started)))
		}
	}
}

func (t *writer) classes(classes []impact.RuntimeClassUse) {
	if len(classes) == 0 {
		return
	}
	t.heading("RuntimeClasses that are in use:")
	for _, class := range classes {
		fate := "deleted: new pods that name it are refused"
		if class.Action == string(plan.Replace) {
			fate = "replaced: pods that name it are refused in the moment between"
		}
		t.sentence("  ", fmt.Sprintf("%s is %s. %s named it, and run on", review.Word(class.Name), fate, review.Count(class.Pods, "pod")))
		for _, owner := range class.Workloads {
			t.sentence("    ", workload(owner))
		}
		t.names(class.Users)
	}
}

func (t *writer) stranded(all []impact.Stranded) {
	if len(all) == 0 {
		return
	}
	t.heading("Without a node, and stranded: no node takes these pods as they are:")
	for _, pods := range all {
		advice, command := review.StrandedAdvice(pods)
		t.sentence("  ", fmt.Sprintf("%s: %s, %s; %s", workload(pods.Workload), review.Count(len(pods.Pods), "pod"), review.StrandedBy(pods), advice))
		if command != "" {
			t.sentence("    ", command)
		}
		var names []string
		for _, pod := range pods.Pods {
			names = append(names, review.Word(pod))
		}
		t.podNames(names)
	}
}

func (t *writer) unschedulable(all []impact.Unschedulable) {
	if len(all) == 0 {
		return
	}
	t.heading("Running, and could not be scheduled again where they are:")
	for _, pods := range all {
		t.pods(pods.Workload, pods.Pods, pods.Reason.String(), review.Outlook(pods.Workload, false, pods.NoFeasibleNode))
	}
}

func (t *writer) overlaps(overlaps []impact.Overlap) {
	if len(overlaps) == 0 {
		return
	}
	t.heading("Nodes in several pools, on which no pod of any of their RuntimeClasses can run:")
	for _, overlap := range overlaps {
		t.list("  ", append([]string{"pools"}, words(overlap.Pools)...))
		t.sentence("    ", overlap.Reason.String())
		t.list("    ", append([]string{"on"}, words(review.Compact(overlap.Nodes))...))
	}
}

// pods writes what happens to the pods of one workload and the consequence, and
// names some.
func (t *writer) pods(of impact.Workload, pods []impact.Pod, what, outlook string) {
	line := fmt.Sprintf("%s: %s, %s", workload(of), review.Count(len(pods), "pod"), what)
	if outlook != "" {
		line += "; " + outlook
	}
	t.sentence("  ", line)
	t.names(pods)
}

// names names some pods.
func (t *writer) names(pods []impact.Pod) {
	var names []string
	for _, pod := range pods {
		names = append(names, fmt.Sprintf("%s on %s", review.Word(pod.Name), review.Word(pod.Node)))
	}
	t.podNames(names)
}

// podNames writes the names of some pods.
func (t *writer) podNames(all []string) {
	names := slices.Clone(all[:min(len(all), maxPods)])
	for i := range names[:max(len(names)-1, 0)] {
		names[i] += ","
	}
	if more := len(all) - maxPods; more > 0 {
		names = append(names, fmt.Sprintf("and %d more; -o json has all", more))
	}
	t.list("    ", names)
}

func workload(w impact.Workload) string {
	return fmt.Sprintf("%s %s/%s", review.Word(w.Kind), review.Word(w.Namespace), review.Word(w.Name))
}

// enumerate joins sanitized items of a sentence.
func enumerate(items []string) string {
	text := ""
	for i, item := range items {
		if i > 0 {
			text += ", "
		}
		text += review.Visible(item)
	}
	return text
}
