package main

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

const takingPool = `
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: taking}
spec:
  nodeNames: [n1]
  conflictPolicy: TakeOver
  labels: {feature.example.com/moved: ours, feature.example.com/withdrawn: ours}
  taints: [{key: feature.example.com/taint, value: ours, effect: NoSchedule}]
`

// An owner moves what a pool has taken over, and withdraws it: the pool has its way as
// long as it is there. When it goes, what the owner has withdrawn stays away, and what it
// has moved comes back as it is by now.
func TestReleaseRestoresNothingThatItsOwnerHasWithdrawn(t *testing.T) {
	w := newWalled(t, cluster.Shared(t), nodeNamed("n1", nil))
	const moved, withdrawn, taint = "feature.example.com/moved", "feature.example.com/withdrawn", "feature.example.com/taint"
	watched := []string{moved, withdrawn, taint}
	ownerSays := func(moves, withdraws, taints string) {
		t.Helper()
		patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%s,%q:%s}},"spec":{"taints":%s}}`, moved, moves, withdrawn, withdraws, taints)
		w.do(w.Patch(t.Context(), nodeNamed("n1", nil), client.RawPatch("application/merge-patch+json", []byte(patch)), client.FieldOwner("nfd-master")))
	}
	taintOf := func(value string) string {
		return jsonOf([]corev1.Taint{{Key: taint, Value: value, Effect: corev1.TaintEffectNoSchedule}})
	}
	ours := func(what string) {
		t.Helper()
		w.has(what, "n1", watched, moved+"=ours", withdrawn+"=ours", taint+"=ours:NoSchedule")
	}
	ownerSays(`"1"`, `"1"`, taintOf("1"))
	w.apply(takingPool)
	ours("is taken over")
	ownerSays(`"2"`, `"2"`, taintOf("2"))
	ours("is taken over from where it was moved to")
	ownerSays(`"3"`, "null", "[]")
	ours("is put back where it was withdrawn")
	w.says(&v1.NodePool{}, "taking", v1.SucceededReason)

	w.do(w.Delete(t.Context(), parsedPool(t, takingPool)))
	w.has("is released, and has nothing that was withdrawn", "n1", watched, moved+"=3")
	if record, left := w.live("n1").Annotations[v1.AppliedAnnotation]; left {
		t.Errorf("the record stays: %s", record)
	}
}
