package plan

import (
	"bytes"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// managedObject is a [NodeState], or any Kubernetes object.
type managedObject interface {
	GetManagedFields() []metav1.ManagedFieldsEntry
}

// owners answers who else set what stands on an object, by its managed fields:
// the labels, the annotations and, of a node, the taints, which are one list. It
// reads them when it is first asked, which is only when something is released
// or in conflict.
type owners struct {
	object managedObject
	// ours counts us among them.
	ours   bool
	read   bool
	others []fieldOwner
}

// fieldOwner is one entry of managed fields that is not ours.
type fieldOwner struct {
	manager string
	// applies distinguishes an apply from an update. Only an apply repeats a value that
	// stands there already: an update owns what it changed, and by changing it
	// took it from all others.
	applies bool
	fields  *fieldpath.Set
}

// alsoSet reports whether somebody else has set a field, so that it stays when our apply leaves it
// out. One who has updated it counts, too, if our apply has repeated that value since.
func (o *owners) alsoSet(path fieldpath.Path) bool {
	return slices.ContainsFunc(o.all(), func(other fieldOwner) bool { return other.fields.Has(path) })
}

// alsoApplied reports whether somebody else applies a field as well. Of other fields
// than those that pools write nothing is known: see [Condense].
func (o *owners) alsoApplied(path fieldpath.Path) bool {
	return isWritten(path) && slices.ContainsFunc(o.all(), func(other fieldOwner) bool { return other.applies && other.fields.Has(path) })
}

// setBy names the field managers that own a field, sorted, without ours.
func (o *owners) setBy(path fieldpath.Path) []string {
	var names []string
	for _, other := range o.all() {
		if other.manager != "" && other.fields.Has(path) {
			names = append(names, other.manager)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (o *owners) all() []fieldOwner {
	if o.read {
		return o.others
	}
	o.read = true
	for _, entry := range o.object.GetManagedFields() {
		if entry.Manager == v1.FieldManager && !o.ours {
			continue
		}
		if set := fields(entry); set != nil {
			o.others = append(o.others, fieldOwner{
				manager: entry.Manager, applies: entry.Operation == metav1.ManagedFieldsOperationApply, fields: set,
			})
		}
	}
	return o.others
}

// applied returns the fields of an object that our earlier applies own. An apply
// that left one of them out would remove it.
func applied(object managedObject) *fieldpath.Set {
	for _, entry := range object.GetManagedFields() {
		if isOurApply(entry) {
			if set := fields(entry); set != nil {
				return set
			}
		}
	}
	return &fieldpath.Set{}
}

func isOurApply(entry metav1.ManagedFieldsEntry) bool {
	return entry.Operation == metav1.ManagedFieldsOperationApply && entry.Manager == v1.FieldManager && entry.Subresource == ""
}

// fields reads one entry of managed fields; nil where the API server has
// written something that is none.
func fields(entry metav1.ManagedFieldsEntry) *fieldpath.Set {
	if entry.FieldsV1 == nil {
		return nil
	}
	return fieldSet(entry.FieldsV1.GetRawBytes())
}

// fieldSet reads a set of fields; nil where the text is none.
func fieldSet(raw []byte) *fieldpath.Set {
	set := &fieldpath.Set{}
	if err := set.FromJSON(bytes.NewReader(raw)); err != nil {
		return nil
	}
	return set
}

// taintsPath is the list of taints, which is owned as a whole.
var taintsPath = fieldPath("spec", "taints")

// isWritten reports whether a field is one that pools write on nodes: one label,
// one annotation, or the list of taints.
func isWritten(path fieldpath.Path) bool {
	return path.Equals(taintsPath) || len(path) == 3 && path[2].FieldName != nil &&
		(path[:2].Equals(labelsPath) || path[:2].Equals(annotationsPath))
}

var (
	labelsPath      = fieldPath("metadata", "labels")
	annotationsPath = fieldPath("metadata", "annotations")
)

func labelPath(key string) fieldpath.Path      { return fieldPath("metadata", "labels", key) }
func annotationPath(key string) fieldpath.Path { return fieldPath("metadata", "annotations", key) }

func fieldPath(names ...string) fieldpath.Path {
	path := make(fieldpath.Path, 0, len(names))
	for _, name := range names {
		path = append(path, fieldpath.PathElement{FieldName: &name})
	}
	return path
}
