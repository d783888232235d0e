package impact

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// workload is what creates pods.
type workload struct {
	*inventory.Workload
	// asks is the scheduling of its pods before admission.
	asks inventory.Scheduling
	// made caches its next pods, by the tolerations that admission adds.
	made map[string]making
}

// making is the next pod of a workload, before and after the change.
type making struct{ before, after *next }

// isDaemonSet reports whether an owner is a DaemonSet, whose controller has
// rules of its own. The rules of kinds of that name in other groups are not
// known.
func isDaemonSet(owner inventory.Owner) bool { return owner.Group == "" && owner.Kind == "DaemonSet" }

func newWorkload(of *inventory.Workload) *workload {
	w := &workload{Workload: of, asks: of.Template, made: map[string]making{}}
	if w.isDaemonSet() {
		w.asks.Tolerations = slices.Concat(w.asks.Tolerations, daemonTolerations)
	}
	return w
}

func (w *workload) isDaemonSet() bool { return isDaemonSet(w.Owner) }

// making returns the next pod of a workload, before and after, to which
// admission adds tolerations besides those of its RuntimeClass.
func (w *world) making(of *workload, added []corev1.Toleration) making {
	key := tolerationsKey(added)
	made, known := of.made[key]
	if !known {
		asks := of.asks
		asks.Tolerations = slices.Concat(asks.Tolerations, added)
		made = making{w.next(asks, w.classesBefore), w.next(asks, w.classesAfter)}
		if of.isDaemonSet() {
			made.before.wanted = w.shape(of.asks)
			made.after.wanted = made.before.wanted
		}
		of.made[key] = made
	}
	return made
}

// recreated reports whether something replaces a deleted pod. Nothing does for
// a bare pod, which has no controller, nor where the DaemonSet of a pod is
// gone. It is not called for static pods: their kubelet keeps them.
func (w *world) recreated(pod *inventory.Pod) bool {
	return pod.Owner != (inventory.Owner{}) && !w.orphan(pod)
}

// orphan reports whether the pod was created by a DaemonSet that is not known,
// so that nothing recreates it.
func (w *world) orphan(pod *inventory.Pod) bool {
	return isDaemonSet(pod.Owner) && w.workloads[pod.Owner] == nil
}
