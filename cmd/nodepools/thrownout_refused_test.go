package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// refusingPolicy is one that an administrator may have: a label is nobody's to set.
const refusingPolicy = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-legacy}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [nodes]}]
  validations:
  - expression: "!('example.com/legacy' in object.metadata.?labels.orValue({}))"
    message: the label example.com/legacy is not used any more
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-legacy}
spec: {policyName: no-legacy, validationActions: [Deny]}
`

const legacyPool = `apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: legacy}
spec:
  nodeNames: ['*']
  labels: {example.com/legacy: "yes"}
  taints: [{key: legacy, effect: PreferNoSchedule}]
`

// A policy of the cluster refuses a label of a pool. That pool reports it; what other pools
// put on the node, and take off it, in the same write, goes through.
func TestWhatAPolicyRefusesOfOnePoolKeepsNoOtherOff(t *testing.T) {
	w, config := newUnattended(t, cluster.Shared(t), nodeNamed("n1", nil))
	w.apply(refusingPolicy)
	lift := func() {
		t.Helper()
		if out, err := w.c.Kubectl(context.Background(), "delete", "--ignore-not-found", "validatingadmissionpolicybinding,validatingadmissionpolicy", "no-legacy"); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
	t.Cleanup(lift)
	w.until("the policy is enforced", func() error {
		err := w.Patch(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}},
			client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"example.com/legacy":"no"}}}`)), client.DryRunAll)
		if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
			return nil
		}
		return errors.Join(errors.New("it is not"), err)
	})
	w.apply(fmt.Sprintf(wallPool, "n1") + "---\n" + legacyPool)
	w.startRun(config)
	isolated := "node-restriction.kubernetes.io/isolated"
	watched := []string{wallLabel, v1.RoleLabel("wall"), v1.RoleLabel("legacy"), "example.com/honest", "example.com/legacy", "legacy", "tenant", "isolated", isolated}

	w.has("is within the wall", "n1", watched, "example.com/honest=yes", wallLabel+"=payments", v1.RoleLabel("wall")+"=", "tenant=payments:NoSchedule")
	w.says(&v1.NodePool{}, "legacy", v1.NodesReason, "n1", "for pool legacy", "the label example.com/legacy is not used any more")
	w.apply(fmt.Sprintf(wallPool, "another") + "---\n" + priorityQuarantine)
	w.has("is thrown out and isolated", "n1", watched, isolated+"=yes", "isolated=yes:NoSchedule")
	lift()
	w.has("has all once the policy has gone", "n1", watched,
		"example.com/legacy=yes", isolated+"=yes", v1.RoleLabel("legacy")+"=", "isolated=yes:NoSchedule", "legacy=:PreferNoSchedule")
}
