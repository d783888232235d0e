package manifests

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// The order matters: Kubernetes takes the first toleration that fits a taint,
// and the one for everything has no time in it.
func TestControllerLeavesALostNode(t *testing.T) {
	taints := map[string]*int64{}
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, "a-pool-s-own"} {
		taint := corev1.Taint{Key: key, Effect: corev1.TaintEffectNoExecute}
		list := tolerations()
		first := slices.IndexFunc(list, func(toleration corev1.Toleration) bool {
			return (toleration.Key == "" || toleration.Key == taint.Key) && (toleration.Effect == "" || toleration.Effect == taint.Effect)
		})
		if first < 0 {
			t.Fatalf("taint %s is not tolerated", key)
		}
		taints[key] = list[first].TolerationSeconds
	}
	if taints[corev1.TaintNodeNotReady] == nil || taints[corev1.TaintNodeUnreachable] == nil {
		t.Error("a node that is lost is never left")
	}
	if seconds := taints["a-pool-s-own"]; seconds != nil {
		t.Errorf("the taint of a pool drives the controller out after %d seconds", *seconds)
	}
}
