package plan

import (
	"encoding/json"
	"strconv"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// server does with requests for a node what the API server does, in memory. Who
// owns which field, and what an apply removes, is worked out by the API server's
// own code.
type server struct {
	fields *managedfields.FieldManager
}

func newServer() server {
	converter := applyconfigurations.NewTypeConverter(scheme.Scheme)
	return server{managedfieldstest.NewFakeFieldManager(converter, corev1.SchemeGroupVersion.WithKind("Node"))}
}

// send carries a patch out as the controller sends it. It refuses what is not
// tied to the very version of the node, but for a JSON patch, which has its own tests.
func (s server) send(t testing.TB, node *NodeState, patch Patch) *NodeState {
	t.Helper()
	if patch.Type == types.JSONPatchType {
		return s.updateTo(t, node, v1.FieldManager, patchJSON(t, toMap(t, node), patch.Data))
	}
	body := map[string]any{}
	if err := json.Unmarshal(patch.Data, &body); err != nil {
		t.Fatalf("the patch is no JSON: %v\n%s", err, patch.Data)
	}
	metadata, _ := body["metadata"].(map[string]any)
	if metadata["uid"] != string(node.UID) || metadata["resourceVersion"] != node.ResourceVersion {
		t.Fatalf("the patch is not tied to version %s of node %s:\n%s", node.ResourceVersion, node.UID, patch.Data)
	}
	if patch.Type == types.ApplyPatchType {
		return s.apply(t, node, v1.FieldManager, body)
	}
	if patch.Type != types.MergePatchType {
		t.Fatalf("patch type %q", patch.Type)
	}
	merged, _ := mergeJSON(toMap(t, node), body).(map[string]any)
	return s.updateTo(t, node, v1.FieldManager, merged)
}

// apply is a forced server-side apply by some manager.
func (s server) apply(t testing.TB, node *NodeState, manager string, body map[string]any) *NodeState {
	t.Helper()
	applied, err := s.fields.Apply(toUnstructured(t, node), &unstructured.Unstructured{Object: body}, manager, true)
	if err != nil {
		t.Fatalf("apply by %s: %v\n%v", manager, err, body)
	}
	return next(t, applied)
}

// update is what somebody does with kubectl label, annotate or taint.
func (s server) update(t testing.TB, node *NodeState, manager string, change func(*NodeState)) *NodeState {
	t.Helper()
	changed := node.DeepCopy()
	change(changed)
	return s.updateTo(t, node, manager, toMap(t, changed))
}

func (s server) updateTo(t testing.TB, node *NodeState, manager string, body map[string]any) *NodeState {
	t.Helper()
	updated, err := s.fields.Update(toUnstructured(t, node), &unstructured.Unstructured{Object: body}, manager)
	if err != nil {
		t.Fatalf("update by %s: %v", manager, err)
	}
	return next(t, updated)
}

// next is the node as it is stored, in its next version.
func next(t testing.TB, object runtime.Object) *NodeState {
	t.Helper()
	node := &corev1.Node{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.(*unstructured.Unstructured).Object, node); err != nil {
		t.Fatal(err)
	}
	version, err := strconv.Atoi(node.ResourceVersion)
	if err != nil {
		t.Fatal(err)
	}
	node.ResourceVersion = strconv.Itoa(version + 1)
	seen := map[render.TaintID]bool{}
	for _, taint := range node.Spec.Taints {
		id := render.TaintID{Key: taint.Key, Effect: taint.Effect}
		if seen[id] {
			t.Fatalf("taint %s stands there twice", id)
		}
		seen[id] = true
	}
	return StateOf(node)
}

// patchJSON is RFC 6902, by the library of the API server.
func patchJSON(t testing.TB, target map[string]any, patch []byte) map[string]any {
	t.Helper()
	document, err := json.Marshal(target)
	if err != nil {
		t.Fatal(err)
	}
	operations, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		t.Fatalf("%v\n%s", err, patch)
	}
	if document, err = operations.Apply(document); err != nil {
		t.Fatalf("%v\n%s", err, patch)
	}
	patched := map[string]any{}
	if err := json.Unmarshal(document, &patched); err != nil {
		t.Fatal(err)
	}
	return patched
}

// mergeJSON is RFC 7386.
func mergeJSON(target, patch any) any {
	changes, isMap := patch.(map[string]any)
	if !isMap {
		return patch
	}
	merged, isMap := target.(map[string]any)
	if !isMap {
		merged = map[string]any{}
	}
	for key, value := range changes {
		if value == nil {
			delete(merged, key)
		} else {
			merged[key] = mergeJSON(merged[key], value)
		}
	}
	return merged
}

func toMap(t testing.TB, node *NodeState) map[string]any {
	t.Helper()
	object := node.Object()
	object.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func toUnstructured(t testing.TB, node *NodeState) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: toMap(t, node)}
}

// write plans a node, sends the plan, and returns what came of it and the plan.
func (s server) write(t testing.TB, node *NodeState, pools *render.Expansion) (*NodeState, *NodePlan) {
	t.Helper()
	p, err := Node(node, pools)
	if err != nil {
		t.Fatal(err)
	}
	if p.NoOp() {
		return node, p
	}
	patch, err := p.Patch(node)
	if err != nil {
		t.Fatal(err)
	}
	return s.send(t, node, patch), p
}
