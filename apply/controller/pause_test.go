package controller

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

const pausing, resuming = v1.ReconcileAnnotation + "=" + v1.Disabled, v1.ReconcileAnnotation + "-"

func TestPausedPool(t *testing.T) {
	w := newWorld(t)
	w.node("n1", role("tenant"))
	w.approvedPool(tenantPool)
	w.isReady("tenant", 1)
	full := role("tenant")
	full["tenant"], full["example.com/rack"] = "a", "r1"
	taints := []string{"tenant=a:NoSchedule", "tenant=a:NoExecute"}
	w.carries("n1", full, taints...)

	w.kubectl("annotate", "nodepools.nodes.lailin.xyz", "tenant", pausing)
	w.poolIs("tenant", "says that it is paused", func(pool *v1.NodePool) error {
		return conditionIs(pool.Status.Conditions, v1.ReadyCondition, metav1.ConditionFalse, v1.PausedReason)
	})
	mark := w.mark()
	w.change("tenant", func(pool *v1.NodePool) {
		pool.Spec.Labels = map[string]v1.LabelValue{"tenant": "b"}
		pool.Spec.Taints = nil
		pool.Spec.Handler = "gvisor"
	})
	w.kubectl("label", "--overwrite", "node", "n1", "tenant=hand")
	w.carries("n1", full, taints...) // drift is put back as before
	w.node("n2", role("tenant"))
	w.carries("n2", full, taints...) // and nodes join what was accepted
	w.node("n3", nil)
	w.settle()
	for _, write := range w.writesSince(mark) {
		if write.Object.Resource != "nodes" && write.Object.Subresource != "status" && write.Object.Resource != "events" {
			t.Errorf("write for a paused pool: %s", write)
		}
	}
	w.staysQuiet()

	w.kubectl("annotate", "nodepools.nodes.lailin.xyz", "tenant", resuming)
	resumed := role("tenant")
	resumed["tenant"] = "b"
	w.carries("n1", resumed)
	w.carries("n2", resumed)
	w.isReady("tenant", 2)
	w.hasRuntimeClass("node-pool-tenant", "gvisor", map[string]string{"tenant": "b", v1.RoleLabel("tenant"): ""})
}

// A pause holds although somebody deletes the pool: nothing is released behind
// the back of whoever paused it.
func TestPausedPoolThatIsDeleted(t *testing.T) {
	w := newWorld(t)
	w.node("n1", role("tenant"))
	w.approvedPool(tenantPool)
	w.isReady("tenant", 1)
	full := role("tenant")
	full["tenant"], full["example.com/rack"] = "a", "r1"
	taints := []string{"tenant=a:NoSchedule", "tenant=a:NoExecute"}
	w.kubectl("annotate", "nodepools.nodes.lailin.xyz", "tenant", pausing)
	paused := func(texts ...string) {
		t.Helper()
		w.poolIs("tenant", "says that it is paused", func(pool *v1.NodePool) error {
			return conditionIs(pool.Status.Conditions, v1.ReadyCondition, metav1.ConditionFalse, v1.PausedReason, texts...)
		})
	}
	paused()
	mark := w.mark()
	w.kubectl("delete", "--wait=false", "nodepools.nodes.lailin.xyz", "tenant")
	paused("to be deleted", "released once the annotation is gone")
	w.kubectl("label", "node", "n1", "foreign=x")
	w.settle()
	full["foreign"] = "x"
	w.carries("n1", full, taints...)
	for _, write := range w.writesSince(mark) {
		if write.Object.Subresource != "status" && write.Object.Resource != "events" {
			t.Errorf("write for a paused pool: %s", write)
		}
	}
	w.kubectl("annotate", "nodepools.nodes.lailin.xyz", "tenant", resuming)
	w.gone(&v1.NodePool{}, "tenant")
	released := role("tenant")
	released["foreign"] = "x"
	w.carries("n1", released)
}

func TestPausedNode(t *testing.T) {
	w := newWorld(t)
	w.node("n1", role("tenant"))
	w.node("n2", role("tenant"))
	w.isReadyNode("n1", "n2")
	w.approvedPool(tenantPool)
	w.isReady("tenant", 2)
	w.kubectl("annotate", "node", "n1", pausing)
	w.isStalled("tenant", v1.NodesReason, "1 of 2 nodes up to date", "node n1 is paused by its annotation "+v1.ReconcileAnnotation)
	before := bare(t, w.get("n1"))
	changed := role("tenant")
	changed["tenant"] = "b"
	w.staysQuietBut("n1", func() {
		w.change("tenant", func(pool *v1.NodePool) {
			pool.Spec.Labels = map[string]v1.LabelValue{"tenant": "b"}
			pool.Spec.Taints = nil
		})
		w.carries("n2", changed)
	})
	if now := bare(t, w.get("n1")); now != before {
		t.Errorf("the node was written:\n%s\nwas\n%s", now, before)
	}
	w.kubectl("annotate", "node", "n1", resuming)
	w.carries("n1", changed)
	w.isReady("tenant", 2)

	// A deleted pool waits for the paused node, says so, and goes on by itself.
	w.kubectl("annotate", "node", "n1", pausing)
	w.isStalled("tenant", v1.NodesReason)
	w.do(w.Delete(t.Context(), &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "tenant"}}))
	w.isStalled("tenant", v1.ReleasingReason, "1 node still to be released", "node n1 is paused")
	w.carries("n2", role("tenant"))
	w.carries("n1", changed)
	w.kubectl("annotate", "node", "n1", resuming)
	w.gone(&v1.NodePool{}, "tenant")
	w.carries("n1", role("tenant"))
}
