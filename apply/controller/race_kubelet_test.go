package controller

import (
	"context"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// varyKubelet changes what a kubelet may change of its own node: a condition, an
// annotation or a label.
func varyKubelet(w *raceWriter, b *belongings) {
	switch rand.IntN(3) {
	case 0:
		b.labels = w.varyMap(b.labels, []string{w.domain() + "label"})
	case 1:
		b.annotations = w.varyMap(b.annotations, []string{w.domain() + "annotation"})
	default:
		b.conditions[w.domain()+"Heartbeat"] = "Beat" + w.value()
	}
}

// byHeartbeat writes by way of the status, as kubelets do, and now and then says
// that the node is not ready. kwok says at once that it is, and the node lifecycle
// controller puts its taint on and takes it off.
func byHeartbeat(ctx context.Context, w *raceWriter, live *corev1.Node, after belongings) error {
	patch := w.metadataPatch(live, after)
	conditions := []corev1.NodeCondition{}
	for kind, reason := range after.conditions {
		conditions = append(conditions, newCondition(corev1.NodeConditionType(kind), corev1.ConditionTrue, reason))
	}
	if rand.IntN(10) == 0 {
		conditions = append(conditions, newCondition(corev1.NodeReady, corev1.ConditionFalse, "Flapping"))
	}
	patch["status"] = map[string]any{"conditions": conditions}
	return w.patchStatus(ctx, live, patch)
}

func newCondition(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string) corev1.NodeCondition {
	now := metav1.Now()
	return corev1.NodeCondition{Type: kind, Status: status, Reason: reason, LastHeartbeatTime: now, LastTransitionTime: now}
}

func (w *raceWriter) patchStatus(ctx context.Context, live *corev1.Node, patch any) error {
	raw, err := rawPatch(types.StrategicMergePatchType, patch)
	if err != nil {
		return err
	}
	node := &corev1.Node{}
	node.Name = live.Name
	return w.client.Status().Patch(ctx, node, raw, client.FieldOwner("kubelet"))
}
