package controller

import (
	"fmt"
	"testing"

	nodev1 "k8s.io/api/node/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A pool that sets a rollout and nothing else puts nothing on nodes, and has no RuntimeClass. With
// a handler it gets both. When the handler goes, the role labels go as the rollout permits, and the
// RuntimeClass goes after the last of them.
func TestRolloutPolicyPutsNothingOnNodes(t *testing.T) {
	w := newWorld(t)
	names := []string{"policy-a", "policy-b"}
	for _, name := range names {
		w.node(name, role("batch"))
	}
	w.isReadyNode(names...)
	w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: batch}
spec: {labels: {example.com/tier: "1"}}
`)
	w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: fleet}
spec: {priority: 1000, nodeNames: ["policy-*"], rollout: {maxUnavailable: 1}}
`)
	carries := func(roles ...string) {
		t.Helper()
		labels := map[string]string{"example.com/tier": "1", v1.RoleLabel("batch"): ""}
		for _, role := range roles {
			labels[v1.RoleLabel(role)] = ""
		}
		for _, name := range names {
			w.carries(name, labels)
		}
	}
	namesClass := func(want string) {
		t.Helper()
		w.poolIs("fleet", "names its RuntimeClass", func(pool *v1.NodePool) error {
			if pool.Status.RuntimeClassName != want {
				return fmt.Errorf("status.runtimeClassName is %q, want %q", pool.Status.RuntimeClassName, want)
			}
			return nil
		})
	}
	isPolicy := func() {
		t.Helper()
		w.isReady("batch", 2)
		w.isReady("fleet", 2)
		carries()
		namesClass("")
		w.gone(&nodev1.RuntimeClass{}, "node-pool-fleet")
	}
	isPolicy()
	w.inUse(names...)

	w.change("fleet", func(pool *v1.NodePool) { pool.Spec.Handler = "runc" })
	w.hasRuntimeClass("node-pool-fleet", "runc", map[string]string{v1.RoleLabel("fleet"): ""})
	carries("fleet")
	namesClass("node-pool-fleet")
	w.isReady("fleet", 2)

	w.change("fleet", func(pool *v1.NodePool) { pool.Spec.Handler, pool.Spec.Rollout.Paused = "", true })
	w.poolIs("fleet", "waits", func(pool *v1.NodePool) error {
		if pool.Status.Rollout == nil || pool.Status.Rollout.Waiting != 2 {
			return fmt.Errorf("status.rollout is %v", pool.Status.Rollout)
		}
		return nil
	})
	carries("fleet")
	w.hasRuntimeClass("node-pool-fleet", "runc", map[string]string{v1.RoleLabel("fleet"): ""})

	w.change("fleet", func(pool *v1.NodePool) { pool.Spec.Rollout.Paused = false })
	isPolicy()
	w.hasEvent("fleet", "RuntimeClass", "deleted RuntimeClass node-pool-fleet")
}
