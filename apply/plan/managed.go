package plan

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Keys are labels and annotations of an object, sorted.
type Keys struct {
	Labels, Annotations []string
}

// Empty reports whether there are none.
func (k Keys) Empty() bool { return len(k.Labels)+len(k.Annotations) == 0 }

// Applied are the labels and annotations of an object that our applies own. Of a
// pool, these came from Git.
func Applied(object managedObject) Keys {
	var keys Keys
	applied(object).Iterate(func(path fieldpath.Path) {
		switch {
		case len(path) != 3 || path[2].FieldName == nil:
		case path[:2].Equals(labelsPath):
			keys.Labels = append(keys.Labels, *path[2].FieldName)
		case path[:2].Equals(annotationsPath):
			keys.Annotations = append(keys.Annotations, *path[2].FieldName)
		}
	})
	slices.Sort(keys.Labels)
	slices.Sort(keys.Annotations)
	return keys
}

// ManagedFields are managed fields that say no more than which keys our applies
// own, and which some other apply, who is not named. A plan depends on them as it
// does on those that [Applied] was read from.
func ManagedFields(applied, alsoApplied Keys) []metav1.ManagedFieldsEntry {
	entry := func(manager string, keys Keys) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(keys.fields()),
		}
	}
	entries := []metav1.ManagedFieldsEntry{entry(v1.FieldManager, applied)}
	if !alsoApplied.Empty() {
		entries = append(entries, entry("", alsoApplied))
	}
	return entries
}

// fields is the text of a set of fields.
func (k Keys) fields() string {
	named := func(keys []string) map[string]struct{} {
		names := make(map[string]struct{}, len(keys))
		for _, key := range keys {
			names["f:"+key] = struct{}{}
		}
		return names
	}
	text, err := json.Marshal(map[string]any{
		"f:metadata": map[string]any{"f:labels": named(k.Labels), "f:annotations": named(k.Annotations)},
	})
	if err != nil {
		return "{}" // names always have a text
	}
	return string(text)
}
