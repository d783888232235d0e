package controller

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// setLabel sets a label of a node, or removes it where the value is nil.
func setLabel(t *testing.T, as client.Client, node, key string, value any, options ...client.PatchOption) error {
	t.Helper()
	text := "null"
	if value != nil {
		text = fmt.Sprintf("%q", value)
	}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{%q:%s}}}`, key, text))
	return as.Patch(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, patch, options...)
}

// What we warn of is what NodeRestriction lets a kubelet set, no more and no less.
func TestKubeletsMaySetWhatWeWarnOf(t *testing.T) {
	c := cluster.Shared(t)
	w := &world{Client: newClient(t, c.Config), t: t, cluster: c}
	t.Cleanup(w.clear)
	w.node("n1", nil)
	kubelet := w.kubelet("n1")
	for key, reason := range map[string]string{
		"tier":                                  "no domain",
		"example.com/tier":                      "a domain of somebody",
		"mykubernetes.io/tier":                  "one that only ends alike",
		"kubernetes.io/hostname":                "what kubelets report",
		"kubernetes.io/os":                      "what kubelets report",
		"topology.kubernetes.io/zone":           "what kubelets report",
		"node.kubernetes.io/instance-type":      "what kubelets report",
		"node.kubernetes.io/anything":           "the domain of nodes",
		"kubelet.kubernetes.io/anything":        "the domain of kubelets",
		"sub.kubelet.kubernetes.io/anything":    "and what is within it",
		"kubernetes.io/anything":                "the domain of Kubernetes",
		"example.kubernetes.io/anything":        "and what is within it",
		"k8s.io/anything":                       "its short form",
		"topology.kubernetes.io/anything":       "a domain of which only some are reported",
		"node-role.kubernetes.io/quarantine":    "the role label",
		"node-restriction.kubernetes.io/tier":   "the domain that is there for this",
		"a.node-restriction.kubernetes.io/tier": "and what is within it",
		"node-restriction.kubernetes.io.a/tier": "a domain that only begins alike",
		"xnode-restriction.kubernetes.io/tier":  "a domain of Kubernetes that only ends alike",
	} {
		err := setLabel(t, kubelet, "n1", key, "x", client.DryRunAll)
		if err != nil && !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", key, err)
		}
		pool := &v1.NodePool{Spec: v1.NodePoolSpec{Selector: &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{key: "x"}}}}
		if warned := len(render.SelfJoinKeys(pool)) > 0; warned != (err == nil) {
			t.Errorf("%s (%s): warned of is %t, and the API server says %v", key, reason, warned, err)
		}
	}
}

// The warning is true: by such a label a kubelet brings its node into the pool,
// and out of it. By a protected one it does neither.
func TestPoolReportsWhetherNodesCanJoinByThemselves(t *testing.T) {
	w := newWorld(t)
	w.node("n1", nil)
	kubelet := w.kubelet("n1")
	w.pool(`{metadata: {name: free}, spec: {selector: {matchLabels: {example.com/tier: gold}}, labels: {free: "yes"}}}`)
	w.pool(`{metadata: {name: wall}, spec: {selector: {matchLabels: {node-restriction.kubernetes.io/tier: gold}}, labels: {wall: "yes"}}}`)
	w.pool(`{metadata: {name: inner}, spec: {parent: wall, selector: {matchExpressions: [{key: a, operator: DoesNotExist}, {key: b, operator: DoesNotExist}, {key: c, operator: DoesNotExist}, {key: d, operator: DoesNotExist}]}}}`)
	w.pool(`{metadata: {name: usual}}`)
	w.pool(`{metadata: {name: named}, spec: {nodeNames: [a-*, b]}}`)
	for pool, want := range map[string]struct {
		status metav1.ConditionStatus
		reason string
		texts  []string
	}{
		"free":  {metav1.ConditionTrue, v1.KubeletLabelsReason, []string{"example.com/tier", "node-restriction.kubernetes.io/", "node-role.kubernetes.io/free"}},
		"wall":  {metav1.ConditionFalse, v1.ProtectedReason, []string{"a nodeSelector by these labels alone does not keep a pod in the pool", "on its own node: wall;", "RuntimeClass node-pool-wall"}},
		"inner": {metav1.ConditionTrue, v1.KubeletLabelsReason, []string{"a; b; c; and 1 more", `within its parent "wall"`}},
		"usual": {metav1.ConditionFalse, v1.ProtectedReason, nil},
		"named": {metav1.ConditionTrue, v1.NamePatternsReason, []string{"whoever may bootstrap nodes of any name", "patterns: a-*;"}},
	} {
		w.poolIs(pool, "reports whether nodes can join", func(pool *v1.NodePool) error {
			return conditionIs(pool.Status.Conditions, v1.SelfJoinableCondition, want.status, want.reason, want.texts...)
		})
		w.isReady(pool, 0)
	}

	// Acknowledged, the pool is no less joinable, and says both.
	w.kubectl("annotate", "nodepools.nodes.lailin.xyz", "free", v1.AcknowledgeSelfJoinAnnotation+"=selector:example.com/tier")
	w.kubectl("annotate", "nodepools.nodes.lailin.xyz", "inner", v1.AcknowledgeSelfJoinAnnotation+"=selector:a selector:b selector:gone")
	w.kubectl("annotate", "nodepools.nodes.lailin.xyz", "named", v1.AcknowledgeSelfJoinAnnotation+"=nodeNames:a-*")
	for pool, want := range map[string]struct{ reason, text string }{
		"free":  {v1.AcknowledgedReason, "; acknowledged by the annotation " + v1.AcknowledgeSelfJoinAnnotation + ": selector:example.com/tier"},
		"inner": {v1.KubeletLabelsReason, "; acknowledged by the annotation " + v1.AcknowledgeSelfJoinAnnotation + ": selector:a; selector:b"},
		"named": {v1.AcknowledgedReason, ": nodeNames:a-*"},
	} {
		w.poolIs(pool, "says what is acknowledged", func(pool *v1.NodePool) error {
			return conditionIs(pool.Status.Conditions, v1.SelfJoinableCondition, metav1.ConditionTrue, want.reason, want.text)
		})
	}
	w.kubectl("patch", "nodepools.nodes.lailin.xyz", "free", "--type=merge", "-p", `{"spec":{"selector":{"matchLabels":{"later":"gold"}}}}`)
	w.poolIs("free", "is acknowledged for another label", func(pool *v1.NodePool) error {
		return conditionIs(pool.Status.Conditions, v1.SelfJoinableCondition, metav1.ConditionTrue, v1.KubeletLabelsReason, "later")
	})
	w.kubectl("patch", "nodepools.nodes.lailin.xyz", "free", "--type=json", "-p", `[{"op":"remove","path":"/spec/selector/matchLabels/later"}]`)

	// A key that is acknowledged beside a protected label is not without it.
	w.pool(`{metadata: {name: beside, annotations: {nodes.lailin.xyz/acknowledgeSelfJoin: "protectedSelector:zone"}}, spec: {selector: {matchLabels: {node-restriction.kubernetes.io/tenant: a, zone: x}}}}`)
	w.poolIs("beside", "is acknowledged beside a protected label", func(pool *v1.NodePool) error {
		return conditionIs(pool.Status.Conditions, v1.SelfJoinableCondition, metav1.ConditionTrue, v1.AcknowledgedReason, ": protectedSelector:zone")
	})
	w.kubectl("patch", "nodepools.nodes.lailin.xyz", "beside", "--type=json", "-p", `[{"op":"remove","path":"/spec/selector/matchLabels/node-restriction.kubernetes.io~1tenant"}]`)
	w.poolIs("beside", "is not acknowledged without it", func(pool *v1.NodePool) error {
		return conditionIs(pool.Status.Conditions, v1.SelfJoinableCondition, metav1.ConditionTrue, v1.KubeletLabelsReason, "zone")
	})

	w.do(setLabel(t, kubelet, "n1", "example.com/tier", "gold"))
	joined := role("free")
	joined["example.com/tier"], joined["free"] = "gold", "yes"
	w.carries("n1", joined)
	w.do(setLabel(t, kubelet, "n1", "example.com/tier", nil))
	w.carries("n1", map[string]string{})

	for _, key := range []string{"node-restriction.kubernetes.io/tier", "node-role.kubernetes.io/usual"} {
		if err := setLabel(t, kubelet, "n1", key, "gold"); !apierrors.IsForbidden(err) {
			t.Errorf("a kubelet sets %s: %v", key, err)
		}
	}
	w.do(setLabel(t, w.Client, "n1", "node-restriction.kubernetes.io/tier", "gold"))
	w.isReady("wall", 1)
	if err := setLabel(t, kubelet, "n1", "node-restriction.kubernetes.io/tier", nil); !apierrors.IsForbidden(err) {
		t.Errorf("a kubelet leaves the pool: %v", err)
	}

	// It is reported once: there is no event of it, and nothing more to write.
	w.becomesIdle()
	var events corev1.EventList
	w.do(w.List(t.Context(), &events))
	for _, event := range events.Items {
		if event.Reason == v1.KubeletLabelsReason || event.Reason == v1.SelfJoinableCondition {
			t.Errorf("event %s: %s", event.Reason, event.Message)
		}
	}
	// A changed selector changes the condition.
	w.kubectl("patch", "nodepools.nodes.lailin.xyz", "free", "--type=merge", "-p", `{"spec":{"selector":null}}`)
	w.poolIs("free", "can no longer be joined", func(pool *v1.NodePool) error {
		return conditionIs(pool.Status.Conditions, v1.SelfJoinableCondition, metav1.ConditionFalse, v1.ProtectedReason)
	})
}
