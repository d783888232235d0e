package controller

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func TestNodeInTwoPools(t *testing.T) {
	w := newWorld(t)
	w.node("n1", role("batch", "secure"))
	w.node("n2", role("secure"))
	w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: batch}
spec:
  priority: 10
  labels: {tier: batch, batch: "yes"}
  taints: [{key: dedicated, value: batch, effect: NoSchedule}]
`)
	w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: secure}
spec:
  priority: 5
  labels: {tier: secure, secure: "yes"}
  taints:
  - {key: dedicated, value: secure, effect: NoSchedule}
  - {key: dedicated, value: secure, effect: PreferNoSchedule}
`)
	with := func(pools, keys map[string]string) map[string]string {
		for key, value := range keys {
			pools[key] = value
		}
		return pools
	}
	w.carries("n1", with(role("batch", "secure"), map[string]string{"tier": "batch", "batch": "yes", "secure": "yes"}),
		"dedicated=batch:NoSchedule", "dedicated=secure:PreferNoSchedule")
	w.carries("n2", with(role("secure"), map[string]string{"tier": "secure", "secure": "yes"}),
		"dedicated=secure:NoSchedule", "dedicated=secure:PreferNoSchedule")
	w.isReady("batch", 1)
	w.isReady("secure", 2)

	w.change("secure", func(pool *v1.NodePool) { pool.Spec.Priority = 20 })
	w.carries("n1", with(role("batch", "secure"), map[string]string{"tier": "secure", "batch": "yes", "secure": "yes"}),
		"dedicated=secure:NoSchedule", "dedicated=secure:PreferNoSchedule")

	w.remove("secure")
	w.carries("n1", with(role("batch", "secure"), map[string]string{"tier": "batch", "batch": "yes"}), "dedicated=batch:NoSchedule")
	w.carries("n2", role("secure"))
	w.isReady("batch", 1)
}

func TestMembersByNameAndBySelector(t *testing.T) {
	w := newWorld(t)
	w.node("web-1", nil)
	w.node("web-22", nil)
	w.node("db-1", nil)
	w.node("db-2", map[string]string{"disk": "ssd", "zone": "a"})
	w.node("db-3", map[string]string{"disk": "ssd", "zone": "b"})
	w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: named}
spec: {nodeNames: ["web-?", "db-1"], labels: {chosen: by-name}}
`)
	w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: fast}
spec:
  selector:
    matchLabels: {disk: ssd}
    matchExpressions: [{key: zone, operator: NotIn, values: [b]}]
`)
	for _, name := range []string{"web-1", "db-1"} {
		w.carries(name, map[string]string{v1.RoleLabel("named"): "", "chosen": "by-name"})
	}
	w.carries("db-2", map[string]string{v1.RoleLabel("fast"): "", "disk": "ssd", "zone": "a"})
	w.isReady("named", 2)
	w.isReady("fast", 1)
	w.carries("web-22", map[string]string{})
	w.carries("db-3", map[string]string{"disk": "ssd", "zone": "b"})

	for name, roles := range map[string]string{"web-1": "named", "db-1": "named", "db-2": "fast", "db-3": "<none>"} {
		line := w.kubectl("get", "node", name, "--no-headers")
		if fields := strings.Fields(line); len(fields) < 3 || fields[2] != roles {
			t.Errorf("kubectl get node %s shows %q, want ROLES %s", name, line, roles)
		}
	}
	// A pool without labels is selected by the role label that it puts there.
	w.hasRuntimeClass("node-pool-fast", "runc", map[string]string{v1.RoleLabel("fast"): ""})

	w.change("named", func(pool *v1.NodePool) { pool.Spec.NodeNames = []string{"web-*"} })
	w.carries("db-1", map[string]string{})
	w.carries("web-22", map[string]string{v1.RoleLabel("named"): "", "chosen": "by-name"})
}

// The label that one pool sets is what the other selects by, and the other way
// round: a node is in a pool only by what it would carry without pools.
func TestPoolsDoNotFeedEachOther(t *testing.T) {
	w := newWorld(t)
	w.node("fed", role("a"))
	w.node("labelled", map[string]string{"from-a": "yes"})
	w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: a}
spec: {labels: {from-a: "yes"}}
`)
	w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: b}
spec: {selector: {matchLabels: {from-a: "yes"}}, labels: {from-b: "yes"}}
`)
	w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: c}
spec: {selector: {matchExpressions: [{key: from-b, operator: Exists}]}, labels: {from-c: "yes"}}
`)
	w.carries("fed", map[string]string{v1.RoleLabel("a"): "", "from-a": "yes"})
	w.carries("labelled", map[string]string{v1.RoleLabel("b"): "", "from-a": "yes", "from-b": "yes"})
	w.isReady("a", 1)
	w.isReady("b", 1)
	w.isReady("c", 0)
	w.settle()
	w.carries("fed", map[string]string{v1.RoleLabel("a"): "", "from-a": "yes"})
	w.carries("labelled", map[string]string{v1.RoleLabel("b"): "", "from-a": "yes", "from-b": "yes"})

	w.kubectl("label", "node", "labelled", "from-a-")
	w.carries("labelled", map[string]string{})
	w.isReady("b", 0)
}

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
