package page

import (
	"slices"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/impact"
	"github.com/nodepools/nodepools/apply/preview/review"
)

const (
	// mostPods is how many pods of one workload are named.
	mostPods = 60
	// fewPods is the number of pods up to which those of a part are shown unfolded.
	fewPods = 20
)

// impacts are the parts of an impact, the worst first.
type impacts struct {
	Evicted part
	// Drained are evicted before a taint comes, as budgets allow.
	Drained part
	// NotRecreated are the evicted pods that nothing recreates.
	NotRecreated owners
	// NoFeasibleNode are the workloads for whose next pod no node is feasible.
	NoFeasibleNode owners
	Finished       part
	Budgets        budgets
	Removed        part
	Started        part
	Classes        folded[classUse]
	// Stranded are pods without a node that never get one.
	Stranded part
	// Unschedulable are pods that keep running.
	Unschedulable part
	Overlaps      overlaps
}

// part is what happens to some workloads.
type part struct {
	Workloads folded[workload]
	// Pods is how many there are in total.
	Pods int

	all  []workload
	left int
}

// workload is what happens to the pods of one.
type workload struct {
	impact.Workload
	// What happens, and why.
	What    string
	Because []string
	// Stay is what happens where pods that are drained are not evicted; empty for others.
	Stay string
	// Outlook is why there are fewer pods afterwards; empty where there may be as many.
	Outlook string
	Pods    []impact.Pod
	Nodes   []string // instead of pods that have no name yet
	// Names are those of pods that have no node, and Command is what deletes them.
	Names   []string
	Command string
	// Count is how many pods there are, More how many of them are not listed.
	Count, More int
	// Open reports that the pods are shown unfolded.
	Open bool
}

// owners are workloads, each once, and how many of their pods are affected.
type owners struct {
	Workloads folded[impact.Workload]
	Pods      int

	all    []impact.Workload
	listed map[impact.Workload]bool
}

// budgets are PodDisruptionBudgets, those first that are exceeded, then those that block a
// drain.
type budgets struct {
	folded[impact.Budget]
	Exceeded, Blocking int
}

// classUse is a RuntimeClass that is deleted or replaced while it is in use.
type classUse struct {
	impact.RuntimeClassUse
	Workloads folded[impact.Workload]
	// Named are pods that name it, More how many others do.
	Named []impact.Pod
	More  int
}

// Open reports that the pods are shown unfolded.
func (c classUse) Open() bool { return len(c.Users) <= fewPods }

// overlaps are sets of pools, and on how many nodes they are.
type overlaps struct {
	folded[impact.Overlap]
	Nodes int
}

func (p *part) add(w workload, pods []impact.Pod) {
	w.Count += len(pods)
	p.Pods += w.Count
	if len(p.all) == mostListed {
		p.left++
		return
	}
	w.Pods = pods[:min(len(pods), mostPods)]
	w.More += len(pods) - len(w.Pods)
	p.all = append(p.all, w)
}

func (p *part) fold() {
	for i := range p.all {
		p.all[i].Open = p.Pods <= fewPods
	}
	p.Workloads = fold(p.all)
	p.Workloads.Left = p.left
}

func (o *owners) add(of impact.Workload, pods int) {
	if o.Pods += pods; o.listed[of] {
		return
	}
	if o.listed == nil {
		o.listed = map[impact.Workload]bool{}
	}
	o.listed[of] = true
	o.all = append(o.all, of)
}

