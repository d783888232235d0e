package manifests

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Namespace returns the namespace, held to the restricted pod security standard,
// and a quota: where an administrator, or a cloud by default, has limited who may
// use the critical priority classes, a namespace needs one.
func Namespace(name string) []Object {
	meta := metaOf(name, "")
	meta.Labels["pod-security.kubernetes.io/enforce"] = "restricted"
	return []Object{
		&corev1.Namespace{
			TypeMeta:   kind(corev1.SchemeGroupVersion, "Namespace"),
			ObjectMeta: meta,
		},
		&corev1.ResourceQuota{
			TypeMeta:   kind(corev1.SchemeGroupVersion, "ResourceQuota"),
			ObjectMeta: metaOf(Name, name),
			Spec: corev1.ResourceQuotaSpec{
				Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10")},
				ScopeSelector: &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{{
					ScopeName: corev1.ResourceQuotaScopePriorityClass,
					Operator:  corev1.ScopeSelectorOpIn,
					Values:    []string{criticalPriority},
				}}},
			},
		},
	}
}

func isNamespace(object Object) bool {
	_, is := object.(*corev1.Namespace)
	return is
}
