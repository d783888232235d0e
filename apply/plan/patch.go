package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// Patch is one request to the API server.
type Patch struct {
	Type types.PatchType
	Data []byte
}

// Patch writes the plan as the one request that carries it out on the node that
// it was made for.
//
// Where everything of ours stays or is added, that is a server-side apply of
// all that is ours. It carries the whole list of taints, foreign ones as they
// stand, because the list is atomic, and it carries it only while a taint on it
// is ours.
//
// Where something goes, it is a merge patch that names what goes. An apply
// removes what it leaves out, and what we own in the eyes of the API server may
// be more than what the record says: the whole list of taints, for one. So
// removal is always by name, and nothing can go by omission.
//
// Both carry the UID and the resource version: the API server refuses them when
// anybody has changed the node since, and neither can bring a node to life. Where
// somebody does so without a pause, see [NodePlan.TestedPatch].
func (p *NodePlan) Patch(node *NodeState) (Patch, error) {
	kind, body := types.MergePatchType, any(nil)
	if p.removes() || p.omits(node) {
		body = p.mergePatch(node)
	} else {
		kind, body = types.ApplyPatchType, p.applyPatch(node)
	}
	data, err := json.Marshal(body)
	if err != nil {
		return Patch{}, fmt.Errorf("node %q: %w", node.Name, err)
	}
	return Patch{Type: kind, Data: data}, nil
}

// removes reports whether anything goes from the node or is given back.
func (p *NodePlan) removes() bool {
	return p.Record.Empty() || p.labels.removes() || p.annotations.removes() || p.taints.removes()
}

// omits reports whether an apply would leave out a field that our earlier applies
// own and nobody else applies.
func (p *NodePlan) omits(node *NodeState) bool {
	owned := applied(node)
	if owned.Empty() {
		return false
	}
	carried := p.carried(node)
	others := &owners{object: node}
	beyond := false
	// Not a range over All: it panics when it is left early.
	owned.Leaves().Iterate(func(path fieldpath.Path) {
		beyond = beyond || !carried.Has(path) && !others.alsoApplied(path)
	})
	return beyond
}

// carried are the fields of a node that applyPatch writes.
func (p *NodePlan) carried(node *NodeState) *fieldpath.Set {
	carried := fieldpath.NewSet(annotationPath(v1.AppliedAnnotation))
	for key := range p.labels.standing(node, labels) {
		carried.Insert(labelPath(key))
	}
	for key := range p.annotations.standing(node, annotations) {
		carried.Insert(annotationPath(key))
	}
	if len(p.taints.standing(node, taints)) > 0 {
		carried.Insert(taintsPath)
	}
	return carried
}

// nodePatch is the part of a Node that a patch may hold. A nil value in a map,
// and nil taints in a spec, are written as null: in a merge patch that removes.
type nodePatch struct {
	APIVersion string        `json:"apiVersion,omitempty"`
	Kind       string        `json:"kind,omitempty"`
	Metadata   metadataPatch `json:"metadata"`
	Spec       *specPatch    `json:"spec,omitempty"`
}

type metadataPatch struct {
	Name            string             `json:"name,omitempty"`
	UID             types.UID          `json:"uid"`
	ResourceVersion string             `json:"resourceVersion"`
	Labels          map[string]*string `json:"labels,omitempty"`
	Annotations     map[string]*string `json:"annotations,omitempty"`
}

type specPatch struct {
	Taints []corev1.Taint `json:"taints"`
}

func (p *NodePlan) applyPatch(node *NodeState) nodePatch {
	patch := nodePatch{
		APIVersion: "v1",
		Kind:       "Node",
		Metadata: metadataPatch{
			Name:            node.Name,
			UID:             node.UID,
			ResourceVersion: node.ResourceVersion,
			Labels:          pointers(p.labels.standing(node, labels)),
			Annotations:     pointers(p.annotations.standing(node, annotations)),
		},
	}
	record := p.Record.String()
	patch.Metadata.Annotations[v1.AppliedAnnotation] = &record
	if len(p.taints.standing(node, taints)) > 0 {
		patch.Spec = &specPatch{Taints: p.taintList(node.Taints)}
	}
	return patch
}

func (p *NodePlan) mergePatch(node *NodeState) nodePatch {
	patch := nodePatch{Metadata: metadataPatch{
		UID:             node.UID,
		ResourceVersion: node.ResourceVersion,
		Labels:          p.labels.changed,
		Annotations:     make(map[string]*string, len(p.annotations.changed)+1),
	}}
	maps.Copy(patch.Metadata.Annotations, p.annotations.changed)
	if len(p.taints.changed) > 0 {
		patch.Spec = &specPatch{Taints: p.taintList(node.Taints)}
	}
	patch.Metadata.Annotations[v1.AppliedAnnotation] = nil
	if record := p.Record.String(); record != "" {
		patch.Metadata.Annotations[v1.AppliedAnnotation] = &record
	}
	return patch
}

// taintList is the whole list as it shall be: what stands there in its order, each
// taint that does not change to the last field, then the new ones, sorted. One
// that gets another value keeps its age: it comes back as it was when the value
// does. The list is nil when none is left.
func (p *NodePlan) taintList(live []corev1.Taint) []corev1.Taint {
	after := maps.Clone(p.taints.changed)
	var list []corev1.Taint
	for _, taint := range live {
		id := render.TaintID{Key: taint.Key, Effect: taint.Effect}
		value, changed := after[id]
		switch {
		case !changed:
			list = append(list, taint)
		case value != nil:
			taint.Value = *value
			list = append(list, taint)
		}
		delete(after, id)
	}
	var added []corev1.Taint
	for id, value := range after {
		if value != nil {
			added = append(added, corev1.Taint{Key: id.Key, Value: *value, Effect: id.Effect})
		}
	}
	slices.SortFunc(added, render.CompareTaints)
	return append(list, added...)
}

func pointers(values map[string]string) map[string]*string {
	pointed := make(map[string]*string, len(values)+1)
	for key, value := range values {
		pointed[key] = &value
	}
	return pointed
}
