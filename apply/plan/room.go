package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// maxRoom is how many bytes of the annotations of a node the keys of pools may take, with what the
// record says of them. The API server takes 256 KiB of annotations, and a kubelet may write 128 of
// them; the rest is for what the record says of the last change, and for others.
const maxRoom = 104 << 10

// overflow are the keys that pools want and that do not fit on a node.
type overflow struct {
	labels, annotations map[string]bool
	taints              map[render.TaintID]bool
}

// candidate is a key of a pool that takes room on a node.
type candidate struct {
	field Field
	key   string
	rank  int
	pool  string
	bytes int
	deny  func(*overflow)
}

// overflowOf decides which keys do not fit on a node. Taints go before labels, and labels before
// annotations: no annotation keeps a pool from setting a node apart. Among them the strongest pool
// goes first, so that none takes room from a stronger one. Of the node itself only the values count
// that are remembered to be given back.
func overflowOf(node *NodeState, recorded Record, desired render.Desired) overflow {
	if atMost(node, recorded, desired) <= maxRoom {
		return overflow{}
	}
	var all []candidate
	all = append(all, candidatesOf(node, taints, recorded.Taints, desired.Taints, func(o *overflow) *map[render.TaintID]bool { return &o.taints })...)
	all = append(all, candidatesOf(node, labels, recorded.Labels, desired.Labels, func(o *overflow) *map[string]bool { return &o.labels })...)
	all = append(all, candidatesOf(node, annotations, recorded.Annotations, desired.Annotations, func(o *overflow) *map[string]bool { return &o.annotations })...)
	slices.SortFunc(all, compareCandidates)
	left, denied, pools := maxRoom, overflow{}, map[string]bool{}
	for _, each := range all {
		bytes := each.bytes
		if !pools[each.pool] {
			bytes += jsonLen(each.pool) + poolFrame
		}
		if bytes > left {
			each.deny(&denied)
			continue
		}
		left, pools[each.pool] = left-bytes, true
	}
	return denied
}

// atMost is at least what all keys take. JSON takes at most six bytes for one of an annotation, and one
// for each of all else.
func atMost(node *NodeState, recorded Record, desired render.Desired) int {
	const frames, before = 2*entryFrame + poolFrame, 2 * 64
	most := 0
	for id, want := range desired.Taints {
		most += 2*(len(id.Key)+len(id.Effect)) + len(want.Value) + len(want.Pool) + frames + before
	}
	for key, want := range desired.Labels {
		most += 2*len(key) + len(want.Value) + len(want.Pool) + frames + before
	}
	for key, want := range desired.Annotations {
		most += 3*len(key) + 7*len(want.Value) + len(want.Pool) + 6*len(node.Annotations[key]) + frames
		if entry := recorded.Annotations[key]; entry.Before != nil {
			most += 6 * len(*entry.Before)
		}
	}
	return most
}

// entryFrame is more than what stands around an entry in a record, and poolFrame than what stands
// around the keys of a pool.
const (
	entryFrame = 10
	poolFrame  = 64
)

func candidatesOf[K comparable](node *NodeState, at keyField[K], recorded map[K]Entry, want map[K]render.Want, denied func(*overflow) *map[K]bool) []candidate {
	all := make([]candidate, 0, len(want))
	for key, wanted := range want {
		name := fmt.Sprint(key)
		bytes := jsonLen(name) + jsonLen(wanted.Value) + entryFrame
		if at.field == Annotation {
			bytes += len(name) + len(wanted.Value)
		}
		entry, takes := recorded[key], reach(wanted.Policy) > reach(v1.ReportConflicts)
		if entry.Before != nil || takes {
			bytes += jsonLen(name)
		}
		if live, stands := at.value(node, key); stands && live != wanted.Value && (entry.Before != nil || takes) {
			bytes += jsonLen(live)
		}
		if entry.Before != nil {
			bytes += jsonLen(*entry.Before)
		}
		all = append(all, candidate{
			field: at.field, key: name, rank: wanted.Rank, pool: wanted.Pool, bytes: bytes,
			deny: func(o *overflow) {
				keys := denied(o)
				if *keys == nil {
					*keys = map[K]bool{}
				}
				(*keys)[key] = true
			},
		})
	}
	return all
}

func compareCandidates(a, b candidate) int {
	last := func(c candidate, field Field) int {
		if c.field == field {
			return 1
		}
		return 0
	}
	// By rank, and of one pool taints before labels: no pool takes the room of a stronger one.
	return cmp.Or(cmp.Compare(last(a, Annotation), last(b, Annotation)), cmp.Compare(a.rank, b.rank),
		cmp.Compare(last(a, Label), last(b, Label)), cmp.Compare(a.key, b.key))
}

// jsonLen is what a text takes in a record.
func jsonLen(text string) int {
	written, err := json.Marshal(text)
	if err != nil {
		return 6*len(text) + 2 // never: a text always has JSON
	}
	return len(written)
}
