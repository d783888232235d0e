package controller

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodepools/nodepools/api/crds"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// beforeMembershipRules are the definitions as they were when the API server took any
// entry of nodeNames and any selector.
func beforeMembershipRules(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	definitions, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, definition := range definitions {
		if definition.Spec.Names.Kind != v1.NodePoolKind {
			continue
		}
		spec := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
		spec["nodeNames"].Items.Schema.XValidations = nil
		expressions := spec["selector"].Properties["matchExpressions"]
		requirement := expressions.Items.Schema
		requirement.XValidations = nil
		for _, name := range []string{"key", "operator"} {
			field := requirement.Properties[name]
			field.XValidations, field.Enum = nil, nil
			requirement.Properties[name] = field
		}
	}
	return definitions
}

// A pool that breaks a rule which is newer than it goes on as before and says so. It
// can be changed elsewhere, corrected and deleted; what breaks the rule cannot be
// changed into what breaks it still.
func TestPoolsOlderThanTheRulesOfMembership(t *testing.T) {
	c := cluster.New(t, cluster.Options{Audit: true, CRDs: beforeMembershipRules(t)})
	old, err := c.Before(1, 33)
	if err != nil {
		t.Fatal(err)
	}
	if old {
		t.Skip("this API server holds a write of the status to the rules of the whole object, also where it leaves alone what breaks them")
	}
	w := &world{Client: newClient(t, c.Config), t: t, cluster: c, user: "loops of " + t.Name()}
	w.config, err = c.AddUser(w.user, "system:masters")
	w.do(err)
	w.config.QPS = -1

	for _, node := range []string{"gpu-1", "gpu-2", "gpu-3"} {
		w.node(node, nil)
	}
	w.pool(`{metadata: {name: named}, spec: {nodeNames: [gpu-1, GPU-2], labels: {tier: a}}}`)
	w.pool(`{metadata: {name: empty}, spec: {nodeNames: ["gpu-{1,2}"]}}`)
	w.pool(`{metadata: {name: chosen}, spec: {selector: {matchExpressions: [{key: zone, operator: in, values: [a]}]}}}`)
	w.install()
	w.start()
	t.Cleanup(func() { w.stop() })

	w.isReady("named", 1)
	says := func(pool, reason string, status metav1.ConditionStatus, texts ...string) {
		t.Helper()
		w.poolIs(pool, "reports what is older than the rule", func(pool *v1.NodePool) error {
			return conditionIs(pool.Status.Conditions, v1.ReadyCondition, status, reason, texts...)
		})
	}
	says("named", v1.SucceededReason, metav1.ConditionTrue, "1 of 1 node up to date", `spec.nodeNames[1]: "GPU-2" can match no node`)
	says("empty", v1.SucceededReason, metav1.ConditionTrue, "no node is in this pool", `spec.nodeNames[0]: "gpu-{1,2}" can match no node`)
	says("chosen", v1.SelectorReason, metav1.ConditionFalse, `"in"`)

	tier := role("named")
	tier["tier"] = "b"
	w.kubectl("patch", "nodepools.nodes.lailin.xyz", "named", "--type=merge", "-p", `{"spec":{"labels":{"tier":"b"}}}`)
	w.carries("gpu-1", tier)
	w.kubectl("patch", "nodepools.nodes.lailin.xyz", "chosen", "--type=merge", "-p", `{"spec":{"labels":{"tier":"c"}}}`)

	for pool, patch := range map[string]string{
		"named":  `{"spec":{"nodeNames":["gpu-1","gpu-3","GPU-2"]}}`,
		"chosen": `{"spec":{"selector":{"matchExpressions":[{"key":"zone","operator":"in","values":["b"]}]}}}`,
	} {
		if out, err := c.Kubectl(t.Context(), "patch", "nodepools.nodes.lailin.xyz", pool, "--type=merge", "-p", patch); err == nil || !strings.Contains(err.Error(), "is invalid") {
			t.Errorf("%s: the API server takes %s: %v %s", pool, patch, err, out)
		}
	}
	w.kubectl("patch", "nodepools.nodes.lailin.xyz", "named", "--type=merge", "-p", `{"spec":{"nodeNames":["gpu-1","gpu-3"]}}`)
	w.isReady("named", 2)
	says("named", v1.SucceededReason, metav1.ConditionTrue, "2 of 2 nodes up to date")

	w.remove("empty")
	w.remove("chosen")
	w.remove("named")
	w.carries("gpu-1", map[string]string{})
}
