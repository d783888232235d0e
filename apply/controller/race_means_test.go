package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// byUpdate sends the whole node back.
func byUpdate(ctx context.Context, w *raceWriter, live *corev1.Node, after belongings) error {
	return w.client.Update(ctx, w.with(live, after))
}

// byStrategicMerge sends what differs, and the resource version: a strategic
// merge patch replaces the list of taints as a whole.
func byStrategicMerge(ctx context.Context, w *raceWriter, live *corev1.Node, after belongings) error {
	return w.client.Patch(ctx, w.with(live, after), client.StrategicMergeFrom(live, client.MergeFromWithOptimisticLock{}))
}

// byUnlockedStrategicMerge locks only where it must, for taints.
func byUnlockedStrategicMerge(ctx context.Context, w *raceWriter, live *corev1.Node, after belongings) error {
	if w.taintsChange(live, after) {
		return byStrategicMerge(ctx, w, live, after)
	}
	return w.patch(ctx, live, types.StrategicMergePatchType, w.metadataPatch(live, after))
}

// byMergePatch locks only where it must, for taints.
func byMergePatch(ctx context.Context, w *raceWriter, live *corev1.Node, after belongings) error {
	patch := w.metadataPatch(live, after)
	if w.taintsChange(live, after) {
		patch["metadata"].(map[string]any)["resourceVersion"] = live.ResourceVersion
		patch["spec"] = map[string]any{"taints": w.with(live, after).Spec.Taints}
	}
	return w.patch(ctx, live, types.MergePatchType, patch)
}

// byApply applies labels and annotations under one manager. Taints it applies
// under another: an apply that leaves out the list which its manager has applied
// before removes it.
func byApply(ctx context.Context, w *raceWriter, live *corev1.Node, after belongings) error {
	metadata := map[string]any{"name": live.Name, "uid": live.UID}
	body := map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": metadata}
	manager := w.name
	if w.taintsChange(live, after) {
		manager += "-taints"
		metadata["resourceVersion"] = live.ResourceVersion
		taints := w.with(live, after).Spec.Taints
		if taints == nil {
			taints = []corev1.Taint{}
		}
		body["spec"] = map[string]any{"taints": taints}
	} else {
		metadata["labels"], metadata["annotations"] = entriesOrNone(after.labels), entriesOrNone(after.annotations)
	}
	return w.patch(ctx, live, types.ApplyPatchType, body, client.FieldOwner(manager), client.ForceOwnership)
}

func entriesOrNone(values map[string]string) map[string]string {
	if values == nil {
		return map[string]string{}
	}
	return values
}

// byJSONPatch locks nothing but what it touches: it names by place and content
// what goes.
func byJSONPatch(ctx context.Context, w *raceWriter, live *corev1.Node, after belongings) error {
	operations := []jsonOperation{{Op: "test", Path: "/metadata/uid", Value: live.UID}}
	before := w.find(live)
	operations = append(operations, mapOperations("/metadata/labels/", before.labels, after.labels)...)
	operations = append(operations, mapOperations("/metadata/annotations/", before.annotations, after.annotations)...)
	operations = append(operations, w.taintOperations(live, after)...)
	return w.patch(ctx, live, types.JSONPatchType, operations)
}

type jsonOperation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

func mapOperations(path string, before, after map[string]string) []jsonOperation {
	var operations []jsonOperation
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	for key, value := range mapDifference(before, after) {
		if value == nil {
			operations = append(operations, jsonOperation{Op: "remove", Path: path + escape.Replace(key)})
		} else {
			operations = append(operations, jsonOperation{Op: "add", Path: path + escape.Replace(key), Value: *value})
		}
	}
	return operations
}

func (w *raceWriter) taintOperations(live *corev1.Node, after belongings) []jsonOperation {
	var operations []jsonOperation
	list := slices.Clone(live.Spec.Taints)
	index := func(in []corev1.Taint, taint corev1.Taint) int {
		return slices.IndexFunc(in, func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
	}
	for _, taint := range w.find(live).taints {
		at := index(list, taint)
		path := fmt.Sprintf("/spec/taints/%d", at)
		switch to := index(after.taints, taint); {
		case to < 0:
			operations = append(operations, jsonOperation{"test", path, taint}, jsonOperation{Op: "remove", Path: path})
			list = slices.Delete(list, at, at+1)
		case !equality.Semantic.DeepEqual(after.taints[to], taint):
			operations = append(operations, jsonOperation{"test", path, taint}, jsonOperation{"replace", path, after.taints[to]})
		}
	}
	for _, taint := range after.taints {
		switch {
		case index(list, taint) >= 0:
		case len(list) > 0:
			operations = append(operations, jsonOperation{"add", "/spec/taints/-", taint})
		default:
			// There is no list to add to, and nothing to test but the whole node.
			operations = append(operations,
				jsonOperation{"test", "/metadata/resourceVersion", live.ResourceVersion},
				jsonOperation{"add", "/spec/taints", []corev1.Taint{taint}})
		}
	}
	return operations
}

// with is a node with what its writer wants to leave there.
func (w *raceWriter) with(live *corev1.Node, after belongings) *corev1.Node {
	node := live.DeepCopy()
	mine := func(key, _ string) bool { return w.owns(key) }
	maps.DeleteFunc(node.Labels, mine)
	maps.Copy(node.Labels, after.labels)
	maps.DeleteFunc(node.Annotations, mine)
	maps.Copy(node.Annotations, after.annotations)
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return w.owns(taint.Key) })
	node.Spec.Taints = append(node.Spec.Taints, after.taints...)
	return node
}

func (w *raceWriter) taintsChange(live *corev1.Node, after belongings) bool {
	return !equality.Semantic.DeepEqual(w.find(live).taints, after.taints)
}

// metadataPatch is a merge patch of the labels and annotations that change.
func (w *raceWriter) metadataPatch(live *corev1.Node, after belongings) map[string]any {
	before := w.find(live)
	return map[string]any{"metadata": map[string]any{
		"uid":         live.UID,
		"labels":      mapDifference(before.labels, after.labels),
		"annotations": mapDifference(before.annotations, after.annotations),
	}}
}

// mapDifference has the values that change, nil for those that go.
func mapDifference(before, after map[string]string) map[string]*string {
	difference := map[string]*string{}
	for key := range before {
		if _, stays := after[key]; !stays {
			difference[key] = nil
		}
	}
	for key, value := range after {
		if was, found := before[key]; !found || was != value {
			difference[key] = &value
		}
	}
	return difference
}

func (w *raceWriter) patch(ctx context.Context, live *corev1.Node, kind types.PatchType, body any, options ...client.PatchOption) error {
	patch, err := rawPatch(kind, body)
	if err != nil {
		return err
	}
	node := &corev1.Node{}
	node.Name = live.Name
	return w.client.Patch(ctx, node, patch, options...)
}

func rawPatch(kind types.PatchType, body any) (client.Patch, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return client.RawPatch(kind, data), nil
}