// consequences returns nil where pods are not known.
func consequences(i *impact.Impact) *impacts {
	if i == nil {
		return nil
	}
	all := &impacts{}
	for _, eviction := range i.Evictions {
		stay := ""
		into, what := &all.Evicted, "evicted "+review.WhenDeleted(eviction, seconds(eviction.AfterSeconds))
		switch {
		case eviction.Finished:
			into, what = &all.Finished, "deleted "+seconds(eviction.AfterSeconds)
		case eviction.Drained():
			into, what, stay = &all.Drained, "evicted before", review.WhenStaying(eviction.Drain)
		}
		if eviction.NotRecreated {
			all.NotRecreated.add(eviction.Workload, len(eviction.Pods))
		}
		if eviction.NoFeasibleNode {
			all.NoFeasibleNode.add(eviction.Workload, len(eviction.Pods))
		}
		into.add(workload{
			Workload: eviction.Workload, What: what, Stay: stay,
			Because: eviction.Taints, Outlook: review.Outlook(eviction.Workload, eviction.NotRecreated, eviction.NoFeasibleNode),
		}, eviction.Pods)
	}
	for _, daemon := range i.DaemonPods {
		if len(daemon.Removed) > 0 {
			all.Removed.add(workload{Workload: daemon.Workload, What: "removed"}, daemon.Removed)
		}
		if len(daemon.Started) > 0 {
			all.Started.add(workload{Workload: daemon.Workload, What: "started", Nodes: daemon.Started, Count: len(daemon.Started)}, nil)
		}
	}
	for _, pods := range i.Stranded {
		all.strand(pods)
	}
	for _, pods := range i.Unschedulable {
		if pods.NoFeasibleNode {
			all.NoFeasibleNode.add(pods.Workload, len(pods.Pods))
		}
		all.Unschedulable.add(workload{
			Workload: pods.Workload, What: "could not be scheduled again", Because: []string{pods.Reason.String()},
			Outlook: review.Outlook(pods.Workload, false, pods.NoFeasibleNode),
		}, pods.Pods)
	}
	for _, p := range []*part{&all.Evicted, &all.Drained, &all.Finished, &all.Removed, &all.Started, &all.Stranded, &all.Unschedulable} {
		p.fold()
	}
	for _, o := range []*owners{&all.NotRecreated, &all.NoFeasibleNode} {
		o.Workloads = fold(o.all)
	}
	all.Budgets, all.Overlaps = budgetsOf(i.Budgets), overlapsOf(i.Overlaps)
	var classes []classUse
	for _, class := range i.RuntimeClasses {
		named := class.Users[:min(len(class.Users), mostPods)]
		classes = append(classes, classUse{class, fold(class.Workloads), named, len(class.Users) - len(named)})
	}
	all.Classes = fold(classes)
	return all
}

// strand adds pods that the change strands.
func (i *impacts) strand(pods impact.Stranded) {
	if pods.NoFeasibleNode {
		i.NoFeasibleNode.add(pods.Workload, len(pods.Pods))
	}
	advice, command := review.StrandedAdvice(pods)
	names := pods.Pods[:min(len(pods.Pods), mostPods)]
	i.Stranded.add(workload{
		Workload: pods.Workload, What: review.StrandedBy(pods), Stay: advice, Command: command,
		Names: names, Count: len(pods.Pods), More: len(pods.Pods) - len(names),
	}, nil)
}

func budgetsOf(all []impact.Budget) budgets {
	var exceeded, blocking, kept []impact.Budget
	sorted := budgets{}
	for _, budget := range all {
		if budget.Blocks() {
			sorted.Blocking++
		}
		switch {
		case budget.Exceeded:
			exceeded = append(exceeded, budget)
		case budget.Blocks():
			blocking = append(blocking, budget)
		default:
			kept = append(kept, budget)
		}
	}
	sorted.folded, sorted.Exceeded = fold(slices.Concat(exceeded, blocking, kept)), len(exceeded)
	return sorted
}

func overlapsOf(all []impact.Overlap) overlaps {
	var nodes int
	for _, overlap := range all {
		nodes += len(overlap.Nodes)
	}
	return overlaps{fold(all), nodes}
}

// None reports that nothing happens to pods.
func (i *impacts) None() bool {
	return i.Evicted.Pods+i.Drained.Pods+i.Finished.Pods+i.Removed.Pods+i.Started.Pods+i.Stranded.Pods+i.Unschedulable.Pods+i.Budgets.Len()+i.Classes.Len()+i.Overlaps.Len() == 0
}

// fate returns what happens to the pods that name a deleted or replaced RuntimeClass.
func fate(class classUse) string {
	if class.Action == string(plan.Replace) {
		return "replaced: pods that are created in the moment between are refused"
	}
	return "deleted: new pods that name it are refused"
}

// dots returns for each pod that a budget loses whether that exceeds it, which pods that
// are drained do not; none where there are too many to draw.
func dots(b impact.Budget) []bool {
	if b.Lost > mostPods {
		return nil
	}
	lost, most := make([]bool, b.Lost), b.Allowed+b.Drained
	for i := range lost {
		lost[i] = i >= most
	}
	return lost
}
