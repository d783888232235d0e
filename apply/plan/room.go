package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/validation"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

const allAnnotations = validation.TotalAnnotationSizeLimitB

// maxAnnotations is what the API server takes of all annotations of an object, in
// bytes of keys and values, less what the record grows by when it notes that the node has
// begun to follow a change: that is known later.
const maxAnnotations = allAnnotations - len(`,"change":{"at":"2026-11-25T02:00:07Z"}`)

// denials are the keys that pools want and that do not fit on a node.
type denials struct {
	labels, annotations map[string]bool
	taints              map[render.TaintID]bool
	// keepsWalls reports that walls stay that are recorded: see [isWall].
	keepsWalls bool
}

func noDenials() denials {
	return denials{labels: map[string]bool{}, annotations: map[string]bool{}, taints: map[render.TaintID]bool{}}
}

// isWall reports whether a key is one that no kubelet may set or take off.
func isWall(field Field, key string) bool {
	return field == Taint || field == Label && !render.KubeletMaySet(key)
}

// fitting is as much of a plan that is too large as fits on the node. Where others have filled it,
// as its kubelet can, no wall goes that stands there and is recorded: nobody takes one off by that.
func (p *NodePlan) fitting(node *NodeState, plan func(denials) *NodePlan) *NodePlan {
	fits := plan(p.deniedBy(node, plan, false))
	if !fits.losesWalls() || p.bytesOfOthers(node) <= allAnnotations/2 {
		return fits
	}
	return plan(p.deniedBy(node, plan, true))
}

// losesWalls reports whether a wall goes that is recorded, and wanted still.
func (p *NodePlan) losesWalls() bool {
	for key, entry := range p.recorded.Labels {
		want, wanted := p.desired.Labels[key]
		if _, ours := p.Record.Labels[key]; wanted && !ours && want.Value == entry.Value && isWall(Label, key) {
			return true
		}
	}
	for id := range p.recorded.Taints {
		_, wanted := p.desired.Taints[id]
		if _, ours := p.Record.Taints[id]; wanted && !ours {
			return true
		}
	}
	return false
}

// bytesOfOthers are what annotations take that no pool has put on the node, or of which somebody
// has changed the value, or whose pool holds still: no room is made there for what is wanted.
func (p *NodePlan) bytesOfOthers(node *NodeState) int {
	size := 0
	for key, value := range node.Annotations {
		entry, ours := p.recorded.Annotations[key]
		held := ours && p.pools.Holds(entry.Pool)
		if key != v1.AppliedAnnotation && (!ours || held || entry.Value != value) {
			size += len(key) + len(value)
		}
		if held { // and the record has it as well
			size += jsonLen(key) + jsonLen(entry.Value)
		}
	}
	return size
}

// exceeds reports whether the API server would refuse the plan, as the annotations
// of the node would be too large, with the record among them. Of almost every plan
// that is known without writing the record.
func (p *NodePlan) exceeds(node *NodeState) bool {
	if len(p.annotations.changed) == 0 && p.Record.Equal(p.live) && p.Record.Change.equalDrains(p.live.Change) {
		return false
	}
	// JSON takes at most six bytes for one, and half a hundred around a value.
	most := 6*sizeOfEntries(p.Record) + 128
	for key, value := range node.Annotations {
		most += len(key) + len(value)
	}
	for key, value := range p.annotations.changed {
		if value != nil {
			most += len(key) + len(*value)
		}
	}
	return most > maxAnnotations && p.annotationBytes(node) > maxAnnotations
}

// sizeOfEntries are the bytes in a record, and ten for what stands around each.
func sizeOfEntries(record Record) int {
	size := 0
	add := func(key string, entry Entry) {
		size += 2*len(key) + len(entry.Pool) + len(entry.Value) + 10
		if entry.Before != nil {
			size += len(*entry.Before)
		}
	}
	for key, entry := range record.Labels {
		add(key, entry)
	}
	for key, entry := range record.Annotations {
		add(key, entry)
	}
	for id, entry := range record.Taints {
		add(id.String(), entry)
	}
	for id, drained := range record.Change.Drains {
		add(id.String(), Entry{Pool: drained.Pool, Value: drained.Value, Before: new("2026-11-25T02:00:07Z")})
	}
	return size
}

