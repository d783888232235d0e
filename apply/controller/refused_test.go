package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// refusing keeps one user from writing one node.
const refusing = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: refusing}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [nodes]}
  matchConditions:
  - {name: user, expression: "request.userInfo.username == '%s'"}
  - {name: node, expression: "object.metadata.name == 'guarded'"}
  validations:
  - {expression: "false", message: "this node is under guard"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: refusing}
spec: {policyName: refusing, validationActions: [Deny]}
`

// A node that the API server will not have written does not hold up the others,
// the pool reports why, and it is carried out when the reason is gone.
func TestNodeThatCannotBeWritten(t *testing.T) {
	w := newWorld(t)
	w.node("guarded", role("tenant"))
	w.node("free", role("tenant"))
	lift := func() {
		_, err := w.cluster.Kubectl(context.Background(), "delete", "--ignore-not-found",
			"validatingadmissionpolicybinding,validatingadmissionpolicy", "refusing")
		w.do(err)
	}
	t.Cleanup(lift)
	asLoops := newClient(t, w.config)
	guard := func() {
		t.Helper()
		_, err := w.cluster.Apply(t.Context(), fmt.Sprintf(refusing, w.user))
		w.do(err)
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"try":"it"}}}`))
		w.eventually("the policy is in force", func() error {
			if err := asLoops.Patch(t.Context(), w.get("guarded"), patch, client.DryRunAll); err == nil {
				return errors.New("the node was written")
			}
			return nil
		})
	}

	guard()
	w.approvedPool(tenantPool)
	w.poolIs("tenant", "reports the node", func(pool *v1.NodePool) error {
		return conditionIs(pool.Status.Conditions, v1.ReconcilingCondition, metav1.ConditionTrue, v1.NodesReason,
			"1 of 2 nodes up to date", "node guarded could not be written", "this node is under guard")
	})
	full := role("tenant")
	full["tenant"], full["example.com/rack"] = "a", "r1"
	w.carries("free", full, "tenant=a:NoSchedule", "tenant=a:NoExecute")
	w.carries("guarded", role("tenant"))

	lift()
	w.carries("guarded", full, "tenant=a:NoSchedule", "tenant=a:NoExecute")
	w.isReady("tenant", 2)

	// A pool is not released while its keys are on a node.
	guard()
	w.do(w.Delete(t.Context(), &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "tenant"}}))
	w.poolIs("tenant", "reports what it waits for", func(pool *v1.NodePool) error {
		return conditionIs(pool.Status.Conditions, v1.ReconcilingCondition, metav1.ConditionTrue, v1.ReleasingReason,
			"1 node still to be released", "node guarded could not be written")
	})
	w.carries("guarded", full, "tenant=a:NoSchedule", "tenant=a:NoExecute")
	lift()
	w.gone(&v1.NodePool{}, "tenant")
	w.carries("guarded", role("tenant"))
}
