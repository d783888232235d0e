package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// recordVersion is the version of the record that this code writes.
const recordVersion = 1

// ErrNewerRecord says that a record was written by a later version.
var ErrNewerRecord = errors.New("written by a later version of nodepools")

// Record is what the pools have put on a node. It stands on the node itself, in
// the annotation nodes.lailin.xyz/applied, and is written in one request with
// what it describes. What it does not name is not ours.
type Record struct {
	Labels      map[string]Entry         `json:"labels,omitempty"`
	Annotations map[string]Entry         `json:"annotations,omitempty"`
	Taints      map[render.TaintID]Entry `json:"taints,omitempty"`
}

// Entry is one key that a pool has put on a node.
type Entry struct {
	// Pool that the value came from.
	Pool string `json:"pool"`
	// Value that was put there. Another value on the node is somebody else's.
	Value string `json:"value"`
	// Before is the value that somebody else had set, nil when there was none.
	// It comes back when the pool lets go, unless it was adopted.
	Before *string `json:"before,omitempty"`
	// Adopted says that the pool took the key over for good.
	Adopted bool `json:"adopted,omitempty"`
}

type versionedRecord struct {
	Version int `json:"version"`
	Record
}

// RecordError says that the record of a node cannot be read. Such a node must
// be left alone: without the record nobody can tell what is ours.
type RecordError struct {
	Node string
	Err  error
}

func (e *RecordError) Error() string {
	return fmt.Sprintf("node %q: annotation %s: %v", e.Node, v1.AppliedAnnotation, e.Err)
}

func (e *RecordError) Unwrap() error { return e.Err }

// ParseRecord reads a record; the empty text is an empty record. Whatever it
// does not know to the last field it refuses: a record that is only half
// understood is not understood.
func ParseRecord(text string) (Record, error) {
	if text == "" {
		return Record{}, nil
	}
	var versioned versionedRecord
	err := decodeStrictly(text, &versioned)
	if err != nil {
		// A later version may have fields of its own, so its number goes first.
		var probe struct {
			Version int `json:"version"`
		}
		if err := json.Unmarshal([]byte(text), &probe); err != nil {
			return Record{}, fmt.Errorf("not a record: %w", err)
		}
		versioned.Version = probe.Version
	}
	switch {
	case versioned.Version > recordVersion:
		return Record{}, fmt.Errorf("record of version %d: %w", versioned.Version, ErrNewerRecord)
	case versioned.Version != recordVersion:
		return Record{}, fmt.Errorf("record of version %d, which never was", versioned.Version)
	case err != nil:
		return Record{}, fmt.Errorf("not a record: %w", err)
	}
	if err := versioned.check(); err != nil {
		return Record{}, err
	}
	return versioned.Record, nil
}

// decodeStrictly refuses unknown fields, and text after the end.
func decodeStrictly(text string, into any) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("text after its end")
	}
	return nil
}

// check refuses entries that this code would never write.
func (r Record) check() error {
	for _, entries := range []map[string]Entry{r.Labels, r.Annotations} {
		for key, entry := range entries {
			if key == "" || entry.Pool == "" {
				return fmt.Errorf("not a record: the entry of %q names no pool or no key", key)
			}
			if strings.HasPrefix(key, v1.Domain+"/") {
				return fmt.Errorf("not a record: %q is not for pools to set", key)
			}
		}
	}
	for id, entry := range r.Taints {
		if entry.Pool == "" {
			return fmt.Errorf("not a record: the entry of %q names no pool", id)
		}
		if v1.IsKubernetesTaint(id.Key) {
			return fmt.Errorf("not a record: %q is not for pools to set", id)
		}
	}
	return nil
}

// Empty tells whether nothing on the node is ours.
func (r Record) Empty() bool { return len(r.Labels)+len(r.Annotations)+len(r.Taints) == 0 }

// String writes the record as it stands in the annotation, "" when it is empty.
// The keys are sorted, so equal records are equal texts.
func (r Record) String() string {
	if r.Empty() {
		return ""
	}
	text, err := json.Marshal(versionedRecord{recordVersion, r})
	if err != nil {
		// Maps of strings always marshal; TaintID's MarshalText never fails.
		panic(fmt.Sprintf("record: %v", err))
	}
	return string(text)
}

// Equal tells whether two records say the same.
func (r Record) Equal(other Record) bool {
	return maps.EqualFunc(r.Labels, other.Labels, Entry.equal) &&
		maps.EqualFunc(r.Annotations, other.Annotations, Entry.equal) &&
		maps.EqualFunc(r.Taints, other.Taints, Entry.equal)
}

func (e Entry) equal(other Entry) bool {
	return e.Pool == other.Pool && e.Value == other.Value && e.Adopted == other.Adopted && ptr.Equal(e.Before, other.Before)
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
	labels := make(map[string]string, len(live))
	maps.Copy(labels, live)
	for key, entry := range r.Labels {
		if entry.Before != nil {
			labels[key] = *entry.Before
		} else {
			delete(labels, key)
		}
	}
	return labels
}
