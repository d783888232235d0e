package page

import (
	"github.com/nodepools/nodepools/apply/impact"
	"github.com/nodepools/nodepools/apply/plan"
)

const (
	// mostPods is how many pods of one workload are named, mostWorkloads how many
	// workloads in one part.
	mostPods      = 60
	mostWorkloads = 300
)

// impacts are the parts of an impact, the worst first.
type impacts struct {
	Evicted       part
	Finished      part
	Budgets       []impact.Budget
	Removed       part
	Started       part
	Classes       []impact.RuntimeClassUse
	Unschedulable part
	Overlaps      []impact.Overlap
}

// part is what happens to some workloads.
type part struct {
	Workloads []workload
	// Pods are how many there are in all, More the workloads that are not listed.
	Pods, More int
}

// workload is what happens to the pods of one.
type workload struct {
	impact.Workload
	// What happens, and why.
	What    string
	Because []string
	Nowhere bool
	Pods    []impact.Pod
	Nodes   []string // in the place of pods that have no name yet
	// Count is how many pods there are, More how many of them are not listed.
	Count, More int
}

func (p *part) add(w workload, pods []impact.Pod) {
	w.Count += len(pods)
	p.Pods += w.Count
	if len(p.Workloads) == mostWorkloads {
		p.More++
		return
	}
	w.Pods = pods[:min(len(pods), mostPods)]
	w.More = len(pods) - len(w.Pods)
	p.Workloads = append(p.Workloads, w)
}

// consequences are nil where pods are not known.
func consequences(i *impact.Impact) *impacts {
	if i == nil {
		return nil
	}
	all := &impacts{Budgets: i.Budgets, Classes: i.RuntimeClasses, Overlaps: i.Overlaps}
	for _, eviction := range i.Evictions {
		into, what := &all.Evicted, "evicted "
		if eviction.Finished {
			into, what = &all.Finished, "deleted "
		}
		into.add(workload{
			Workload: eviction.Workload, What: what + seconds(eviction.AfterSeconds),
			Because: eviction.Taints, Nowhere: eviction.Nowhere,
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
	for _, pods := range i.Unschedulable {
		all.Unschedulable.add(workload{
			Workload: pods.Workload, What: "could not be scheduled again", Because: []string{pods.Reason}, Nowhere: pods.Nowhere,
		}, pods.Pods)
	}
	return all
}

// None tells that nothing happens to pods.
func (i *impacts) None() bool {
	return i.Evicted.Pods+i.Finished.Pods+i.Removed.Pods+i.Started.Pods+i.Unschedulable.Pods+len(i.Budgets)+len(i.Classes)+len(i.Overlaps) == 0
}

// fate says what becomes of the pods that name a RuntimeClass which goes.
func fate(class impact.RuntimeClassUse) string {
	if class.Action == string(plan.Replace) {
		return "replaced: pods that are created in the moment between are refused"
	}
	return "deleted: new pods that name it are refused"
}

// dots are the pods that a budget loses, and whether it does not allow that; none
// where there are too many to be seen as a number.
func dots(b impact.Budget) []bool {
	if b.Lost > mostPods {
		return nil
	}
	lost := make([]bool, b.Lost)
	for i := range lost {
		lost[i] = i >= b.Allowed
	}
	return lost
}

func cutWorkloads(all []impact.Workload) []impact.Workload { return all[:min(len(all), mostPods)] }

func leftWorkloads(all []impact.Workload) int { return max(0, len(all)-mostPods) }
