package review

import (
	"fmt"
	"strings"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/impact"
)

// Consequences are what happens to pods, the worst first; none where pods are not known.
func Consequences(i *impact.Impact) []Section {
	if i == nil {
		return nil
	}
	evicted, drained, finished := evictions(i.Evictions)
	exceeded, blocking := budgets(i.Budgets)
	removed, started := daemonPods(i.DaemonPods)
	return filled([]Section{
		evicted, drained, notCreatedAgain(i.Evictions), exceeded, blocking, noFeasibleNode(i), removed, finished,
		stranded(i.Stranded), unschedulable(i.Unschedulable), runtimeClassesInUse(i.RuntimeClasses), overlaps(i.Overlaps), started,
	})
}

func evictions(all []impact.Eviction) (evicted, drained, finished Section) {
	evicted = Section{ID: "evictions", Intro: "NoExecute taints ask no PodDisruptionBudget.", Sign: Removed}
	drained = Section{ID: "podsDrained", Intro: "They are evicted before NoExecute taints come, as PodDisruptionBudgets allow.", Sign: Removed}
	finished = Section{ID: "finishedPodsDeleted", Intro: "Taints delete them, too; nothing that runs is lost.", Sign: Removed}
	for _, eviction := range all {
		by := make([]string, len(eviction.Taints))
		for i, taint := range eviction.Taints {
			by[i] = Visible(taint)
		}
		taints, into := strings.Join(by, ", "), &evicted
		text := fmt.Sprintf("%s, by %s", whenDeleted(eviction), taints)
		switch {
		case eviction.Finished:
			into = &finished
		case eviction.Drained():
			into, text = &drained, fmt.Sprintf("before %s; %s", taints, whenStaying(eviction.Drain))
		}
		into.add(eviction.Workload, eviction.Pods, text, outlook(eviction.Workload, eviction.NotRecreated, eviction.NoFeasibleNode))
	}
	evicted.Title, drained.Title = Count(evicted.pods(), "pod")+" evicted by NoExecute taints", Count(drained.pods(), "pod")+" drained"
	finished.Title = Count(finished.pods(), "finished pod") + " deleted"
	return evicted, drained, finished
}

// add adds pods of a workload and what happens to them.
func (s *Section) add(of impact.Workload, pods []impact.Pod, text, warning string) {
	s.Items = append(s.Items, Item{Head: nameOfWorkload(of), Text: Count(len(pods), "pod") + ", " + text, Warning: warning, Pods: pods})
}

// pods is how many pods the section has.
func (s *Section) pods() int {
	n := 0
	for _, item := range s.Items {
		n += len(item.Pods)
	}
	return n
}

func nameOfWorkload(w impact.Workload) string {
	return fmt.Sprintf("%s %s/%s", Word(w.Kind), Word(w.Namespace), Word(w.Name))
}

// owners are workloads, each once.
type owners struct {
	items []Item
	seen  map[impact.Workload]bool
}

func (o *owners) add(w impact.Workload, is bool) {
	if !is || o.seen[w] {
		return
	}
	if o.seen == nil {
		o.seen = map[impact.Workload]bool{}
	}
	o.seen[w] = true
	o.items = append(o.items, Item{Head: nameOfWorkload(w)})
}

func notCreatedAgain(all []impact.Eviction) Section {
	var of owners
	pods := 0
	for _, eviction := range all {
		if eviction.NotRecreated {
			pods += len(eviction.Pods)
		}
		of.add(eviction.Workload, eviction.NotRecreated)
	}
	return Section{
		ID: "notRecreated", Title: Count(pods, "evicted pod") + " not created again",
		Intro: "They have no controller, or their DaemonSet is gone: nothing creates others in their place.", Items: of.items,
	}
}

func noFeasibleNode(i *impact.Impact) Section {
	var of owners
	for _, eviction := range i.Evictions {
		of.add(eviction.Workload, eviction.NoFeasibleNode)
	}
	for _, pods := range i.Unschedulable {
		of.add(pods.Workload, pods.NoFeasibleNode)
	}
	for _, pods := range i.Stranded {
		of.add(pods.Workload, pods.NoFeasibleNode)
	}
	return Section{
		ID: "noFeasibleNode", Title: "No feasible node for " + Count(len(of.items), "workload"),
		Intro: "No node takes the next pod of these, going by labels and taints.", Items: of.items,
	}
}

