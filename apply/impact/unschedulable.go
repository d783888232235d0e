package impact

import (
	"fmt"
	"slices"

	"github.com/nodepools/nodepools/apply/inventory"
)

// unschedulable are the pods that stay and could not be scheduled again where
// they are, while they could before. A pod is taken as it would be made again, so
// that one whose RuntimeClass goes with the labels and taints of its nodes is
// well. A pod whose RuntimeClass is gone is told of with the RuntimeClass, and one
// that a taint from before deletes does not stay.
//
// A cordon, and a taint by which Kubernetes says how the node fares at the
// moment, are left aside where they stay as they are: what is told does not
// depend on the hour.
//
// The pod of a DaemonSet that stays under a new taint is among them: the next
// rollout ends it, and nothing comes in its place. Where the DaemonSet is gone,
// nothing would come anyhow.
func (w *world) unschedulable(going map[*inventory.Pod]leaving, daemons *daemonChanges) []Unschedulable {
	removed := make(map[*inventory.Pod]bool, len(daemons.removed))
	for _, pod := range daemons.removed {
		removed[pod] = true
	}
	groups := map[string]*Unschedulable{}
	for _, at := range w.places {
		for _, pod := range at.pods {
			if _, evicted := going[pod]; evicted || removed[pod] || pod.Static || idle(pod) || w.orphan(pod) {
				continue
			}
			before, after := w.again(pod)
			if !at.changed && *before == *after {
				continue
			}
			reason := lostPlace(at, before, after)
			if reason == "" || stayUnder(at.before.taints.list, pod.Tolerations).endsAtOnce() {
				continue
			}
			told := Unschedulable{Workload: workloadOf(pod), Reason: reason, Nowhere: w.recreated(pod) && w.nowhere(after)}
			key := groupKey(told.Workload, told.Reason, fmt.Sprint(told.Nowhere))
			group := groups[key]
			if group == nil {
				group = &told
				groups[key] = group
			}
			group.Pods = append(group.Pods, Pod{Name: pod.Name, Node: pod.Node})
		}
	}
	list := make([]Unschedulable, 0, len(groups))
	for _, group := range groups {
		slices.SortFunc(group.Pods, comparePods)
		list = append(list, *group)
	}
	slices.SortFunc(list, compareUnschedulable)
	return list
}

// lostPlace says why a pod cannot be scheduled on the node any more; empty if it
// can, or could not before.
func lostPlace(at *place, before, after *next) string {
	if before.shape == nil || after.missing {
		return ""
	}
	reason := after.obstacle(at.after)
	if reason == "" || before.obstacle(at.before) != "" {
		return ""
	}
	return reason
}
