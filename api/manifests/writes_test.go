package manifests_test

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/policies"
)

// wayToWrite is one of the requests by which a node that is there gets other
// labels and annotations.
type wayToWrite struct {
	name string
	// subresource that the request goes to, and the type of its patch; an empty
	// one is an update.
	subresource string
	patch       types.PatchType
	body        func(before, changed *corev1.Node) ([]byte, error)
	// manager of an apply. Everybody may choose one.
	manager string
	// adds is set where keys of others cannot be removed that way.
	adds bool
}

// waysToWrite are all of them, on the node and on its status.
func waysToWrite() []wayToWrite {
	var ways []wayToWrite
	for _, way := range []wayToWrite{
		{name: "update", body: func(_, changed *corev1.Node) ([]byte, error) { return json.Marshal(changed) }},
		{name: "merge patch", patch: types.MergePatchType, body: func(before, changed *corev1.Node) ([]byte, error) {
			return client.MergeFrom(before).Data(changed)
		}},
		{name: "strategic merge patch", patch: types.StrategicMergePatchType, body: func(before, changed *corev1.Node) ([]byte, error) {
			return client.StrategicMergeFrom(before).Data(changed)
		}},
		{name: "JSON patch", patch: types.JSONPatchType, body: jsonPatch},
		{name: "apply", patch: types.ApplyPatchType, body: policies.MetadataOnly, manager: "kubelet", adds: true},
		{name: "apply in the controller's name", patch: types.ApplyPatchType, body: policies.MetadataOnly, manager: v1.FieldManager},
	} {
		ways = append(ways, way)
		way.name, way.subresource = way.name+" of the status", "status"
		// Who applies the status owns other fields than who applies the node.
		way.adds = way.adds || way.patch == types.ApplyPatchType
		ways = append(ways, way)
	}
	return ways
}

// send asks the API server to make changed of the node that is there.
func (w wayToWrite) send(ctx context.Context, api kubernetes.Interface, before, changed *corev1.Node, options metav1.PatchOptions) error {
	body, err := w.body(before, changed)
	if err != nil {
		return err
	}
	nodes := api.CoreV1().Nodes()
	var subresources []string
	if w.subresource != "" {
		subresources = append(subresources, w.subresource)
	}
	switch {
	case w.patch == types.ApplyPatchType:
		force := true
		options.Force, options.FieldManager = &force, w.manager
		fallthrough
	case w.patch != "":
		_, err = nodes.Patch(ctx, before.Name, w.patch, body, options, subresources...)
	case w.subresource != "":
		_, err = nodes.UpdateStatus(ctx, changed, metav1.UpdateOptions{DryRun: options.DryRun})
	default:
		_, err = nodes.Update(ctx, changed, metav1.UpdateOptions{DryRun: options.DryRun})
	}
	return err
}

// jsonPatch sets or removes both maps as a whole.
func jsonPatch(before, changed *corev1.Node) ([]byte, error) {
	operations := []map[string]any{}
	for path, maps := range map[string][2]map[string]string{
		"/metadata/labels": {before.Labels, changed.Labels}, "/metadata/annotations": {before.Annotations, changed.Annotations},
	} {
		switch was, is := maps[0], maps[1]; {
		case len(is) > 0:
			operations = append(operations, map[string]any{"op": "add", "path": path, "value": is})
		case len(was) > 0:
			operations = append(operations, map[string]any{"op": "remove", "path": path})
		}
	}
	return json.Marshal(operations)
}

func setAnnotation(key, value string) func(*corev1.Node) {
	return func(node *corev1.Node) { metav1.SetMetaDataAnnotation(&node.ObjectMeta, key, value) }
}

func setLabel(key, value string) func(*corev1.Node) {
	return func(node *corev1.Node) { metav1.SetMetaDataLabel(&node.ObjectMeta, key, value) }
}

func removeAnnotation(key string) func(*corev1.Node) {
	return func(node *corev1.Node) { delete(node.Annotations, key) }
}

func removeLabel(key string) func(*corev1.Node) {
	return func(node *corev1.Node) { delete(node.Labels, key) }
}
