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
func (w *world) unschedulable(going map[*inventory.Pod]leaving) []Unschedulable {
	groups := map[string]*Unschedulable{}
	for _, at := range w.places {
		for _, pod := range at.pods {
			if _, evicted := going[pod]; evicted || pod.Static || idle(pod) || pod.Owner.Kind == "DaemonSet" {
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
			told := Unschedulable{Workload: workloadOf(pod), Reason: reason, Nowhere: w.nowhere(after)}
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
	switch {
	case before.shape == nil, after.missing:
		return ""
	case after.shape == nil:
		if before.shape.obstacle(at.before) != "" {
			return ""
		}
		return after.refusal
	}
	reason := after.shape.obstacle(at.after)
	if reason == "" || before.shape.obstacle(at.before) != "" {
		return ""
	}
	return reason
}