// budgets are those that are exceeded, and those for which drains wait.
func budgets(all []impact.Budget) (exceeded, blocking Section) {
	exceeded = Section{ID: "budgetsExceeded", Intro: "A NoExecute taint ignores them: pods go, whatever a budget allows."}
	blocking = Section{ID: "budgetsBlocking"}
	for _, budget := range all {
		name := Word(budget.Namespace) + "/" + Word(budget.Name)
		if budget.Exceeded {
			exceeded.Items = append(exceeded.Items, Item{Head: name, Text: lost(budget)})
		}
		if budget.Blocks() {
			blocking.Items = append(blocking.Items, Item{Head: name, Text: blocked(budget), Pods: append(budget.Waiting[:len(budget.Waiting):len(budget.Waiting)], budget.Undrainable...)})
		}
	}
	exceeded.Title, blocking.Title = Count(len(exceeded.Items), "PodDisruptionBudget")+" exceeded", Count(len(blocking.Items), "PodDisruptionBudget")+" blocking drains"
	return exceeded, blocking
}

func daemonPods(all []impact.DaemonPods) (removed, started Section) {
	removed = Section{ID: "daemonPodsRemoved", Intro: "Their nodes match no longer.", Sign: Removed}
	started = Section{ID: "daemonPodsStarted"}
	pods := 0
	for _, set := range all {
		if len(set.Removed) > 0 {
			removed.add(set.Workload, set.Removed, "removed", "")
		}
		if n := len(set.Started); n > 0 {
			pods += n
			started.Items = append(started.Items, Item{Head: nameOfWorkload(set.Workload), Text: Count(n, "pod") + " started", Names: set.Started})
		}
	}
	removed.Title, started.Title = Count(removed.pods(), "pod")+" of DaemonSets removed", Count(pods, "pod")+" of DaemonSets started"
	return removed, started
}

func stranded(all []impact.Stranded) Section {
	s := Section{ID: "podsStranded", Intro: "No node takes them as they are.", Sign: Changed}
	for _, each := range all {
		var pods []impact.Pod
		for _, name := range each.Pods {
			pods = append(pods, impact.Pod{Name: name})
		}
		advice, command := strandedAdvice(each)
		s.add(each.Workload, pods, strandedBy(each)+"; "+advice, "")
		s.Items[len(s.Items)-1].Command = command
	}
	s.Title = Count(s.pods(), "pod") + " without a node stranded"
	return s
}

func unschedulable(all []impact.Unschedulable) Section {
	s := Section{ID: "unschedulable", Intro: "They run on, where they could not be started any more.", Sign: Changed}
	for _, pods := range all {
		s.add(pods.Workload, pods.Pods, pods.Reason.String(), outlook(pods.Workload, false, pods.NoFeasibleNode))
	}
	s.Title = Count(s.pods(), "pod") + " could not be scheduled again"
	return s
}

func runtimeClassesInUse(all []impact.RuntimeClassUse) Section {
	s := Section{ID: "runtimeClassesInUse", Title: Count(len(all), "RuntimeClass") + " in use, and deleted or replaced", Intro: "Pods that name them run on.", Sign: Changed}
	for _, class := range all {
		fate := "deleted: new pods that name it are refused"
		if class.Action == string(plan.Replace) {
			fate = "replaced: pods that are created in the moment between are refused"
		}
		item := Item{Head: Word(class.Name), Text: fmt.Sprintf("%s; named by %s", fate, Count(class.Pods, "pod")), Pods: class.Users}
		for _, owner := range class.Workloads {
			item.Text += ", " + nameOfWorkload(owner)
		}
		s.Items = append(s.Items, item)
	}
	return s
}

func overlaps(all []impact.Overlap) Section {
	s := Section{ID: "overlaps"}
	nodes := 0
	for _, overlap := range all {
		nodes += len(overlap.Nodes)
		pools := make([]string, len(overlap.Pools))
		for i, pool := range overlap.Pools {
			pools[i] = Word(pool)
		}
		s.Items = append(s.Items, Item{Head: "pools " + strings.Join(pools, ", "), Text: overlap.Reason.String(), Names: overlap.Nodes})
	}
	s.Title = Count(nodes, "node") + " on which pools shut each other's pods out"
	return s
}