// annotationBytes are what the annotations of the node take after the write, as the
// API server counts them.
func (p *NodePlan) annotationBytes(node *NodeState) int {
	size := 0
	for key, value := range p.After(node).Annotations {
		size += len(key) + len(value)
	}
	return size
}

// candidate is a key of a pool that takes room on a node.
type candidate struct {
	field Field
	key   string
	rank  int
	pool  string
	// bytes that it takes, at most.
	bytes int
	// recorded reports that the record has it as it is.
	recorded bool
	deny     func(*denials)
}

// deniedBy decides which keys of a plan that is too large do not fit: what is left
// when each key has got its room. Taints go before labels, and labels before
// annotations: no annotation keeps a pool from setting a node apart. Among them the
// strongest pool goes first, so that none takes room from a stronger one. Where walls are kept,
// those that the record has already need none.
func (p *NodePlan) deniedBy(node *NodeState, plan func(denials) *NodePlan, keepsWalls bool) denials {
	none, denied := noDenials(), noDenials()
	none.keepsWalls, denied.keepsWalls = keepsWalls, keepsWalls
	all := candidatesOf(p, labels, p.labels, p.recorded.Labels, p.desired.Labels, func(d *denials, key string) { d.labels[key] = true })
	all = append(all, candidatesOf(p, taints, p.taints, p.recorded.Taints, p.desired.Taints, func(d *denials, id render.TaintID) { d.taints[id] = true })...)
	if keepsWalls {
		all = slices.DeleteFunc(all, func(c candidate) bool { return c.recorded && isWall(c.field, c.key) })
	}
	written := candidatesOf(p, annotations, p.annotations, p.recorded.Annotations, p.desired.Annotations, func(d *denials, key string) { d.annotations[key] = true })
	for _, each := range slices.Concat(all, written) {
		each.deny(&none)
	}
	bare := plan(none)
	left := maxAnnotations - bare.annotationBytes(node) - len(v1.AppliedAnnotation) - recordFrame
	after := bare.After(node).Annotations
	for i := range written {
		key := written[i].key
		if value := p.annotations.changed[key]; value != nil {
			written[i].bytes += len(key) + len(*value)
		} else {
			written[i].bytes += len(key) + len(node.Annotations[key])
		}
		if value, stands := after[key]; stands {
			written[i].bytes -= len(key) + len(value)
		}
	}
	all = append(all, written...)
	slices.SortFunc(all, compareCandidates)
	pools := map[string]bool{}
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

// recordFrame is more than what stands around the pools in a record, and poolFrame
// than what stands around the keys of a pool.
const (
	recordFrame = 256
	poolFrame   = 64
)

func candidatesOf[K comparable](p *NodePlan, at keyField[K], planned fieldPlan[K], recorded map[K]Entry, want map[K]render.Want, deny func(*denials, K)) []candidate {
	var all []candidate
	for key, entry := range planned.record {
		wanted, found := want[key]
		if !found || p.pools.Holds(entry.Pool) {
			continue
		}
		name := fmt.Sprint(key)
		bytes := jsonLen(name) + jsonLen(entry.Value) + 2
		if entry.Before != nil || entry.Adopted {
			bytes += jsonLen(name) + 6
		}
		if entry.Before != nil {
			bytes += jsonLen(*entry.Before)
		}
		before, had := recorded[key]
		all = append(all, candidate{
			field: at.field, key: name, rank: wanted.Rank, pool: entry.Pool, bytes: bytes, recorded: had && before.equal(entry),
			deny: func(d *denials) { deny(d, key) },
		})
	}
	return all
}

func compareCandidates(a, b candidate) int {
	return cmp.Or(cmp.Compare(tier(a.field), tier(b.field)), cmp.Compare(a.rank, b.rank), cmp.Compare(a.key, b.key))
}

// tier is the order in which the fields of a node get room.
func tier(field Field) int {
	return slices.Index([]Field{Taint, Label, Annotation}, field)
}

// jsonLen is at least what a text takes in a record.
func jsonLen(text string) int {
	written, err := json.Marshal(text)
	if err != nil {
		return 6*len(text) + 2 // never: a text always has JSON
	}
	return len(written)
}
