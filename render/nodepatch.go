package render

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodePatch returns what the pools want of a node as a partial Node. It is nil
// where the pools want nothing.
func (d Desired) NodePatch(name string) *corev1.Node {
	patch := &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Labels:      valuesOf(d.Labels),
			Annotations: valuesOf(d.Annotations),
		},
	}
	for id, value := range valuesOf(d.Taints) {
		patch.Spec.Taints = append(patch.Spec.Taints, corev1.Taint{Key: id.Key, Value: value, Effect: id.Effect})
	}
	slices.SortFunc(patch.Spec.Taints, CompareTaints)
	if len(patch.Labels)+len(patch.Annotations)+len(patch.Spec.Taints) == 0 {
		return nil
	}
	return patch
}

// CompareTaints orders taints by key, then by effect.
func CompareTaints(a, b corev1.Taint) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Effect, b.Effect))
}

func valuesOf[K comparable](wants map[K]Want) map[K]string {
	values := make(map[K]string, len(wants))
	for key, want := range wants {
		values[key] = want.Value
	}
	return values
}
