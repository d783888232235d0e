package impact

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/apply/inventory"
)

// workload is what makes pods.
type workload struct {
	*inventory.Workload
	// asks is what its pods ask for before admission.
	asks inventory.Scheduling
	// made are its next pods, by what admission adds to their tolerations.
	made map[string]making
}

// making is what becomes of the next pod of a workload.
type making struct{ before, after *next }

// isDaemonSet tells of the kind whose controller goes by rules of its own. Those of
// other groups, whatever their name, go by rules that are not known.
func isDaemonSet(owner inventory.Owner) bool { return owner.Group == "" && owner.Kind == "DaemonSet" }

func newWorkload(of *inventory.Workload) *workload {
	w := &workload{Workload: of, asks: of.Template, made: map[string]making{}}
	if w.isDaemonSet() {
		w.asks.Tolerations = slices.Concat(w.asks.Tolerations, daemonTolerations)
	}
	return w
}

func (w *workload) isDaemonSet() bool { return isDaemonSet(w.Owner) }

// making is the next pod of a workload, before and after, to which admission adds
// tolerations besides those of its RuntimeClass.
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

// recreated reports whether something creates another pod in the place of a deleted
// one. Nothing does for a bare pod, which has no controller, nor where the DaemonSet
// of a pod is gone. A static pod is not asked about: its kubelet keeps it.
func (w *world) recreated(pod *inventory.Pod) bool {
	return pod.Owner != (inventory.Owner{}) && !w.orphan(pod)
}

// orphan reports whether the pod was made by a DaemonSet that is not known, and that
// nothing makes anew.
func (w *world) orphan(pod *inventory.Pod) bool {
	return isDaemonSet(pod.Owner) && w.workloads[pod.Owner] == nil
}
