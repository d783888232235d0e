package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSetters(t *testing.T) {
	node := newNode("n")
	node.Labels = map[string]string{"team": "a", "shared": "x", "ours": "y", "nobody": "z"}
	node.Taints = []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}
	entry := func(manager, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	node.ManagedFields = []metav1.ManagedFieldsEntry{
		entry("kubelet", `{"f:metadata":{"f:labels":{".":{},"f:shared":{},"f:gone":{}},"f:annotations":{"f:a":{}}},"f:status":{}}`),
		entry("kubectl", `{"f:metadata":{"f:labels":{"f:team":{},"f:shared":{}}},"f:spec":{"f:taints":{}}}`),
		entry("nodepools", `{"f:metadata":{"f:labels":{"f:ours":{}}}}`),
		entry("", `{"f:metadata":{"f:labels":{"f:nobody":{}}}}`),
		entry("torn", `{`),
	}
	want := []Setter{
		{Manager: "kubectl", Labels: []string{"shared", "team"}, Taints: true},
		{Manager: "kubelet", Labels: []string{"shared"}},
	}
	if diff := cmp.Diff(want, SettersOf(node).All()); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}

	// The managed fields that are made of it say the same.
	node.ManagedFields = nil
	for _, setter := range want {
		node.ManagedFields = append(node.ManagedFields, SetBy(setter)...)
	}
	if diff := cmp.Diff(want, SettersOf(node).All()); diff != "" {
		t.Errorf("once more (-want +got):\n%s", diff)
	}
}
