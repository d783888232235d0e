package review

import (
	"fmt"
	"strings"

	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// lastApplied is where kubectl keeps what it has applied. Nobody has written it
// by hand, and it repeats the whole object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// PoolOf returns the pool whose RuntimeClass has such a name; the name itself
// and false where it belongs to none.
func PoolOf(runtimeClass string) (pool string, found bool) {
	return strings.CutPrefix(runtimeClass, v1.RuntimeClassPrefix)
}

func runtimeClasses(d *plan.Difference) ([]Object, error) {
	objects := []Object{}
	for _, change := range d.RuntimeClasses {
		object := Object{Name: change.Name(), Action: change.Action}
		var err error
		if object.Before, err = manifest(change.Live, nodev1.SchemeGroupVersion.String(), "RuntimeClass"); err != nil {
			return nil, err
		}
		if object.After, err = manifest(change.After(), nodev1.SchemeGroupVersion.String(), "RuntimeClass"); err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// manifest returns an object as somebody would write it; nil for none.
func manifest[T any](object *T, apiVersion, kind string) (map[string]any, error) {
	if object == nil {
		return nil, nil
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	fields["apiVersion"], fields["kind"] = apiVersion, kind
	delete(fields, "status")
	for _, name := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink"} {
		unstructured.RemoveNestedField(fields, "metadata", name)
	}
	unstructured.RemoveNestedField(fields, "metadata", "annotations", lastApplied)
	// Files that are in no commit yet have no revision.
	if revision, _, _ := unstructured.NestedString(fields, "metadata", "annotations", v1.RevisionAnnotation); revision == "" {
		unstructured.RemoveNestedField(fields, "metadata", "annotations", v1.RevisionAnnotation)
	}
	// An owner that is created by the same change has no uid yet.
	owners, _, _ := unstructured.NestedSlice(fields, "metadata", "ownerReferences")
	for _, owner := range owners {
		if owner, isMap := owner.(map[string]any); isMap && owner["uid"] == "" {
			delete(owner, "uid")
		}
	}
	if len(owners) > 0 {
		if err := unstructured.SetNestedSlice(fields, owners, "metadata", "ownerReferences"); err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
	}
	for _, name := range []string{"labels", "annotations"} {
		if values, found, _ := unstructured.NestedMap(fields, "metadata", name); found && len(values) == 0 {
			unstructured.RemoveNestedField(fields, "metadata", name)
		}
	}
	return fields, nil
}
