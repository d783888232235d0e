package plan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"sync"

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
	return condense(entries, writtenFields)
}

// Condenser does what [Condense] does, and remembers what it has read: what the
// kubelets of a cluster own is the same on thousands of nodes, and comes again
// with each of their heartbeats. It may be used by many goroutines at once.
type Condenser struct {
	mu sync.Mutex
	// written has, by the text of an entry's fields, those of them that pools may
	// want to write.
	written map[string]string
	size    int // of all texts in written
}

// condenserSize bounds what a Condenser remembers, in bytes of text. The entries
// of a node that are not about its status have some 2 KiB, and few clusters have
// more than a dozen kinds of nodes.
const condenserSize = 512 << 10

// Condense is [Condense].
func (c *Condenser) Condense(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return condense(entries, c.writtenFields)
}

func (c *Condenser) writtenFields(raw []byte) string {
	if bytes.Contains(raw, setValue) {
		raw = withoutValues(raw)
	}
	if text, known := c.written[string(raw)]; known {
		return text
	}
	text := writtenFields(raw)
	size := len(raw) + len(text)
	if size > condenserSize {
		return text
	}
	if c.written == nil || c.size+size > condenserSize {
		c.written, c.size = map[string]string{}, 0
	}
	c.written[string(raw)] = text
	c.size += size
	return text
}

// setValue begins an element of a set of values.
var setValue = []byte(`"v:`)

// withoutValues returns fields without those of a spec but for the taints. The
// addresses of the pods of a node are owned one by one, and are others on each.
func withoutValues(raw []byte) []byte {
	var all, spec map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return raw
	}
	kept := map[string]any{}
	if metadata, found := all["f:metadata"]; found {
		kept["f:metadata"] = metadata
	}
	if err := json.Unmarshal(all["f:spec"], &spec); err == nil && spec["f:taints"] != nil {
		kept["f:spec"] = map[string]json.RawMessage{"f:taints": spec["f:taints"]}
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return raw
	}
	return text
}

func condense(entries []metav1.ManagedFieldsEntry, written func(raw []byte) string) []metav1.ManagedFieldsEntry {
	var condensed []metav1.ManagedFieldsEntry
	for _, entry := range entries {
		text := ""
		if isOurApply(entry) {
			text = entry.FieldsV1.GetRawString()
		} else if raw := entry.FieldsV1.GetRawBytes(); entry.Manager != v1.FieldManager && mentionsWritten(raw) {
			text = written(raw)
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

// mentionsWritten tells whether the fields of an entry may have some that pools
// may want to write. Most entries are about the status, long, and written often.
func mentionsWritten(raw []byte) bool {
	return slices.ContainsFunc(writtenNames, func(name []byte) bool { return bytes.Contains(raw, name) })
}

// writtenFields are those of the fields of an entry that pools may want to write;
// empty where there are none.
func writtenFields(raw []byte) string {
	owned, kept := fieldSet(raw), &fieldpath.Set{}
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
