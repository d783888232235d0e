package plan

import (
	"bytes"
	"cmp"
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
	scratch []byte
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
	key := raw
	if bytes.Contains(raw, setValue) {
		c.scratch = appendWithoutValues(c.scratch[:0], raw)
		key = c.scratch
	}
	if text, known := c.written[string(key)]; known {
		return text
	}
	text, readable := readWritten(raw)
	size := len(key) + len(text)
	if size > condenserSize || !readable {
		return text
	}
	if c.written == nil || c.size+size > condenserSize {
		c.written, c.size = map[string]string{}, 0
	}
	c.written[string(key)] = text
	c.size += size
	return text
}

// setValue begins an element of a set of values.
var setValue = []byte(`"v:`)

// appendWithoutValues appends fields without the values of sets. The addresses of
// the pods of a node are owned one by one, and are others on each; what pools may
// want to write is no such value. A text that cannot be read for such a value alone,
// which no API server writes, is taken for one that can.
func appendWithoutValues(to, raw []byte) []byte {
	for {
		begin := bytes.IndexByte(raw, '"') + 1
		if begin == 0 {
			return append(to, raw...)
		}
		end := begin
		for end < len(raw) && raw[end] != '"' {
			if raw[end] == '\\' {
				end++
			}
			end++
		}
		if bytes.HasPrefix(raw[begin-1:], setValue) {
			to = append(append(to, raw[:begin-1]...), setValue...)
		} else {
			to = append(to, raw[:min(end, len(raw))]...)
		}
		if end >= len(raw) {
			return to
		}
		to, raw = append(to, '"'), raw[end+1:]
	}
}

func condense(entries []metav1.ManagedFieldsEntry, written func(raw []byte) string) []metav1.ManagedFieldsEntry {
	condensed := make([]metav1.ManagedFieldsEntry, 0, len(entries))
	for _, entry := range entries {
		text := ""
		if isOurApply(entry) {
			text = entry.FieldsV1.GetRawString()
		} else if raw := entry.FieldsV1.GetRawBytes(); entry.Manager != v1.FieldManager && MentionsWritten(raw) {
			text = written(raw)
		}
		if text != "" {
			condensed = append(condensed, metav1.ManagedFieldsEntry{
				Manager: entry.Manager, Operation: entry.Operation, FieldsV1: metav1.NewFieldsV1(text),
			})
		}
	}
	if len(condensed) == 0 {
		return nil
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

// MentionsWritten reports whether a text of managed fields may have some that pools
// may want to write. [Condense] drops what others own that does not. Most entries
// are about the status, long, and written often.
func MentionsWritten(raw []byte) bool {
	return slices.ContainsFunc(writtenNames, func(name []byte) bool { return bytes.Contains(raw, name) })
}

// writtenFields are those of the fields of an entry that pools may want to write;
// empty where there are none.
func writtenFields(raw []byte) string {
	text, _ := readWritten(raw)
	return text
}

// readWritten is writtenFields, and reports whether the fields can be read.
func readWritten(raw []byte) (text string, readable bool) {
	owned, kept := fieldSet(raw), &fieldpath.Set{}
	if owned == nil {
		return "", false
	}
	owned.Iterate(func(path fieldpath.Path) {
		if isWritten(path) {
			kept.Insert(path.Copy())
		}
	})
	if kept.Empty() {
		return "", true
	}
	data, err := kept.ToJSON()
	return string(data), err == nil // a set of names always has a text
}

var writtenNames = [][]byte{[]byte(`"f:labels"`), []byte(`"f:annotations"`), []byte(`"f:taints"`)}
