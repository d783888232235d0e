package impact

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// classes are RuntimeClasses by name.
type classes = plan.Classes

// next is the next pod that is created, after admission.
type next struct {
	// shape is nil where the API server refuses the pod.
	shape *shape
	// missing is set where it refuses it because its RuntimeClass does not exist.
	missing bool
	// refusal says why it refuses it otherwise.
	refusal Reason
	// wanted decides on which nodes the DaemonSet controller creates a pod at all.
	// It uses the template, without what the RuntimeClass adds. Nil for pods that
	// are created wherever they may run.
	wanted *shape
}

// equal reports whether two next pods are the same.
func (n *next) equal(other *next) bool {
	return n.shape == other.shape && n.missing == other.missing && n.refusal.Equal(other.refusal) && n.wanted == other.wanted
}

// obstacle returns why the pod cannot be on the node; empty if it can.
func (n *next) obstacle(at *site) Reason {
	if n.wanted != nil {
		if reason := n.wanted.obstacle(at); reason != nil {
			return reason
		}
	}
	if n.shape == nil {
		return n.refusal
	}
	return n.shape.obstacle(at)
}

// next returns the next pod with this scheduling.
func (w *world) next(asks inventory.Scheduling, with classes) *next {
	if asks.RuntimeClass == "" {
		return &next{shape: w.shape(asks)}
	}
	class := with[asks.RuntimeClass]
	if class == nil {
		return &next{missing: true}
	}
	merged, refusal := admit(asks, class)
	if refusal != nil {
		return &next{refusal: refusal}
	}
	return &next{shape: w.shape(merged)}
}

// admit merges the RuntimeClass into the scheduling of a pod, as the admission
// plugin RuntimeClass does. It refuses the pod where both select different
// values of one label. The plugin drops tolerations that others include, which
// makes no difference here.
func admit(asks inventory.Scheduling, class *nodev1.RuntimeClass) (merged inventory.Scheduling, refusal Reason) {
	if class.Scheduling == nil {
		return asks, nil
	}
	selector := make(map[string]string, len(asks.NodeSelector)+len(class.Scheduling.NodeSelector))
	maps.Copy(selector, asks.NodeSelector)
	for _, key := range slices.Sorted(maps.Keys(class.Scheduling.NodeSelector)) {
		want := class.Scheduling.NodeSelector[key]
		if own, found := selector[key]; found && own != want {
			return inventory.Scheduling{}, Words("its RuntimeClass "+class.Name+" selects ").and(
				labelReason(key, want), Words(", and the pod "), labelReason(key, own))
		}
		selector[key] = want
	}
	asks.NodeSelector = selector
	asks.Tolerations = slices.Concat(asks.Tolerations, class.Scheduling.Tolerations)
	return asks, nil
}

// unadmit removes from the scheduling of a pod what its RuntimeClass has added,
// and also what both have set, as these cannot be distinguished.
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

// again returns a pod as it would be recreated, before the change and after it.
// A workload creates it from its template, which may have changed since, and
// admission adds to it what it has added to this one. A pod without a workload
// is created from its own spec.
func (w *world) again(pod *inventory.Pod) (before, after *next) {
	class := w.classesBefore[pod.RuntimeClass]
	if of := w.workloads[pod.Owner]; of != nil {
		made := w.making(of, added(pod, of.asks.Tolerations, class))
		return made.before, made.after
	}
	own := unadmit(pod.Scheduling, class)
	return w.next(own, w.classesBefore), w.next(own, w.classesAfter)
}

// added returns the tolerations that admission has added to a pod besides those
// of its RuntimeClass. The plugin ExtendedResourceToleration makes pods that
// request a GPU tolerate its taint, which templates do not show. Plugins add
// the operator Exists; any other toleration that the template does not have
// comes from an earlier template, or RuntimeClass.
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
