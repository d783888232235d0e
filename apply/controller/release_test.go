package controller

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// The finalizer holds a pool until its nodes are released, also when nobody was
// there at the time of the deletion.
func TestPoolDeletedWhileTheLoopsAreDown(t *testing.T) {
	w := newWorld(t)
	w.node("n1", role("tenant"), "theirs=:NoSchedule")
	w.node("n2", role("tenant"))
	w.isReadyNode("n1", "n2")
	before := map[string]*corev1.Node{"n1": w.get("n1"), "n2": w.get("n2")}
	w.approvedPool(tenantPool)
	w.isReady("tenant", 2)
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "tenant"}}

	w.stop()
	w.do(w.Delete(t.Context(), pool))
	w.do(w.Delete(t.Context(), pool)) // a second time changes nothing
	w.do(w.Get(t.Context(), client.ObjectKeyFromObject(pool), pool))
	if diff := cmp.Diff([]string{v1.ReleaseFinalizer}, pool.Finalizers); diff != "" {
		t.Fatalf("finalizers (-want +got):\n%s", diff)
	}
	w.start()
	w.gone(pool, "tenant")
	for name, node := range before {
		if diff := cmp.Diff(bare(t, node), bare(t, w.get(name))); diff != "" {
			t.Errorf("node %s is not what it was when the pool is gone (-want +got):\n%s", name, diff)
		}
	}
	w.gone(&nodev1.RuntimeClass{}, "node-pool-tenant")

	// The pool comes again, as if nothing had been.
	w.approvedPool(tenantPool)
	w.isReady("tenant", 2)
}

// Where somebody takes the finalizer away to be rid of the pool at once, nothing is released on
// doubt: the pool is made again, and deleted.
func TestPoolVanishesWithoutItsFinalizer(t *testing.T) {
	w := newWorld(t)
	w.node("n1", role("tenant"))
	w.isReadyNode("n1")
	before := w.get("n1")
	w.approvedPool(tenantPool)
	w.isReady("tenant", 1)
	carries := w.get("n1")
	w.stop()
	w.do(w.Delete(t.Context(), &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "tenant"}}))
	w.kubectl("patch", "nodepools.nodes.lailin.xyz", "tenant", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	w.gone(&v1.NodePool{}, "tenant")
	w.start()
	w.settle()
	if now := w.get("n1"); now.ResourceVersion != carries.ResourceVersion {
		t.Errorf("the node was written, and has the labels %v", now.Labels)
	}
	w.approvedPool(tenantPool)
	w.isReady("tenant", 1)
	w.remove("tenant")
	w.eventually("the node is what it was", func() error {
		if diff := cmp.Diff(bare(t, before), bare(t, w.get("n1"))); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
}

// A finalizer that somebody takes away from a living pool comes back.
func TestFinalizerIsPutBack(t *testing.T) {
	w := newWorld(t)
	w.pool("{metadata: {name: held}}")
	w.isReady("held", 0)
	w.kubectl("patch", "nodepools.nodes.lailin.xyz", "held", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	w.eventually("the finalizer is back", func() error {
		pool := &v1.NodePool{}
		if err := w.Get(t.Context(), client.ObjectKey{Name: "held"}, pool); err != nil {
			return err
		}
		if len(pool.Finalizers) != 1 {
			return fmt.Errorf("finalizers are %v", pool.Finalizers)
		}
		return nil
	})
}

const outerAndInner = `
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: outer}
spec: {labels: {outer: "yes"}, taints: [{key: outer, effect: NoSchedule}]}
---
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: inner}
spec: {parent: outer, selector: {matchLabels: {in: "yes"}}, labels: {inner: "yes"}, taints: [{key: inner, effect: NoSchedule}]}
`

func innerWorld(t *testing.T) (w *world, both map[string]string) {
	w = newWorld(t)
	labels := role("outer")
	labels["in"] = "yes"
	w.node("n1", labels)
	_, err := w.cluster.Apply(t.Context(), outerAndInner)
	w.do(err)
	both = role("outer", "inner")
	both["in"], both["outer"], both["inner"] = "yes", "yes", "yes"
	w.carries("n1", both, "outer=:NoSchedule", "inner=:NoSchedule")
	w.isReady("inner", 1)
	return w, both
}

func TestParentDeletedWhileAChildExists(t *testing.T) {
	w, both := innerWorld(t)
	w.remove("outer")
	w.isStalled("inner", v1.ParentReason, `pool "inner" names the parent "outer", which does not exist`, "left as they are")
	w.hasEvent("inner", v1.ParentReason)
	own := role("outer", "inner")
	own["in"], own["inner"] = "yes", "yes"
	w.carries("n1", own, "inner=:NoSchedule")
	w.hasRuntimeClass("node-pool-inner", "runc", map[string]string{"outer": "yes", "inner": "yes", v1.RoleLabel("outer"): "", v1.RoleLabel("inner"): ""},
		corev1.Toleration{Key: "outer", Operator: "Equal", Effect: "NoSchedule"},
		corev1.Toleration{Key: "inner", Operator: "Equal", Effect: "NoSchedule"})

	// Nobody knows what the child wants: hand-made changes stay, too.
	w.kubectl("label", "--overwrite", "node", "n1", "inner=hand")
	w.staysQuiet()
	own["inner"] = "hand"
	w.carries("n1", own, "inner=:NoSchedule")

	_, err := w.cluster.Apply(t.Context(), outerAndInner)
	w.do(err)
	w.carries("n1", both, "outer=:NoSchedule", "inner=:NoSchedule")
	w.isReady("inner", 1)
	w.isReady("outer", 1)

	// A child whose parent is gone can itself be deleted.
	w.remove("outer")
	w.isStalled("inner", v1.ParentReason)
	w.remove("inner")
	left := role("outer")
	left["in"] = "yes"
	w.carries("n1", left)
}
