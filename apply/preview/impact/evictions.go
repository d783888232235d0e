package impact

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// leaving is a pod that a new NoExecute taint deletes.
type leaving struct {
	// taints that are new and not tolerated for good, as texts, sorted.
	taints []string
	// seconds until it is deleted.
	seconds int64
	// drain is how it is drained before the taints come; nil where they delete it, which
	// they do after the drain of others where afterDrain is set.
	drain      *Drain
	afterDrain bool
}

// evictions returns the pods that a new NoExecute taint deletes.
//
// It follows the taint eviction controller of Kubernetes, which does not
// distinguish kinds of pods: it also deletes pods of DaemonSets, and pods that
// have finished. Three kinds are not affected: a pod that is being deleted
// already; one that an earlier taint deletes, at once or when its time has run
// out, since a later taint does not shorten that time unless it is not
// tolerated at all; and a static pod, which its kubelet makes tolerate every
// NoExecute taint, and of which the cluster has only a mirror.
func (w *world) evictions() map[*inventory.Pod]leaving {
	going := map[*inventory.Pod]leaving{}
	for _, at := range w.pairs {
		fresh := freshTaints(at)
		if len(fresh) == 0 {
			continue
		}
		for _, pod := range at.pods {
			if pod.Terminating || pod.Static {
				continue
			}
			if seconds, evicted := evictedAfter(at.before.taints.list, at.after.taints.list, pod); evicted {
				goes := leaving{taints: notTolerated(fresh, pod), seconds: seconds}
				goes.drain, goes.afterDrain = drainOf(at, pod)
				going[pod] = goes
			}
		}
	}
	return going
}

// evictedAfter reports whether the node's taints after a change delete the
// pod and those before it did not, and after how many seconds.
func evictedAfter(before, after []corev1.Taint, pod *inventory.Pod) (seconds int64, evicted bool) {
	was := stayUnder(before, pod.Tolerations)
	will := stayUnder(after, pod.Tolerations)
	switch {
	case was.endsAtOnce() || will.forGood:
		return 0, false
	case !was.forGood && will.tolerated:
		return 0, false // the earlier deadline remains
	}
	return will.seconds, true
}

func (w *world) groupEvictions(going map[*inventory.Pod]leaving) []Eviction {
	all := groups[string, Eviction]{}
	for _, at := range w.pairs {
		for _, pod := range at.pods {
			goes, evicted := going[pod]
			if !evicted {
				continue
			}
			entry := Eviction{Workload: workloadOf(pod), Taints: goes.taints, AfterSeconds: goes.seconds, Drain: goes.drain, AfterDrain: goes.afterDrain, Finished: pod.Finished}
			if w.recreated(pod) && (!pod.Finished || w.workloads[pod.Owner] != nil) {
				// Of finished pods, only those of a workload are recreated.
				_, again := w.again(pod)
				entry.NoFeasibleNode = !w.feasible(again)
			}
			entry.NotRecreated = !pod.Finished && !w.recreated(pod)
			same := fmt.Sprint(entry.AfterSeconds, entry.AfterDrain, entry.Finished, entry.NotRecreated, entry.NoFeasibleNode)
			if goes.drain != nil {
				same += fmt.Sprint(*goes.drain)
			}
			key := groupKey(entry.Workload, append([]string{same}, entry.Taints...)...)
			group := all.of(key, entry)
			group.Pods = append(group.Pods, Pod{Name: pod.Name, Node: pod.Node})
		}
	}
	return all.list(func(group *Eviction) { slices.SortFunc(group.Pods, comparePods) }, compareEvictions)
}
