package main

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
	"github.com/nodepools/nodepools/testdata/policies"
)

// A kubelet fills its node with labels, up to the last byte that etcd takes. When the
// node is thrown out of a wall, and into a pool for which there is no room, it loses what
// it has of the wall all the same; the other pool reports the node, and has it once there
// is room.
func TestANodeThatIsFullIsThrownOut(t *testing.T) {
	w := newWalled(t, cluster.Shared(t), nodeNamed("n1", nil), nodeNamed("n2", nil))
	w.apply(fmt.Sprintf(wallPool, "n1"))
	isolated := corev1.LabelNamespaceNodeRestriction + "/isolated"
	watched := []string{wallLabel, v1.RoleLabel("wall"), "tenant", "isolated", isolated}
	w.has("is within the wall", "n1", watched, wallLabel+"=payments", v1.RoleLabel("wall")+"=", "tenant=payments:NoSchedule")
	w.fill(policies.KubeletOf(t, w.c, "n1"))

	nobody := strings.Repeat("nobody", 10)
	w.apply(fmt.Sprintf(wallPool, "another") + "---\n" + strings.Replace(priorityQuarantine, "labels: {", "labels: {"+wallLabel+": "+nobody+", ", 1))
	w.has("is thrown out", "n1", watched)
	w.says(&v1.NodePool{}, "isolate", v1.NodesReason, "n1", "it would be too large")
	w.do(w.policy.Patch(w.policy, "n1", map[string]any{"labels": nil}))
	w.has("is isolated once there is room", "n1", watched, isolated+"=yes", wallLabel+"="+nobody, "isolated=yes:NoSchedule")
}

// fill has a kubelet put labels on the node n1 until not one more of a few bytes fits.
func (w *walled) fill(kubelet kubernetes.Interface) {
	w.t.Helper()
	count := 0
	fits := func(labels, size int) bool {
		values := map[string]any{}
		for range labels {
			count++
			values[fmt.Sprintf("%s.example.com/%d", strings.Repeat("x", 60), count)] = strings.Repeat("z", size)
		}
		return w.policy.Patch(kubelet, "n1", map[string]any{"labels": values}) == nil
	}
	for labels := 4096; labels > 0; labels /= 2 {
		for fits(labels, 63) {
		}
	}
	for size := 32; size > 0; size /= 2 {
		for fits(1, size) {
		}
	}
	if count < 4096 {
		w.t.Fatalf("the node is full with %d labels, so it is something else that refuses them", count)
	}
}
