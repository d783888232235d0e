package impact

import (
	"slices"

	"github.com/nodepools/nodepools/api/command"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// stranded returns the pods without a node that never get one because of the change; see
// [plan.Stranded]. Those that are stranded already are not listed, and those of DaemonSets
// neither: most of them wait for nodes on which their RuntimeClass lets none run.
func (w *world) stranded(before *inventory.Inventory, after plan.Cluster) []Stranded {
	waiting, pods := []plan.WaitingPod{}, map[Pod]*inventory.Pod{}
	for i := range before.Waiting {
		pod := &before.Waiting[i]
		if !isDaemonSet(pod.Owner) {
			waiting = append(waiting, plan.WaitingPod{Namespace: pod.Namespace, Name: pod.Name, PodScheduling: pod.Scheduling})
			pods[Pod{pod.Namespace, pod.Name}] = pod
		}
	}
	for _, pod := range plan.Stranded(waiting, w.classesBefore, w.classesBefore, before.Nodes) {
		delete(pods, Pod{pod.Namespace, pod.Name})
	}
	all := groups[string, Stranded]{}
	for _, pod := range plan.Stranded(waiting, w.classesBefore, w.classesAfter, after.Nodes) {
		if of := pods[Pod{pod.Namespace, pod.Name}]; of != nil {
			_, next := w.again(of)
			entry := Stranded{Workload: workloadOf(of), RuntimeClass: pod.RuntimeClass, NotRecreated: !w.recreated(of), NoFeasibleNode: w.recreated(of) && !w.feasible(next)}
			key := groupKey(entry.Workload, pod.RuntimeClass)
			group := all.of(key, entry)
			group.Pods = append(group.Pods, pod.Name)
			// The others are deleted in the same way.
			if named := group.Pods[:min(len(group.Pods), maxInCommand)]; !entry.NotRecreated && next.shape != nil {
				group.Remedy = command.DeletePods(pod.Namespace, named...)
			}
		}
	}
	return all.list(func(group *Stranded) { slices.Sort(group.Pods) }, func(a, b Stranded) int {
		return compareWorkloads(a.Workload, b.Workload)
	})
}

// maxInCommand is how many pods of a workload one command deletes.
const maxInCommand = 8
