package plan

import (
	"fmt"
	"maps"

	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// Record is what the pools have put on a node. It stands on the node itself, in
// the annotation nodes.lailin.xyz/applied, and is written in one request with
// what it describes. What it does not name is not ours.
type Record struct {
	Labels      map[string]Entry         `json:"labels,omitempty"`
	Annotations map[string]Entry         `json:"annotations,omitempty"`
	Taints      map[render.TaintID]Entry `json:"taints,omitempty"`
	// Change is the last change that the node has followed in its turn: see
	// [Rollouts.Turns].
	Change LastChange `json:"-"`
}

// Entry is one key that a pool has put on a node.
type Entry struct {
	// Pool that the value came from.
	Pool string
	// Value that was put there. Another value on the node is somebody else's.
	Value string
	// Before is the value that somebody else had set, nil when there was none.
	// It comes back when the pool releases it, unless it was adopted.
	Before *string
	// Adopted says that the pool took the key over for good.
	Adopted bool
}

// RecordError says that the record of a node cannot be read. Such a node must
// be left alone: without the record it is unknown what is ours.
type RecordError struct {
	Node string
	Err  error
}

func (e *RecordError) Error() string {
	return fmt.Sprintf("node %q: annotation %s: %v", e.Node, v1.AppliedAnnotation, e.Err)
}

func (e *RecordError) Unwrap() error { return e.Err }

// Empty reports whether nothing on the node is ours.
func (r Record) Empty() bool {
	return len(r.Labels)+len(r.Annotations)+len(r.Taints)+len(r.Change.Drains) == 0
}

// Equal reports whether two records say the same of what is ours.
func (r Record) Equal(other Record) bool {
	return maps.EqualFunc(r.Labels, other.Labels, Entry.equal) &&
		maps.EqualFunc(r.Annotations, other.Annotations, Entry.equal) &&
		maps.EqualFunc(r.Taints, other.Taints, Entry.equal)
}

func (e Entry) equal(other Entry) bool {
	return e.Pool == other.Pool && e.Value == other.Value && e.Adopted == other.Adopted && ptr.Equal(e.Before, other.Before)
}

// hasTaint reports whether the record has a taint with a value.
func (r Record) hasTaint(id render.TaintID, value string) bool {
	entry, found := r.Taints[id]
	return found && entry.Value == value
}

// Pools are the names of the pools that the record has entries of.
func (r Record) Pools() map[string]bool {
	pools := map[string]bool{}
	for _, entry := range r.Labels {
		pools[entry.Pool] = true
	}
	for _, entry := range r.Annotations {
		pools[entry.Pool] = true
	}
	for _, entry := range r.Taints {
		pools[entry.Pool] = true
	}
	return pools
}

// underlyingLabels are the labels of a node less those that are ours, and with
// the values that were there before. Members are chosen by these. What stands
// under a key of ours at the moment does not count: somebody's change of it is
// about to be put back, and must not lead the node into a pool on its way.
func (r Record) underlyingLabels(live map[string]string) map[string]string {
	if len(r.Labels) == 0 {
		return live
	}
	labels := maps.Clone(live)
	if labels == nil {
		labels = map[string]string{}
	}
	for key, entry := range r.Labels {
		if entry.Before != nil {
			labels[key] = *entry.Before
		} else {
			delete(labels, key)
		}
	}
	return labels
}
