package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
  - expression: "!object.metadata.?labels.orValue({}).exists(key, key.startsWith('example.com/legacy'))"
    message: labels example.com/legacy are not used any more
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
  priority: -1
  nodeNames: ['*']
  labels: {example.com/legacy: "yes"%s}
  taints: [{key: legacy, effect: PreferNoSchedule}]
---
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: agrees}
spec:
  priority: -2
  nodeNames: ['*']
  labels: {example.com/legacy: "yes"}
---
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: inner}
spec:
  parent: wall
  nodeNames: ['*']
  labels: {example.com/legacy-inner: "yes"}
`

// A policy of the cluster refuses labels of some pools: of two that agree, and of one within
// another. These report it; what other pools put on the node, and take off it, in the same
// write, goes through. A label of a wall that a refused pool would get goes as well.
func TestWhatAPolicyRefusesOfPoolsKeepsNoOtherOff(t *testing.T) {
	w, config := newUnattended(t, cluster.Shared(t), nodeNamed("n1", nil), nodeNamed("n2", nil))
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
	w.apply(fmt.Sprintf(wallPool, "n1") + "---\n" + fmt.Sprintf(legacyPool, ""))
	w.startRun(config)
	isolated := "node-restriction.kubernetes.io/isolated"
	watched := []string{wallLabel, v1.RoleLabel("wall"), v1.RoleLabel("legacy"), "example.com/honest", "example.com/legacy", "legacy", "tenant", "isolated", isolated}

	w.has("is within the wall", "n1", watched, "example.com/honest=yes", wallLabel+"=payments", v1.RoleLabel("wall")+"=", "tenant=payments:NoSchedule")
	for _, refused := range []string{"legacy", "agrees", "inner"} {
		w.says(&v1.NodePool{}, refused, v1.NodesReason, "0 of 2 nodes up to date; node n1 could not be written", "labels example.com/legacy are not used any more")
	}
	w.says(&v1.NodePool{}, "wall", v1.SucceededReason, "2 of 2 nodes up to date")
	w.apply(fmt.Sprintf(wallPool, "another") + "---\n" + fmt.Sprintf(legacyPool, ", "+wallLabel+": legacy") + "---\n" + priorityQuarantine)
	w.has("is thrown out and isolated", "n1", watched, isolated+"=yes", "isolated=yes:NoSchedule")
	w.says(&v1.NodePool{}, "isolate", v1.SucceededReason, "2 of 2 nodes up to date")
	lift()
	now := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "legacy"}}
	w.do(w.Patch(t.Context(), now, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"now"}}}`, v1.RequestedAtAnnotation))))
	w.has("has all once the policy has gone", "n1", watched, "example.com/legacy=yes", isolated+"=yes", wallLabel+"=legacy",
		v1.RoleLabel("legacy")+"=", "isolated=yes:NoSchedule", "legacy=:PreferNoSchedule")
	w.says(&v1.NodePool{}, "legacy", v1.SucceededReason, "2 of 2 nodes up to date")
}
