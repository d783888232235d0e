package controller

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func TestPoolWithinPool(t *testing.T) {
	w := newWorld(t)
	w.node("g1", role("gpu"))
	g2 := role("gpu")
	g2["size"] = "large"
	w.node("g2", g2)
	w.node("plain", map[string]string{"size": "large"})
	w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: gpu}
spec:
  handler: kata
  labels: {hardware: gpu, tier: basic}
  taints: [{key: gpu, value: "yes", effect: NoSchedule}, {key: tier, value: basic, effect: NoSchedule}]
`)
	w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: large}
spec:
  parent: gpu
  priority: 1
  selector: {matchLabels: {size: large}}
  labels: {tier: large}
  taints: [{key: tier, value: large, effect: NoSchedule}, {key: large, effect: NoExecute}]
`)
	w.carries("g1", map[string]string{v1.RoleLabel("gpu"): "", "hardware": "gpu", "tier": "basic"},
		"gpu=yes:NoSchedule", "tier=basic:NoSchedule")
	w.carries("g2", map[string]string{v1.RoleLabel("gpu"): "", v1.RoleLabel("large"): "", "size": "large", "hardware": "gpu", "tier": "large"},
		"gpu=yes:NoSchedule", "tier=large:NoSchedule", "large=:NoExecute")
	w.hasRuntimeClass("node-pool-large", "kata", map[string]string{"hardware": "gpu", "tier": "large", v1.RoleLabel("gpu"): "", v1.RoleLabel("large"): ""},
		corev1.Toleration{Key: "gpu", Operator: "Equal", Value: "yes", Effect: "NoSchedule"},
		corev1.Toleration{Key: "tier", Operator: "Equal", Value: "large", Effect: "NoSchedule"},
		corev1.Toleration{Key: "large", Operator: "Equal", Effect: "NoExecute"})
	w.isReady("gpu", 2)
	w.isReady("large", 1)
	w.carries("plain", map[string]string{"size": "large"})

	for i := range 3 {
		inner, outer, none := fmt.Sprintf("inner-%d", i), fmt.Sprintf("outer-%d", i), fmt.Sprintf("none-%d", i)
		w.pod(inner, "node-pool-large")
		w.pod(outer, "node-pool-gpu")
		w.pod(none, "")
		w.runsOn(inner, "g2")
		w.runsOn(outer, "g1")
		w.runsOn(none, "plain")
	}
	w.kubectl("label", "node", "g2", "size-")
	w.carries("g2", map[string]string{v1.RoleLabel("gpu"): "", "hardware": "gpu", "tier": "basic"},
		"gpu=yes:NoSchedule", "tier=basic:NoSchedule")
	w.pod("homeless", "node-pool-large")
	w.cannotRun("homeless")
}

// What an inner pool inherits changes with the outer one, also where there is no
// node that could tell of it.
func TestInnerRuntimeClassFollowsOuterPool(t *testing.T) {
	w := newWorld(t)
	for _, manifest := range []string{
		"{metadata: {name: outer}, spec: {handler: runc, labels: {outer: one}}}",
		"{metadata: {name: middle}, spec: {parent: outer}}",
		"{metadata: {name: inner}, spec: {parent: middle, labels: {inner: one}}}",
	} {
		w.pool(manifest)
	}
	w.hasRuntimeClass("node-pool-inner", "runc", map[string]string{
		"outer": "one", "inner": "one", v1.RoleLabel("outer"): "", v1.RoleLabel("middle"): "", v1.RoleLabel("inner"): "",
	})
	w.change("outer", func(pool *v1.NodePool) {
		pool.Spec.Handler = "gvisor"
		pool.Spec.Labels = map[string]v1.LabelValue{"outer": "two"}
		pool.Spec.Taints = []v1.Taint{{Key: "outer", Effect: corev1.TaintEffectNoSchedule}}
	})
	w.hasRuntimeClass("node-pool-inner", "gvisor", map[string]string{
		"outer": "two", "inner": "one", v1.RoleLabel("outer"): "", v1.RoleLabel("middle"): "", v1.RoleLabel("inner"): "",
	}, corev1.Toleration{Key: "outer", Operator: "Equal", Effect: "NoSchedule"})
}
