package nodecache

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Of a cached node the conditions are known, whichever way it came; a heartbeat leaves them
// as they are, and nodes with the same ones share them.
func TestConditionsOfCachedNodes(t *testing.T) {
	const all = "DiskPressure=True,MemoryPressure=True,NetworkUnavailable=True,PIDPressure=True"
	keep := func(change func(*corev1.Node)) *corev1.Node {
		node := realisticNode(0)
		change(node)
		if _, err := transform(node); err != nil {
			t.Fatal(err)
		}
		return node
	}
	of := func(node *corev1.Node) *Node { found, _ := Of(node); return found }
	first := keep(func(*corev1.Node) {})
	if found := of(first); found.Conditions.String() != all || !found.Ready {
		t.Errorf("kept is %q, ready %t", found.Conditions, found.Ready)
	}
	beating := keep(func(node *corev1.Node) {
		for i := range node.Status.Conditions {
			node.Status.Conditions[i].LastHeartbeatTime = metav1.NewTime(time.Now().Add(time.Hour))
		}
	})
	if of(beating).Conditions != of(first).Conditions || &beating.Status.Conditions[0] != &first.Status.Conditions[0] {
		t.Error("a heartbeat has changed the conditions, or equal ones are not shared")
	}
	turned := keep(func(node *corev1.Node) { node.Status.Conditions[1].Status = corev1.ConditionFalse })
	if found := of(turned); found.Conditions == of(first).Conditions || !found.Ready {
		t.Errorf("of another status is kept %q, ready %t", found.Conditions, found.Ready)
	}
	unready := keep(func(node *corev1.Node) { node.Status.Conditions[3].Status = corev1.ConditionFalse })
	if found := of(unready); found.Conditions != of(first).Conditions || found.Ready {
		t.Errorf("not ready, and kept is %q, ready %t", found.Conditions, found.Ready)
	}
	forged := keep(func(node *corev1.Node) {
		node.Status.Config = &corev1.NodeConfigStatus{}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Message: "GPUHealthy=True"}}
	})
	if found := of(forged); !found.Conditions.Known() || found.Conditions.String() != "" || len(forged.Status.Images) > 0 {
		t.Errorf("a kubelet makes its node look reduced, with %q", found.Conditions)
	}
	bigger := keep(func(node *corev1.Node) {
		node.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("64")}
	})
	if again := keep(func(node *corev1.Node) { *node = *bigger }); of(bigger).Allocatable != "cpu=64512," || of(again).Allocatable != of(bigger).Allocatable {
		t.Errorf("a node has %q for pods, and reduced once more %q", of(bigger).Allocatable, of(again).Allocatable)
	}
	if again := keep(func(node *corev1.Node) { *node = *turned }); of(again).Conditions != of(turned).Conditions {
		t.Error("reduced once more, a node has other conditions")
	}
}
