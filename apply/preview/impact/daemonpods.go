package impact

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// daemonTolerations are the tolerations that the DaemonSet controller adds to
// the pods that it creates. A pod in the host network also tolerates
// node.kubernetes.io/network-unavailable; an inventory does not have this.
var daemonTolerations = []corev1.Toleration{
	{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeDiskPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeMemoryPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodePIDPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
}

// daemonChanges are the pods of DaemonSets that start or are removed.
type daemonChanges struct {
	removed []*inventory.Pod
	groups  groups[inventory.Owner, DaemonPods]
}

// daemonPods returns which pods the DaemonSet controller of Kubernetes removes,
// and where it starts one.
//
// That controller uses the template, without what the RuntimeClass adds. It
// removes a pod when the node no longer matches, or has a NoExecute taint that
// the template does not tolerate, and keeps it under a NoSchedule taint. It
// ignores PodDisruptionBudgets. What the RuntimeClass adds decides where a
// created pod is scheduled.
func (w *world) daemonPods(going map[*inventory.Pod]leaving) *daemonChanges {
	changes := &daemonChanges{groups: groups[inventory.Owner, DaemonPods]{}}
	for _, of := range w.daemons {
		d := w.newDaemon(of)
		for _, at := range w.pairs {
			if at.changed {
				changes.remove(d, at, going)
			}
			if (at.changed || d.admitted) && d.starts(at) {
				group := changes.group(of.Owner)
				group.Started = append(group.Started, at.name)
			}
		}
	}
	return changes
}

// daemon is a DaemonSet as its controller sees it.
type daemon struct {
	owner inventory.Owner
	// before and after are the pods that it creates.
	before, after *next
	// template is their scheduling without their RuntimeClass.
	template *shape
	// admitted is set where its pods are no longer refused.
	admitted bool
}

func (w *world) newDaemon(of *workload) *daemon {
	made := w.making(of, nil)
	return &daemon{
		owner: of.Owner, before: made.before, after: made.after, template: made.after.wanted,
		admitted: made.before.shape == nil && made.after.shape != nil,
	}
}

// wants reports whether the controller starts a pod on the node, and whether it
// keeps an existing one.
func (d *daemon) wants(at *site) (start, keep bool) {
	switch {
	case !d.template.matches(at):
		return false, false
	case d.template.shutsOut(at.taints):
		return false, !d.template.evictedBy(at.taints)
	}
	return true, true
}

func (c *daemonChanges) remove(d *daemon, at *nodePair, going map[*inventory.Pod]leaving) {
	for _, pod := range at.pods {
		if pod.Owner != d.owner || pod.Static || idle(pod) {
			continue
		}
		_, kept := d.wants(at.before)
		_, keep := d.wants(at.after)
		if !kept || keep {
			continue
		}
		if goes, evicted := going[pod]; evicted {
			if goes.seconds == 0 {
				continue
			}
			// The controller does not wait for the time to run out.
			delete(going, pod)
		}
		c.removed = append(c.removed, pod)
		group := c.group(d.owner)
		group.Removed = append(group.Removed, Pod{Name: pod.Name, Node: pod.Node})
	}
}

// starts reports whether a pod starts on the node that could not before. Where
// the controller wanted one before, the pod exists already, and is pending: it
// then has the scheduling of the earlier RuntimeClass, and starts under taints for
// which the controller would create none now, if it keeps it. One that it does not
// keep is no start, even if the scheduler binds it: when a node changes, the
// controller sees only the pods bound to it, and deletes this one right after.
func (d *daemon) starts(at *nodePair) bool {
	if d.runsOn(at) {
		return false
	}
	create, keep := d.wants(at.after)
	if pending, _ := d.wants(at.before); pending && d.before.shape != nil {
		return keep && !d.before.shape.fits(at.before) && d.before.shape.fits(at.after)
	}
	return create && d.after.shape != nil && d.after.shape.fits(at.after)
}

func (d *daemon) runsOn(at *nodePair) bool {
	return slices.ContainsFunc(at.pods, func(pod *inventory.Pod) bool { return pod.Owner == d.owner && !idle(pod) })
}

func (c *daemonChanges) group(of inventory.Owner) *DaemonPods {
	return c.groups.of(of, DaemonPods{Workload: named(of), Removed: []Pod{}, Started: []string{}})
}

func (c *daemonChanges) list() []DaemonPods {
	finish := func(group *DaemonPods) {
		slices.SortFunc(group.Removed, comparePods)
		slices.Sort(group.Started)
	}
	return c.groups.list(finish, func(a, b DaemonPods) int { return compareWorkloads(a.Workload, b.Workload) })
}
