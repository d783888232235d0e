package render

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// RuntimeClass returns the RuntimeClass that schedules pods to the nodes of a
// pool: it selects the labels and the role labels, and tolerates the taints, of
// the pool and those around it. It has no owner yet, since a pool in a file has
// no UID. It is nil for a pool that the expansion does not know, that has an
// [Expansion.Problem], or that is a [v1.NodePool.IsRolloutPolicy].
func (e *Expansion) RuntimeClass(name string) *nodev1.RuntimeClass {
	p, found := e.pools[name]
	if !found || p.problem != nil || p.definition.IsRolloutPolicy() {
		return nil
	}
	class := &nodev1.RuntimeClass{
		TypeMeta:   metav1.TypeMeta{APIVersion: nodev1.SchemeGroupVersion.String(), Kind: "RuntimeClass"},
		ObjectMeta: metav1.ObjectMeta{Name: v1.RuntimeClassName(name)},
		Handler:    v1.DefaultHandler,
		Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{}},
	}
	line := append([]*pool{p}, p.enclosing...)
	for _, each := range slices.Backward(line) { // the innermost handler is the last one
		class.Handler = cmp.Or(each.definition.Spec.Handler, class.Handler)
	}
	// The first by rank is the last one here: the nodes have what it wants.
	for _, each := range slices.SortedFunc(slices.Values(line), func(a, b *pool) int { return cmp.Compare(b.rank, a.rank) }) {
		maps.Copy(class.Scheduling.NodeSelector, each.selection())
		class.Scheduling.Tolerations = tolerate(class.Scheduling.Tolerations, each.definition.Spec.Taints)
	}
	return class
}

// Line returns the names of a pool and of those around it, the innermost first.
func (e *Expansion) Line(name string) []string {
	line := []string{name}
	if p, found := e.pools[name]; found {
		line = append(line, namesOf(p.enclosing)...)
	}
	return line
}

// selection returns the node selector of this pool: its labels, and its role
// label. By the labels alone a pod could be sent to any node whose kubelet has
// set them itself; no kubelet can set the role label. A rollout policy selects
// nothing.
func (p *pool) selection() map[string]string {
	if p.definition.IsRolloutPolicy() {
		return nil
	}
	selection := make(map[string]string, len(p.definition.Spec.Labels)+1)
	for key, value := range p.definition.Spec.Labels {
		selection[key] = string(value)
	}
	selection[v1.RoleLabel(p.name)] = ""
	return selection
}

// Toleration tolerates one taint, and no other.
func Toleration(taint corev1.Taint) corev1.Toleration {
	return corev1.Toleration{Key: taint.Key, Operator: corev1.TolerationOpEqual, Value: taint.Value, Effect: taint.Effect}
}

// tolerate adds a toleration for each taint; one for the same key and effect is
// replaced.
func tolerate(tolerations []corev1.Toleration, taints []v1.Taint) []corev1.Toleration {
	for _, taint := range taints {
		toleration := Toleration(corev1.Taint{Key: taint.Key, Value: taint.Value, Effect: taint.Effect})
		i := slices.IndexFunc(tolerations, func(t corev1.Toleration) bool {
			return t.Key == taint.Key && t.Effect == taint.Effect
		})
		if i >= 0 {
			tolerations[i] = toleration
			continue
		}
		tolerations = append(tolerations, toleration)
	}
	return tolerations
}
