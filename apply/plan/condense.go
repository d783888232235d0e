package plan

import (
	"bytes"
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Condense returns as much of the managed fields of a node as a plan reads, so
// that a cache of nodes need not keep the rest, which is most of it: what we
// apply, and which labels and annotations and whether the taints are somebody
// else's. A plan for the node is the same with it. It does not change what it is
// given, and its result depends neither on the order of the entries nor on when
// they were written.
func Condense(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	var condensed []metav1.ManagedFieldsEntry
	for _, entry := range entries {
		text := ""
		if isOurApply(entry) {
			text = entry.FieldsV1.GetRawString()
		} else if entry.Manager != v1.FieldManager {
			text = writtenFields(entry)
		}
		if text != "" {
			condensed = append(condensed, metav1.ManagedFieldsEntry{
				Manager: entry.Manager, Operation: entry.Operation, FieldsV1: metav1.NewFieldsV1(text),
			})
		}
	}
	slices.SortFunc(condensed, func(a, b metav1.ManagedFieldsEntry) int {
		return cmp.Or(
			cmp.Compare(a.Manager, b.Manager),
			cmp.Compare(a.Operation, b.Operation),
			bytes.Compare(a.FieldsV1.GetRawBytes(), b.FieldsV1.GetRawBytes()),
		)
	})
	return condensed
}

// writtenFields are those of the fields of an entry that pools may want to write;
// empty where there are none.
func writtenFields(entry metav1.ManagedFieldsEntry) string {
	raw := entry.FieldsV1.GetRawBytes()
	// Most entries are about the status, long, and written often.
	if !slices.ContainsFunc(writtenNames, func(name []byte) bool { return bytes.Contains(raw, name) }) {
		return ""
	}
	owned, kept := fields(entry), &fieldpath.Set{}
	if owned == nil {
		return ""
	}
	owned.Iterate(func(path fieldpath.Path) {
		if isWritten(path) {
			kept.Insert(path.Copy())
		}
	})
	if kept.Empty() {
		return ""
	}
	text, err := kept.ToJSON()
	if err != nil {
		return "" // a set of names always has a text
	}
	return string(text)
}

var writtenNames = [][]byte{[]byte(`"f:labels"`), []byte(`"f:annotations"`), []byte(`"f:taints"`)}
