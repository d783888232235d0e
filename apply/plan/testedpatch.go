package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// TestedPatch writes the plan as a JSON patch that names no resource version. Instead it
// tests the UID, that nobody has paused the node, and whatever it changes: the record, the
// taints, and the value of each label and annotation. So whoever writes something else on
// the node cannot make the API server refuse it: that applies it anew to what the other one
// has written.
//
// It does not test who else applies a key, which [NodePlan.Patch] does by the resource
// version. That matters of no key in the [NodePlan.Walls].
func (p *NodePlan) TestedPatch(node *NodeState) (Patch, error) {
	b := patchBuilder{tests: []operation{{Op: "test", Path: "/metadata/uid", Value: node.UID}}}
	if len(node.Annotations) > 0 { // else the map is tested
		b.test("/metadata/annotations", node.Annotations, v1.ReconcileAnnotation)
	}
	b.values("/metadata/labels", node.Labels, p.labels.changed)
	annotations := maps.Clone(p.annotations.changed)
	if annotations == nil {
		annotations = map[string]*string{}
	}
	annotations[v1.AppliedAnnotation] = nil
	if record := p.Record.String(); record != "" {
		annotations[v1.AppliedAnnotation] = &record
	}
	b.values("/metadata/annotations", node.Annotations, annotations)
	if len(p.taints.changed) > 0 {
		var before, after any
		if len(node.Taints) > 0 {
			before = node.Taints
		}
		if taints := p.taintList(node.Taints); len(taints) > 0 {
			after = taints
		}
		b.value("/spec/taints", before, after)
	}
	data, err := json.Marshal(slices.Concat(b.tests, b.changes))
	if err != nil {
		return Patch{}, fmt.Errorf("node %q: %w", node.Name, err)
	}
	return Patch{Type: types.JSONPatchType, Data: data}, nil
}

// operation is one of a JSON patch. A test for null is one for a value that is not there.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// patchBuilder collects the operations of a JSON patch.
type patchBuilder struct{ tests, changes []operation }

// values replaces values in a map; nil for one that goes.
func (b *patchBuilder) values(path string, live map[string]string, changed map[string]*string) {
	if len(live) == 0 { // and there may be no map
		added := map[string]string{}
		for key, value := range changed {
			if value != nil {
				added[key] = *value
			}
		}
		if len(added) > 0 {
			b.value(path, nil, added)
		}
		return
	}
	for _, key := range slices.Sorted(maps.Keys(changed)) {
		at := b.test(path, live, key)
		if value := changed[key]; value != nil {
			b.changes = append(b.changes, operation{Op: "add", Path: at, Value: *value}) // which replaces what there is
		} else if _, stands := live[key]; stands {
			b.changes = append(b.changes, operation{Op: "remove", Path: at})
		}
	}
}

// test tests that a key of a map is as it is, and returns the path to it.
func (b *patchBuilder) test(path string, live map[string]string, key string) (at string) {
	at = path + "/" + pointerEscapes.Replace(key)
	var value any
	if text, stands := live[key]; stands {
		value = text
	}
	b.tests = append(b.tests, operation{Op: "test", Path: at, Value: value})
	return at
}

// value replaces a value, or nothing, by another one, or nothing.
func (b *patchBuilder) value(path string, before, after any) {
	b.tests = append(b.tests, operation{Op: "test", Path: path, Value: before})
	if after != nil {
		b.changes = append(b.changes, operation{Op: "add", Path: path, Value: after})
	} else if before != nil {
		b.changes = append(b.changes, operation{Op: "remove", Path: path})
	}
}

// pointerEscapes escapes a key for a JSON pointer.
var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")
