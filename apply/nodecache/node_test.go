package nodecache

import (
	"testing"
	"time"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Of a cached node the conditions are known, whichever way it came; a heartbeat leaves them
// as they are, and nodes with the same ones share them.
func TestConditionsOfCachedNodes(t *testing.T) {
	const all = "DiskPressure=True,MemoryPressure=True,NetworkUnavailable=True,PIDPressure=True"
	keep := func(change func(*corev1.Node)) *Node {
		node := realisticNode(0)
		change(node)
		return reduce(node)
	}
	first := keep(func(*corev1.Node) {})
	if first.Conditions.String() != all || !first.Ready {
		t.Errorf("kept is %q, ready %t", first.Conditions, first.Ready)
	}
	beating := keep(func(node *corev1.Node) {
		for i := range node.Status.Conditions {
			node.Status.Conditions[i].LastHeartbeatTime = metav1.NewTime(time.Now().Add(time.Hour))
		}
	})
	if beating.Conditions != first.Conditions || unsafe.StringData(string(beating.Conditions)) != unsafe.StringData(string(first.Conditions)) {
		t.Error("a heartbeat has changed the conditions, or equal ones are not shared")
	}
	turned := keep(func(node *corev1.Node) { node.Status.Conditions[1].Status = corev1.ConditionFalse })
	if turned.Conditions == first.Conditions || !turned.Ready {
		t.Errorf("of another status is kept %q, ready %t", turned.Conditions, turned.Ready)
	}
	unready := keep(func(node *corev1.Node) { node.Status.Conditions[3].Status = corev1.ConditionFalse })
	if unready.Conditions != first.Conditions || unready.Ready {
		t.Errorf("not ready, and kept is %q, ready %t", unready.Conditions, unready.Ready)
	}
	fresh := keep(func(node *corev1.Node) { node.Status = corev1.NodeStatus{} })
	if fresh.Conditions.Known() || fresh.Ready {
		t.Errorf("no kubelet has reported yet, and kept is %q, ready %t", fresh.Conditions, fresh.Ready)
	}
}
