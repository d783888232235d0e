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
// it. A workload makes it from its template, which may have changed since, and
// admission adds to it what it has added to this one. A pod without a workload is
// made from what it says itself.
func (w *world) again(pod *inventory.Pod) (before, after *next) {
	class := w.classesBefore[pod.RuntimeClass]
	if of := w.workloads[pod.Owner]; of != nil {
		made := w.making(of, added(pod, of.asks.Tolerations, class))
		return made.before, made.after
	}
	own := unadmit(pod.Scheduling, class)
	return w.next(own, w.classesBefore), w.next(own, w.classesAfter)
}

// added are the tolerations that admission has added to a pod besides those of its
// RuntimeClass. The plugin ExtendedResourceToleration lets pods that ask for a GPU
// onto nodes with its taint, and templates say nothing of it. What plugins add has
// the operator Exists; another toleration that the template has not is of an earlier
// template, or RuntimeClass.
func added(pod *inventory.Pod, template []corev1.Toleration, class *nodev1.RuntimeClass) []corev1.Toleration {
	var list []corev1.Toleration
	for i := range pod.Tolerations {
		each := &pod.Tolerations[i]
		if each.Operator != corev1.TolerationOpExists || each.Key == "" || tolerates(template, each) ||
			class != nil && class.Scheduling != nil && tolerates(class.Scheduling.Tolerations, each) {
			continue
		}
		list = append(list, *each)
	}
	return list
}

// tolerates reports whether the toleration is in the list, for however long.
func tolerates(list []corev1.Toleration, wanted *corev1.Toleration) bool {
	return slices.ContainsFunc(list, func(each corev1.Toleration) bool { return each.MatchToleration(wanted) })
}
