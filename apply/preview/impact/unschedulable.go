package impact

import (
	"fmt"
	"slices"

	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// unschedulable returns the pods that stay and could no longer be scheduled on
// their node. A pod is considered as it would be recreated, so that one whose
// RuntimeClass changes along with the labels and taints of its nodes is not
// listed. A pod whose RuntimeClass is gone is listed with the RuntimeClass, and
// one that an earlier taint deletes does not stay.
//
// Cordons and other taints of a transient state of the node are ignored where
// they do not change: the result does not depend on the time of the review.
//
// The pod of a DaemonSet that stays under a new taint is among them: the next
// rollout deletes it, and nothing replaces it. Where the DaemonSet is gone,
// nothing would replace it anyway.
func (w *world) unschedulable(going map[*inventory.Pod]leaving, daemons *daemonChanges) []Unschedulable {
	removed := make(map[*inventory.Pod]bool, len(daemons.removed))
	for _, pod := range daemons.removed {
		removed[pod] = true
	}
	all := groups[string, Unschedulable]{}
	for _, at := range w.pairs {
		for _, pod := range at.pods {
			if _, evicted := going[pod]; evicted || removed[pod] || pod.Static || idle(pod) || w.orphan(pod) {
				continue
			}
			before, after := w.again(pod)
			if !at.changed && before.equal(after) {
				continue
			}
			reason := lostPlace(at, before, after)
			if reason == nil || stayUnder(at.before.taints.list, pod.Tolerations).endsAtOnce() {
				continue
			}
			entry := Unschedulable{Workload: workloadOf(pod), Reason: reason, NoFeasibleNode: w.recreated(pod) && !w.feasible(after)}
			key := groupKey(entry.Workload, entry.Reason.String(), fmt.Sprint(entry.NoFeasibleNode))
			group := all.of(key, entry)
			group.Pods = append(group.Pods, Pod{Name: pod.Name, Node: pod.Node})
		}
	}
	return all.list(func(group *Unschedulable) { slices.SortFunc(group.Pods, comparePods) }, compareUnschedulable)
}

// lostPlace returns why a pod cannot be scheduled on the node any more; empty
// if it can, or could not before.
func lostPlace(at *nodePair, before, after *next) Reason {
	if before.shape == nil || after.missing {
		return nil
	}
	reason := after.obstacle(at.after)
	if reason == nil || before.obstacle(at.before) != nil {
		return nil
	}
	return reason
}
