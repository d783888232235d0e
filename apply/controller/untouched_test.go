package controller

import (
	"bytes"
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

const tenantPool = `
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: tenant}
spec:
  labels: {tenant: a, example.com/rack: r1}
  annotations: {tenant: a}
  taints:
  - {key: tenant, value: a, effect: NoSchedule}
  - {key: tenant, value: a, effect: NoExecute}
`

// bare is a node as JSON without what the API server counts: resource version and
// managed fields.
func bare(t *testing.T, node *corev1.Node) string {
	t.Helper()
	node = node.DeepCopy()
	node.ResourceVersion, node.ManagedFields = "", nil
	return indented(t, node)
}

// foreign is what of a node is not the pool's: all but what tenantPool names, and
// the record.
func foreign(t *testing.T, node *corev1.Node) string {
	t.Helper()
	node = node.DeepCopy()
	ours := func(key, _ string) bool {
		return key == "tenant" || key == "example.com/rack" || key == "second" || key == v1.AppliedAnnotation
	}
	maps.DeleteFunc(node.Labels, ours)
	maps.DeleteFunc(node.Annotations, ours)
	var taints []corev1.Taint
	for _, taint := range node.Spec.Taints {
		if !ours(taint.Key, "") {
			taints = append(taints, taint)
		}
	}
	node.Spec.Taints = taints
	return bare(t, node)
}

func indented(t *testing.T, object any) string {
	t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(object); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// What others have put on a node stays byte for byte as it is while a pool comes,
// changes and goes, and when the pool has gone the node is what it was.
func TestForeignKeysAreUntouched(t *testing.T) {
	w := newWorld(t)
	added := metav1.NewTime(time.Date(2024, 2, 29, 12, 30, 0, 0, time.UTC))
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        "shared",
			Labels:      map[string]string{v1.RoleLabel("tenant"): "", "theirs": "before", "example.com/empty": ""},
			Annotations: map[string]string{"theirs": "{\"any\": \"text\"}\nof two lines \u00e9"},
		},
		Spec: corev1.NodeSpec{
			PodCIDR:  "10.1.0.0/24",
			PodCIDRs: []string{"10.1.0.0/24"},
			Taints: []corev1.Taint{
				{Key: "theirs", Value: "z", Effect: corev1.TaintEffectNoExecute, TimeAdded: &added},
				{Key: "theirs", Value: "a", Effect: corev1.TaintEffectPreferNoSchedule},
			},
		},
	}
	w.do(w.Create(t.Context(), node))
	w.isReadyNode("shared")
	before := w.get("shared")
	unchanged := func(stage string, want *corev1.Node) {
		t.Helper()
		if diff := cmp.Diff(foreign(t, want), foreign(t, w.get("shared"))); diff != "" {
			t.Errorf("%s: what is not the pool's (-want +got):\n%s", stage, diff)
		}
	}

	w.approvedPool(tenantPool)
	w.isReady("tenant", 1)
	unchanged("the pool has come", before)

	during := []corev1.Taint{
		{Key: "during", Value: "x", Effect: corev1.TaintEffectNoExecute, TimeAdded: &added},
		{Key: "during", Effect: corev1.TaintEffectNoSchedule},
	}
	addKeys := func(node *corev1.Node) {
		node.Labels["during"] = "since"
		node.Annotations["during"] = "since"
		node.Spec.Unschedulable = false
		node.Spec.Taints = append(node.Spec.Taints, during...)
	}
	w.changeNode("shared", addKeys)
	addKeys(before)
	w.settle()
	unchanged("others have added keys", before)

	w.change("tenant", func(pool *v1.NodePool) {
		pool.Spec.Labels = map[string]v1.LabelValue{"tenant": "b", "second": "new"}
		pool.Spec.Taints = []v1.Taint{{Key: "tenant", Value: "b", Effect: corev1.TaintEffectNoSchedule}}
	})
	w.isReady("tenant", 1)
	unchanged("the pool has changed", before)
	w.change("tenant", func(pool *v1.NodePool) { pool.Spec.Taints = nil })
	w.isReady("tenant", 1)
	unchanged("the pool has no taints any more", before)
	w.change("tenant", func(pool *v1.NodePool) {
		pool.Spec.Taints = []v1.Taint{{Key: "second", Effect: corev1.TaintEffectNoExecute}}
		pool.Spec.Annotations = nil
	})
	w.isReady("tenant", 1)
	unchanged("the pool has taints again", before)

	w.remove("tenant")
	if diff := cmp.Diff(bare(t, before), bare(t, w.get("shared"))); diff != "" {
		t.Errorf("the pool has gone, and the node is not what it was (-want +got):\n%s", diff)
	}
	for _, entry := range w.get("shared").ManagedFields {
		if entry.Manager == v1.FieldManager && entry.Operation == metav1.ManagedFieldsOperationApply && bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte("taints")) {
			t.Errorf("the loops still own the list of taints: %s", entry.FieldsV1.GetRawBytes())
		}
	}
}

// Another applier says the same as the pool of one label. It stays when the pool
// goes, whoever was first.
func TestLabelThatSomebodyElseAppliesStays(t *testing.T) {
	cases := map[string]struct {
		reason string
		first  bool
	}{
		"before": {"the other applier was first: the value is shared", true},
		"after":  {"the pool was first: the value is owned by both", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.node("shared", role("tenant"))
			w.isReadyNode("shared")
			before := w.get("shared")
			before.Labels["tenant"] = "a"
			apply := func() {
				patch := []byte(`{"apiVersion":"v1","kind":"Node","metadata":{"name":"shared","labels":{"tenant":"a"}}}`)
				w.do(w.Patch(t.Context(), w.get("shared"), client.RawPatch(types.ApplyPatchType, patch),
					&client.PatchOptions{FieldManager: "somebody-else", Force: ptr.To(false)}))
			}
			if c.first {
				apply()
			}
			w.approvedPool(tenantPool)
			w.isReady("tenant", 1)
			if !c.first {
				apply()
			}
			w.settle()
			// A change of another key in between: an apply that carries less, or
			// a merge patch, must not take the label along.
			w.change("tenant", func(pool *v1.NodePool) { pool.Spec.Labels["example.com/rack"] = "r2" })
			w.isReady("tenant", 1)
			w.remove("tenant")
			if diff := cmp.Diff(bare(t, before), bare(t, w.get("shared"))); diff != "" {
				t.Errorf("%s: the node is not what it was (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
