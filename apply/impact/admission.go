package impact

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/nodepools/nodepools/apply/inventory"
)

// classes are RuntimeClasses by name.
type classes map[string]*nodev1.RuntimeClass

// next is what becomes of the next pod that is made.
type next struct {
	// shape is nil where the API server refuses the pod.
	shape *shape
	// missing tells that it refuses it because its RuntimeClass does not exist.
	missing bool
	// refusal says why it refuses it otherwise.
	refusal string
	// wanted is where the DaemonSet controller makes a pod at all. It goes by the
	// template: what the RuntimeClass would bring is nothing to it. Nil for pods that
	// are made wherever they may run.
	wanted *shape
}

// obstacle says why the pod cannot be on the node; empty if it can.
func (n *next) obstacle(at *site) string {
	if n.wanted != nil {
		if reason := n.wanted.obstacle(at); reason != "" {
			return reason
		}
	}
	if n.shape == nil {
		return n.refusal
	}
	return n.shape.obstacle(at)
}

// next is the next pod of what asks for this.
func (w *world) next(asks inventory.Scheduling, with classes) *next {
	if asks.RuntimeClass == "" {
		return &next{shape: w.shape(asks)}
	}
	class := with[asks.RuntimeClass]
	if class == nil {
		return &next{missing: true}
	}
	merged, refusal := admit(asks, class)
	if refusal != "" {
		return &next{refusal: refusal}
	}
	return &next{shape: w.shape(merged)}
}

// admit merges the RuntimeClass into what a pod asks for, as the admission plugin
// RuntimeClass does. Where both select another value of the same label it refuses
// the pod. That the plugin leaves out tolerations which others include makes no
// difference to what is tolerated.
func admit(asks inventory.Scheduling, class *nodev1.RuntimeClass) (merged inventory.Scheduling, refusal string) {
	if class.Scheduling == nil {
		return asks, ""
	}
	selector := make(map[string]string, len(asks.NodeSelector)+len(class.Scheduling.NodeSelector))
	maps.Copy(selector, asks.NodeSelector)
	for _, key := range slices.Sorted(maps.Keys(class.Scheduling.NodeSelector)) {
		want := class.Scheduling.NodeSelector[key]
		if own, found := selector[key]; found && own != want {
			return inventory.Scheduling{}, fmt.Sprintf("its RuntimeClass %s selects %s=%s, and the pod %s=%s",
				class.Name, key, want, key, own)
		}
		selector[key] = want
	}
	asks.NodeSelector = selector
	asks.Tolerations = slices.Concat(asks.Tolerations, class.Scheduling.Tolerations)
	return asks, ""
}

// unadmit takes out of what a pod asks for what its RuntimeClass has brought. What
// the pod says itself, and the class as well, cannot be told apart and goes too.
func unadmit(asks inventory.Scheduling, class *nodev1.RuntimeClass) inventory.Scheduling {
	if class == nil || class.Scheduling == nil {
		return asks
	}
	selector := make(map[string]string, len(asks.NodeSelector))
	for key, value := range asks.NodeSelector {
		if brought, found := class.Scheduling.NodeSelector[key]; !found || brought != value {
			selector[key] = value
		}
	}
	asks.NodeSelector = selector
	asks.Tolerations = slices.DeleteFunc(slices.Clone(asks.Tolerations), func(own corev1.Toleration) bool {
		return slices.ContainsFunc(class.Scheduling.Tolerations, func(brought corev1.Toleration) bool {
			return equality.Semantic.DeepEqual(own, brought)
		})
	})
	return asks
}

// again is what becomes of a pod if it is made again, before the change and after
// it. A workload makes it from its template, which may have changed since. A pod
// without one is made from what it says itself.
func (w *world) again(pod *inventory.Pod) (before, after *next) {
	if of := w.workloads[pod.Owner]; of != nil {
		return w.nextOf(of)
	}
	own := unadmit(pod.Scheduling, w.classesBefore[pod.RuntimeClass])
	return w.next(own, w.classesBefore), w.next(own, w.classesAfter)
}

// nextOf is the next pod of a workload, before and after.
func (w *world) nextOf(of *workload) (before, after *next) {
	if of.before == nil {
		template := of.template()
		of.before, of.after = w.next(template, w.classesBefore), w.next(template, w.classesAfter)
		if of.isDaemonSet() {
			of.before.wanted = w.shape(template)
			of.after.wanted = of.before.wanted
		}
	}
	return of.before, of.after
}

// template is what the workload's pods ask for before admission.
func (w *workload) template() inventory.Scheduling {
	if !w.isDaemonSet() {
		return w.Template
	}
	asks := w.Template
	asks.Tolerations = slices.Concat(asks.Tolerations, daemonTolerations)
	return asks
}
