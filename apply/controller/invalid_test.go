package controller

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// The API server knows only some of the rules. A pool that breaks another one says so, and its
// nodes follow what was accepted before; a new one puts nothing on nodes, and can be deleted.
func TestPoolsThatTheAPIServerTakesAndThatAreInvalid(t *testing.T) {
	w := newWorld(t)
	w.node("n1", role("tenant"))
	w.approvedPool(tenantPool)
	w.isReady("tenant", 1)
	full := role("tenant")
	full["tenant"], full["example.com/rack"] = "a", "r1"
	taints := []string{"tenant=a:NoSchedule", "tenant=a:NoExecute"}
	invalid := func(pool, says string) {
		t.Helper()
		w.poolIs(pool, "is invalid", func(pool *v1.NodePool) error {
			return conditionIs(pool.Status.Conditions, v1.ReadyCondition, metav1.ConditionFalse, v1.InvalidReason, says)
		})
	}
	for says, change := range map[string]string{
		"spec.labels[a b]: ":                 `{"spec":{"labels":{"a b":"c"}}}`,
		"spec.rollout.windows[0].schedule: ": `{"spec":{"labels":{"tenant":"b"},"rollout":{"windows":[{"schedule":"0 25 * * *","duration":"1h"}]}}}`,
		"spec.rollout.minReady: ":            `{"spec":{"labels":{"tenant":"b"},"rollout":{"maxUnavailable":1,"minReady":"99999h"}}}`,
	} {
		w.kubectl("patch", "nodepools.nodes.lailin.xyz", "tenant", "--type=merge", "-p", change)
		invalid("tenant", says)
		w.carries("n1", full, taints...)
		w.kubectl("patch", "nodepools.nodes.lailin.xyz", "tenant", "--type=merge", "-p", `{"spec":{"labels":{"a b":null,"tenant":"a"},"rollout":null}}`)
		w.isReady("tenant", 1)
	}

	w.node("n2", nil)
	w.pool(`{apiVersion: nodes.lailin.xyz/v1, kind: NodePool, metadata: {name: other}, spec: {nodeNames: [n2], labels: {node-role.kubernetes.io/tenant: ""}}}`)
	invalid("other", "spec.labels")
	w.carries("n2", nil)
	w.kubectl("delete", "nodepools.nodes.lailin.xyz", "other")
	w.gone(&v1.NodePool{}, "other")
}
