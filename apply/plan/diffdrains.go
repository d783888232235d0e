package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// DrainBefore is a new NoExecute taint of which a node is drained before it comes.
type DrainBefore struct {
	Taint corev1.Taint
	// Timeout is after what time the drain is overdue, counted from when it begins. Force
	// reports that the taint comes then all the same; otherwise it goes on waiting.
	Timeout time.Duration
	Force   bool
	// Obstacle is why no pod is evicted for the sake of this taint, which waits all the
	// same; empty where nothing keeps them from being evicted.
	Obstacle string
}

// Drains returns, by node, the taints of the difference of which nodes are drained before
// they come, sorted by key, if the revision is applied at a moment. They are those that
// [NodeOutcomeOf] holds back in the turn of the node. The revision counts as applied at
// that moment: see [Difference.Waits].
func (d *Difference) Drains(cluster Cluster, now time.Time) map[string][]DrainBefore {
	rollouts := d.rolloutsAt(d.Accepted(), now)
	if rollouts == nil {
		return nil
	}
	states := make(map[string]*NodeState, len(cluster.Nodes))
	for _, node := range cluster.Nodes {
		states[node.Name] = node
	}
	drains, facts := map[string][]DrainBefore{}, NodeFacts{Rollouts: rollouts, Now: now}
	for _, node := range d.Nodes {
		if comes := facts.staging(states[node.Name], node.NodePlan).comes; len(comes) > 0 {
			drains[node.Name] = comes
		}
	}
	return drains
}

// DrainablePod is what of a pod decides whether it is evicted before taints come.
type DrainablePod struct {
	// Controller is the kind of what controls it; empty for none.
	Controller string
	// Static is a pod of which the cluster has only a mirror. Finished is one that has ended,
	// and Terminating one that is being deleted already.
	Static, Finished, Terminating bool
	// UID is its own, and Owner that of what controls it.
	UID, Owner types.UID
	// Tolerates reports whether the pod tolerates a taint, be it for some time only.
	Tolerates func(taint *corev1.Taint) bool
}

// EvictedBefore reports whether the pod is evicted before its node gets the taints. Others
// are left to the taints, static ones alone.
func (p DrainablePod) EvictedBefore(taints ...corev1.Taint) bool {
	return !p.Terminating && p.GoneBefore(taints...)
}

// GoneBefore reports whether the pod has to be gone before its node gets the taints: it is
// evicted, or is being deleted already. Kubernetes would end that by its name once more, and
// with it the pod that has come by the name meanwhile, on another node.
func (p DrainablePod) GoneBefore(taints ...corev1.Taint) bool {
	// A DaemonSet that tolerates the NoSchedule taint would put its pod back at once.
	if p.Static || p.Controller == "DaemonSet" || p.Finished {
		return false
	}
	for i := range taints {
		if !p.Tolerates(&taints[i]) {
			return true
		}
	}
	return false
}
