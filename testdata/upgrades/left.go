package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// leftFolder has what programs of some commits have left, from the root of the repository:
// a folder for each.
const leftFolder = "testdata/upgrades/left"

// Files of what a program has left.
const (
	definitionsFile = "crds.yaml"
	objectsFile     = "objects.yaml"
)

// remains are the objects of a cluster that a program has left, exactly as they were.
type remains struct {
	// Before are the nodes as they were before there was a pool.
	Before         map[string]bare             `json:"before"`
	Pools          []unstructured.Unstructured `json:"pools"`
	RuntimeClasses []unstructured.Unstructured `json:"runtimeClasses"`
	Nodes          []unstructured.Unstructured `json:"nodes"`
}

// save writes what the older program has left, with its definitions.
func (r *run) save(ctx context.Context, folder string) error {
	definitions, err := output(ctx, r.old.path, "install", "--crds-only")
	if err != nil {
		return err
	}
	left := remains{Before: r.before}
	if left.Pools, err = r.pools(ctx); err != nil {
		return err
	}
	if left.RuntimeClasses, err = r.objects(ctx, nodev1.SchemeGroupVersion.String(), "RuntimeClassList"); err != nil {
		return err
	}
	if left.Nodes, err = r.objects(ctx, "v1", "NodeList"); err != nil {
		return err
	}
	text, err := yaml.Marshal(left)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, definitionsFile), []byte(definitions), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, objectsFile), text, 0o644)
}

func (w *world) objects(ctx context.Context, apiVersion, kind string) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(apiVersion)
	list.SetKind(kind)
	err := w.List(ctx, list)
	return list.Items, err
}

// load brings back what a program has left: definitions and objects, to the last field that
// the API server does not set itself.
func (r *run) load(ctx context.Context, folder string) error {
	definitions, err := os.ReadFile(filepath.Join(folder, definitionsFile))
	if err != nil {
		return err
	}
	if err := r.apply(ctx, string(definitions)); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(folder, objectsFile))
	if err != nil {
		return err
	}
	var left remains
	if err := yaml.UnmarshalStrict(text, &left); err != nil {
		return fmt.Errorf("%s: %w", objectsFile, err)
	}
	r.before = left.Before
	uids := map[types.UID]types.UID{}
	for _, object := range slices.Concat(left.Pools, left.RuntimeClasses, left.Nodes) {
		was := object.GetUID()
		now, err := r.recreate(ctx, object, uids)
		if err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
		uids[was] = now
	}
	return nil
}

// recreate creates an object as it was, with its generation, its status, and who has set
// which field. It returns its new UID.
func (w *world) recreate(ctx context.Context, was unstructured.Unstructured, uids map[types.UID]types.UID) (types.UID, error) {
	was = *was.DeepCopy()
	owners := was.GetOwnerReferences()
	for i := range owners {
		owners[i].UID = uids[owners[i].UID]
	}
	if len(owners) > 0 {
		was.SetOwnerReferences(owners)
	}
	object := was.DeepCopy()
	object.SetManagedFields(nil)
	object.SetResourceVersion("")
	object.SetUID("")
	if err := w.createAt(ctx, object, was.GetGeneration()); err != nil {
		return "", err
	}
	if status, found := was.Object["status"]; found {
		object.Object["status"] = status
		if err := w.Status().Update(ctx, object); err != nil {
			return "", err
		}
	}
	if was.GetKind() == "Node" { // the API server has given it a taint
		taints, _, err := unstructured.NestedSlice(was.Object, "spec", "taints")
		if err != nil {
			return "", err
		}
		unstructured.RemoveNestedField(object.Object, "spec", "taints")
		if len(taints) > 0 {
			err = unstructured.SetNestedSlice(object.Object, taints, "spec", "taints")
		}
		if err := errors.Join(err, w.Update(ctx, object)); err != nil {
			return "", err
		}
	}
	// Of a write that changes nothing else, the API server takes who has set what.
	object.SetManagedFields(was.GetManagedFields())
	if err := w.Update(ctx, object); err != nil {
		return "", err
	}
	return object.GetUID(), same(was, *object)
}

// createAt creates an object, of a pool with a generation.
func (w *world) createAt(ctx context.Context, object *unstructured.Unstructured, generation int64) error {
	want := object.DeepCopy()
	for priority := generation; object.GetKind() == poolKind.Kind && priority > 1; priority-- {
		if err := unstructured.SetNestedField(object.Object, 1000+priority, "spec", "priority"); err != nil {
			return err
		}
		if err := w.write(ctx, object); err != nil {
			return err
		}
	}
	if spec, found := want.Object["spec"]; found {
		object.Object["spec"] = spec
	}
	return w.write(ctx, object)
}

func (w *world) write(ctx context.Context, object client.Object) error {
	if object.GetResourceVersion() == "" {
		return w.Create(ctx, object)
	}
	return w.Update(ctx, object)
}

// same returns an error unless an object is what it was, but for what the API server sets.
func same(was, now unstructured.Unstructured) error {
	texts := make([]string, 2)
	for i, object := range []unstructured.Unstructured{was, now} {
		object = *object.DeepCopy()
		for _, field := range []string{"uid", "resourceVersion", "creationTimestamp"} {
			unstructured.RemoveNestedField(object.Object, "metadata", field)
		}
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			return err
		}
		texts[i] = string(text)
	}
	if texts[0] != texts[1] {
		return fmt.Errorf("it is\n%s\nand was\n%s", texts[1], texts[0])
	}
	return nil
}

// clear deletes what a run has made, but for what is installed. Pools may be left where it
// has failed, and nobody releases their nodes any more.
func (w *world) clear(ctx context.Context) error {
	pools, err := w.pools(ctx)
	if err != nil {
		return err
	}
	for _, pool := range pools {
		pool.SetFinalizers(nil)
		if err := w.Update(ctx, &pool); err != nil {
			return err
		}
	}
	if err := w.DeleteAllOf(ctx, &nodev1.RuntimeClass{}); err != nil {
		return err
	}
	if err := w.DeleteAllOf(ctx, &corev1.Node{}); err != nil {
		return err
	}
	_, err = w.cluster.Kubectl(ctx, "delete", "--wait", "crd", "nodepools."+poolKind.Group, "nodepoolsources."+poolKind.Group)
	return err
}

// leftBy returns the folder of what a commit has left, whether it is there or not.
func leftBy(c commit) string { return filepath.Join(leftFolder, c.short()) }
