package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// TestPatch holds the requests to the byte.
func TestPatch(t *testing.T) {
	const apply, merge = types.ApplyPatchType, types.MergePatchType
	added := metav1.NewTime(time.Unix(0, 0).UTC())
	foreign := corev1.Taint{Key: "not-ready", Effect: corev1.TaintEffectNoExecute, TimeAdded: &added}
	const foreignJSON = `{"key":"not-ready","effect":"NoExecute","timeAdded":"1970-01-01T00:00:00Z"}`
	byRole := func(spec v1.NodePoolSpec) *v1.NodePool { return define("a", spec) }
	role := map[string]string{v1.RoleLabel("a"): ""}
	owns := func(fields string) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{managed(v1.FieldManager, metav1.ManagedFieldsOperationApply, "", fields)}
	}
	const recorded = `"f:annotations":{"f:nodes.lailin.xyz/applied":{}}`
	cases := map[string]struct {
		reason string
		pools  []*v1.NodePool
		edit   func(*NodeState)
		record Record
		kind   types.PatchType
		want   string
	}{
		"labels alone": {
			"an apply carries what is ours; no taint is, so the list is left out",
			[]*v1.NodePool{byRole(v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"k": "1"}, Annotations: map[string]v1.AnnotationValue{"n": "<"}})},
			func(node *NodeState) { node.Labels, node.Taints = role, []corev1.Taint{foreign} },
			Record{}, apply,
			`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","uid":"uid-of-node","resourceVersion":"1","labels":{"k":"1"},` +
				`"annotations":{"n":"\u003c","nodes.lailin.xyz/applied":"{\"version\":1,\"pools\":{\"a\":{\"labels\":{\"k\":\"1\"},\"annotations\":{\"n\":\"\u003c\"}}}}"}}}`,
		},
		"taints": {
			"the whole list, others' first and as they stand, ours after them, sorted",
			[]*v1.NodePool{byRole(v1.NodePoolSpec{Taints: []v1.Taint{{Key: "b", Value: "2", Effect: "NoSchedule"}, {Key: "a", Effect: "NoSchedule"}}})},
			func(node *NodeState) { node.Labels, node.Taints = role, []corev1.Taint{foreign} },
			Record{}, apply,
			`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","uid":"uid-of-node","resourceVersion":"1",` +
				`"annotations":{"nodes.lailin.xyz/applied":"{\"version\":1,\"pools\":{\"a\":{\"taints\":{\"a:NoSchedule\":\"\",\"b:NoSchedule\":\"2\"}}}}"}},` +
				`"spec":{"taints":[` + foreignJSON + `,{"key":"a","effect":"NoSchedule"},{"key":"b","value":"2","effect":"NoSchedule"}]}}`,
		},
		"another label of ours": {
			"what does not change is carried too, and so is the list: an apply that left it out would remove it",
			[]*v1.NodePool{byRole(v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"k": "1", "l": "2"}, Taints: []v1.Taint{{Key: "a", Effect: "NoSchedule"}}})},
			func(node *NodeState) {
				node.Labels = map[string]string{v1.RoleLabel("a"): "", "k": "1", "foreign": "x"}
				node.Taints = []corev1.Taint{{Key: "a", Effect: "NoSchedule"}, foreign}
			},
			Record{Labels: map[string]Entry{"k": {Pool: "a", Value: "1"}}, Taints: taintRecord("a", Entry{Pool: "a"})}, apply,
			`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","uid":"uid-of-node","resourceVersion":"1","labels":{"k":"1","l":"2"},` +
				`"annotations":{"nodes.lailin.xyz/applied":"{\"version\":1,\"pools\":{\"a\":{\"labels\":{\"k\":\"1\",\"l\":\"2\"},\"taints\":{\"a:NoSchedule\":\"\"}}}}"}},` +
				`"spec":{"taints":[{"key":"a","effect":"NoSchedule"},` + foreignJSON + `]}}`,
		},
		"one label goes": {
			"by name, in a merge patch; the taints are not touched, so they are not in it",
			[]*v1.NodePool{byRole(v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"k": "2"}, Taints: []v1.Taint{{Key: "a", Effect: "NoSchedule"}}})},
			func(node *NodeState) {
				node.Labels = map[string]string{v1.RoleLabel("a"): "", "k": "1", "l": "2"}
				node.Taints = []corev1.Taint{{Key: "a", Effect: "NoSchedule"}, foreign}
			},
			Record{Labels: map[string]Entry{"k": {Pool: "a", Value: "1"}, "l": {Pool: "a", Value: "2"}}, Taints: taintRecord("a", Entry{Pool: "a"})}, merge,
			`{"metadata":{"uid":"uid-of-node","resourceVersion":"1","labels":{"k":"2","l":null},` +
				`"annotations":{"nodes.lailin.xyz/applied":"{\"version\":1,\"pools\":{\"a\":{\"labels\":{\"k\":\"2\"},\"taints\":{\"a:NoSchedule\":\"\"}}}}"}}}`,
		},
		"one taint goes": {
			"out of the list, the others as they stand",
			[]*v1.NodePool{byRole(v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"k": "1"}})},
			func(node *NodeState) {
				node.Labels = map[string]string{v1.RoleLabel("a"): "", "k": "1"}
				node.Taints = []corev1.Taint{{Key: "a", Effect: "NoSchedule"}, foreign}
			},
			Record{Labels: map[string]Entry{"k": {Pool: "a", Value: "1"}}, Taints: taintRecord("a", Entry{Pool: "a"})}, merge,
			`{"metadata":{"uid":"uid-of-node","resourceVersion":"1","annotations":{"nodes.lailin.xyz/applied":"{\"version\":1,\"pools\":{\"a\":{\"labels\":{\"k\":\"1\"}}}}"}},` +
				`"spec":{"taints":[` + foreignJSON + `]}}`,
		},
		"all goes": {
			"the record too, and the list when nothing is left on it",
			nil,
			func(node *NodeState) {
				node.Labels = map[string]string{"k": "1", "t": "1"}
				node.Taints = []corev1.Taint{{Key: "a", Effect: "NoSchedule"}}
			},
			Record{Labels: map[string]Entry{"k": {Pool: "a", Value: "1"}, "t": {Pool: "a", Value: "1", Before: ptr.To("0")}}, Taints: taintRecord("a", Entry{Pool: "a"})}, merge,
			`{"metadata":{"uid":"uid-of-node","resourceVersion":"1","labels":{"k":null,"t":"0"},"annotations":{"nodes.lailin.xyz/applied":null}},"spec":{"taints":null}}`,
		},
		"only the record goes": {
			"somebody has changed the label, so it is theirs",
			nil,
			func(node *NodeState) { node.Labels = map[string]string{"k": "9"} },
			Record{Labels: map[string]Entry{"k": {Pool: "a", Value: "1"}}}, merge,
			`{"metadata":{"uid":"uid-of-node","resourceVersion":"1","annotations":{"nodes.lailin.xyz/applied":null}}}`,
		},
		"a taint taken over and given back": {
			"in its place and with its age",
			nil,
			func(node *NodeState) {
				node.Taints = []corev1.Taint{{Key: "a", Value: "1", Effect: "NoSchedule", TimeAdded: &added}, foreign}
			},
			Record{Taints: taintRecord("a", Entry{Pool: "a", Value: "1", Before: ptr.To("0")})}, merge,
			`{"metadata":{"uid":"uid-of-node","resourceVersion":"1","annotations":{"nodes.lailin.xyz/applied":null}},` +
				`"spec":{"taints":[{"key":"a","value":"0","effect":"NoSchedule","timeAdded":"1970-01-01T00:00:00Z"},` + foreignJSON + `]}}`,
		},
		"owned beyond the record: a label": {
			"an apply without it would remove it, though nobody said so",
			[]*v1.NodePool{byRole(v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"k": "1"}})},
			func(node *NodeState) {
				node.Labels, node.ManagedFields = role, owns(`{"f:metadata":{`+recorded+`,"f:labels":{"f:k":{},"f:other":{}}}}`)
			},
			Record{}, merge,
			`{"metadata":{"uid":"uid-of-node","resourceVersion":"1","labels":{"k":"1"},` +
				`"annotations":{"nodes.lailin.xyz/applied":"{\"version\":1,\"pools\":{\"a\":{\"labels\":{\"k\":\"1\"}}}}"}}}`,
		},
		"owned beyond the record: the taints": {
			"an apply without the list would shed every taint on it",
			[]*v1.NodePool{byRole(v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"k": "1"}})},
			func(node *NodeState) {
				node.Labels, node.Taints = role, []corev1.Taint{foreign}
				node.ManagedFields = owns(`{"f:metadata":{` + recorded + `},"f:spec":{"f:taints":{}}}`)
			},
			Record{}, merge,
			`{"metadata":{"uid":"uid-of-node","resourceVersion":"1","labels":{"k":"1"},` +
				`"annotations":{"nodes.lailin.xyz/applied":"{\"version\":1,\"pools\":{\"a\":{\"labels\":{\"k\":\"1\"}}}}"}}}`,
		},
		"owned beyond the record: anything": {
			"somebody applied as nodepools what nodepools never does",
			[]*v1.NodePool{byRole(v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"k": "1"}})},
			func(node *NodeState) {
				node.Labels, node.ManagedFields = role, owns(`{"f:metadata":{`+recorded+`},"f:spec":{"f:unschedulable":{}}}`)
			},
			Record{}, merge,
			`{"metadata":{"uid":"uid-of-node","resourceVersion":"1","labels":{"k":"1"},` +
				`"annotations":{"nodes.lailin.xyz/applied":"{\"version\":1,\"pools\":{\"a\":{\"labels\":{\"k\":\"1\"}}}}"}}}`,
		},
		"owned beyond the record, and by another": {
			"who applies it too keeps it: leaving it out removes nothing",
			[]*v1.NodePool{byRole(v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"k": "1"}})},
			func(node *NodeState) {
				node.Labels = role
				node.ManagedFields = append(owns(`{"f:metadata":{`+recorded+`,"f:labels":{"f:other":{}}}}`),
					managed("argo", metav1.ManagedFieldsOperationApply, "", `{"f:metadata":{"f:labels":{"f:other":{}}}}`))
			},
			Record{}, apply,
			`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","uid":"uid-of-node","resourceVersion":"1","labels":{"k":"1"},` +
				`"annotations":{"nodes.lailin.xyz/applied":"{\"version\":1,\"pools\":{\"a\":{\"labels\":{\"k\":\"1\"}}}}"}}}`,
		},
		"owned, and all carried": {
			"the ordinary case: the next apply",
			[]*v1.NodePool{byRole(v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"k": "2"}})},
			func(node *NodeState) {
				node.Labels = map[string]string{v1.RoleLabel("a"): "", "k": "1"}
				node.ManagedFields = owns(`{"f:metadata":{` + recorded + `,"f:labels":{"f:k":{}}}}`)
			},
			Record{Labels: map[string]Entry{"k": {Pool: "a", Value: "1"}}}, apply,
			`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","uid":"uid-of-node","resourceVersion":"1","labels":{"k":"2"},` +
				`"annotations":{"nodes.lailin.xyz/applied":"{\"version\":1,\"pools\":{\"a\":{\"labels\":{\"k\":\"2\"}}}}"}}}`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			node := newNode("n")
			c.edit(node)
			if !c.record.Empty() {
				setRecord(node, c.record)
			}
			p, err := Node(node, expand(c.pools...))
			if err != nil || p.NoOp() {
				t.Fatalf("quiet %v, %v", p.NoOp(), err)
			}
			patch, err := p.Patch(node)
			if err != nil {
				t.Fatal(err)
			}
			if patch.Type != c.kind {
				t.Errorf("%s, want %s: %s", patch.Type, c.kind, c.reason)
			}
			if diff := cmp.Diff(c.want, string(patch.Data)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// While a node carries a taint of ours we own the list of taints; when it
// carries none, we must not: an apply would take the taints of others with it.
func TestListOfTaintsIsShed(t *testing.T) {
	s := newServer()
	node := newNode("n")
	with, without := onNode("a", want(Taint, "1")), onNode("a", v1.NodePoolSpec{})
	taint := func(node *NodeState) {
		node.Taints = append(node.Taints, corev1.Taint{Key: "not-ready", Effect: "NoExecute"})
	}
	node = s.update(t, node, "kube-controller-manager", taint)
	node, _ = s.write(t, node, expand(with))
	if !applied(node).Has(taintsPath) {
		t.Fatal("the list is not ours while a taint on it is")
	}
	node, _ = s.write(t, node, expand(without))
	if applied(node).Has(taintsPath) {
		t.Error("the list is still ours")
	}
	without.Spec.Labels = map[string]v1.LabelValue{"k": "1"}
	node, _ = s.write(t, node, expand(without))
	if len(node.Taints) != 1 || node.Taints[0].Key != "not-ready" {
		t.Errorf("taints %v, want the one of others", node.Taints)
	}
}
