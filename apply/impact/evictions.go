package impact

import (
	"fmt"
	"slices"

	"github.com/nodepools/nodepools/apply/inventory"
)

// leaving is a pod that a new NoExecute taint deletes.
type leaving struct {
	// taints that are new and not tolerated for good, as texts, sorted.
	taints []string
	// seconds until it is deleted.
	seconds int64
}

// evictions are the pods that a new NoExecute taint deletes.
//
// What counts is what the taint eviction controller of Kubernetes does. It does
// not ask what a pod is: pods of DaemonSets go like others, and so do pods that
// have finished. Three kinds it leaves as they are, or as good as that: a pod that
// is being deleted already; one that a taint from before deletes, at once or when
// its time has run out, since a later taint does not make that time shorter
// unless it is not tolerated at all; and a static pod, which its kubelet has
// tolerate every NoExecute taint, and of which the cluster has but a picture.
func (w *world) evictions() map[*inventory.Pod]leaving {
	going := map[*inventory.Pod]leaving{}
	for _, at := range w.places {
		fresh := freshTaints(at)
		if len(fresh) == 0 {
			continue
		}
		for _, pod := range at.pods {
			if pod.Terminating || pod.Static {
				continue
			}
			if seconds, evicted := evictedAfter(at, pod); evicted {
				going[pod] = leaving{taints: unbearable(fresh, pod), seconds: seconds}
			}
		}
	}
	return going
}

// evictedAfter reports whether the node's taints after the change delete the pod
// and those before it did not, and after how many seconds.
func evictedAfter(at *place, pod *inventory.Pod) (seconds int64, evicted bool) {
	was := stayUnder(at.before.taints.list, pod.Tolerations)
	will := stayUnder(at.after.taints.list, pod.Tolerations)
	switch {
	case was.endsAtOnce() || will.forGood:
		return 0, false
	case !was.forGood && will.tolerated:
		return 0, false // the time from before goes on
	}
	return will.seconds, true
}

func (w *world) groupEvictions(going map[*inventory.Pod]leaving) []Eviction {
	groups := map[string]*Eviction{}
	for _, at := range w.places {
		for _, pod := range at.pods {
			goes, evicted := going[pod]
			if !evicted {
				continue
			}
			told := Eviction{Workload: workloadOf(pod), Taints: goes.taints, AfterSeconds: goes.seconds, Finished: pod.Finished}
			if w.recreated(pod) && (!pod.Finished || w.workloads[pod.Owner] != nil) {
				// Of what has finished, a workload alone makes another.
				_, again := w.again(pod)
				told.Nowhere = w.nowhere(again)
			}
			told.NotRecreated = !pod.Finished && !w.recreated(pod)
			key := groupKey(told.Workload, append([]string{fmt.Sprint(told.AfterSeconds, told.Finished, told.NotRecreated, told.Nowhere)}, told.Taints...)...)
			group := groups[key]
			if group == nil {
				group = &told
				groups[key] = group
			}
			group.Pods = append(group.Pods, Pod{Name: pod.Name, Node: pod.Node})
		}
	}
	list := make([]Eviction, 0, len(groups))
	for _, group := range groups {
		slices.SortFunc(group.Pods, comparePods)
		list = append(list, *group)
	}
	slices.SortFunc(list, compareEvictions)
	return list
}
