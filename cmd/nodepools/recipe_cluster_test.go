package main

import (
	"bytes"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// inventoryOfRecipe is a file as 'nodepools inventory' writes it, of a cluster with
// three nodes of the pool gpu; a Deployment has a pod on each, and a budget that
// spares one of them.
func inventoryOfRecipe(t *testing.T) string {
	t.Helper()
	var builder inventory.Builder
	web := map[string]string{"app": "web"}
	objects := []runtime.Object{
		&v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: "platform", UID: "uid-of-platform"}, Spec: v1.NodePoolSourceSpec{URL: "https://git.example.com/pools.git", Path: "pools"}},
		&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
			Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: web}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: web}}},
		},
		&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-5d", OwnerReferences: madeBy("Deployment", "web")}},
		&policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: web}},
			Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1, CurrentHealthy: 3, DesiredHealthy: 2},
		},
	}
	for i := range 3 {
		node := fmt.Sprintf("gpu-%d", i+1)
		objects = append(objects,
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node, Labels: map[string]string{v1.RoleLabel("gpu"): "", corev1.LabelHostname: node}}},
			&corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("web-5d-%c", 'a'+i), Labels: web, OwnerReferences: madeBy("ReplicaSet", "web-5d")},
				Spec:       corev1.PodSpec{NodeName: node},
				Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
			})
	}
	for _, object := range objects {
		if err := builder.Add(object); err != nil {
			t.Fatal(err)
		}
	}
	var file bytes.Buffer
	if err := inventory.Write(&file, builder.Inventory("2026-01-02T03:00:00Z")); err != nil {
		t.Fatal(err)
	}
	return file.String()
}

func madeBy(kind, name string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, Controller: ptr.To(true)}}
}

// gpuPool is a file with a pool; with a taint, which ends what does not tolerate it.
func gpuPool(tier string, taints ...string) string {
	text := `apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata:
  name: gpu
spec:
  labels:
    example.com/tier: ` + tier + "\n"
	for i, taint := range taints {
		if i == 0 {
			text += "  taints:\n"
		}
		text += "  - key: " + taint + "\n    value: \"yes\"\n    effect: NoExecute\n"
	}
	return text
}
