package plan

import (
	"bytes"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// coOwners answers whether somebody else applies a field of an object as well.
// It reads the managed fields when it is first asked, which is only when
// something is let go of.
type coOwners struct {
	object metav1.Object
	read   bool
	others []*fieldpath.Set
}

func (c *coOwners) label(key string) bool      { return c.own(labelPath(key)) }
func (c *coOwners) annotation(key string) bool { return c.own(annotationPath(key)) }

func (c *coOwners) own(path fieldpath.Path) bool {
	if !c.read {
		c.read = true
		for _, entry := range c.object.GetManagedFields() {
			// Only an apply repeats a value that stands there already: an update
			// owns what it changed, and changing it took it from us.
			if entry.Operation == metav1.ManagedFieldsOperationApply && entry.Manager != v1.FieldManager {
				if set := fields(entry); set != nil {
					c.others = append(c.others, set)
				}
			}
		}
	}
	for _, set := range c.others {
		if set.Has(path) {
			return true
		}
	}
	return false
}

// applied returns the fields of an object that our earlier applies own. An apply
// that left one of them out would remove it.
func applied(object metav1.Object) *fieldpath.Set {
	for _, entry := range object.GetManagedFields() {
		if entry.Operation == metav1.ManagedFieldsOperationApply && entry.Manager == v1.FieldManager && entry.Subresource == "" {
			if set := fields(entry); set != nil {
				return set
			}
		}
	}
	return &fieldpath.Set{}
}

// fields reads one entry of managed fields; nil where the API server has
// written something that is none.
func fields(entry metav1.ManagedFieldsEntry) *fieldpath.Set {
	if entry.FieldsV1 == nil {
		return nil
	}
	set := &fieldpath.Set{}
	if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
		return nil
	}
	return set
}

// taintsPath is the list of taints, which is owned as a whole.
var taintsPath = fieldPath("spec", "taints")

func labelPath(key string) fieldpath.Path      { return fieldPath("metadata", "labels", key) }
func annotationPath(key string) fieldpath.Path { return fieldPath("metadata", "annotations", key) }

func fieldPath(names ...string) fieldpath.Path {
	path := make(fieldpath.Path, 0, len(names))
	for _, name := range names {
		path = append(path, fieldpath.PathElement{FieldName: &name})
	}
	return path
}
