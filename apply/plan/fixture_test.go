package plan

import (
	"maps"
	"slices"
	"sync"

	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// newNode makes a node that the API server has stored.
func newNode(name string) *NodeState {
	return &NodeState{
		Name: name, UID: "uid-of-node", ResourceVersion: "1",
	}
}

// define makes a pool as it stands in a cluster.
func define(name string, spec v1.NodePoolSpec) *v1.NodePool {
	defined.Store(name, true)
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid-of-pool"}, Spec: spec}
	v1.SetNodePoolDefaults(pool)
	return pool
}

func paused(pool *v1.NodePool) *v1.NodePool {
	pool.Annotations = map[string]string{v1.ReconcileAnnotation: v1.Disabled}
	return pool
}

// faulty is a pool of which it is not known what nodes are to follow: they stay as they are.
func faulty(pool *v1.NodePool) *v1.NodePool {
	pool.Spec.Parent = "nobody"
	return pool
}

// The key that the tests are about, in each field.
const key = "example.com/k"

var taintKey = render.TaintID{Key: key, Effect: corev1.TaintEffectNoSchedule}

// keyIn is how plans name the key in a field.
func keyIn(field Field) string {
	if field == Taint {
		return taintKey.String()
	}
	return key
}

// want makes a spec that wants the key to have a value in a field.
func want(field Field, value string) v1.NodePoolSpec {
	switch field {
	case Label:
		return v1.NodePoolSpec{Labels: map[string]v1.LabelValue{key: v1.LabelValue(value)}}
	case Annotation:
		return v1.NodePoolSpec{Annotations: map[string]v1.AnnotationValue{key: v1.AnnotationValue(value)}}
	default:
		return v1.NodePoolSpec{Taints: []v1.Taint{{Key: key, Value: value, Effect: taintKey.Effect}}}
	}
}

// put gives the key a value on a node, or takes it away.
func put(node *NodeState, field Field, value *string) {
	set := func(values *map[string]string) {
		if value == nil {
			delete(*values, key)
			return
		}
		if *values == nil {
			*values = map[string]string{}
		}
		(*values)[key] = *value
	}
	switch field {
	case Label:
		set(&node.Labels)
	case Annotation:
		set(&node.Annotations)
	default:
		node.Taints = slices.DeleteFunc(node.Taints, func(taint corev1.Taint) bool {
			return taint.Key == key && taint.Effect == taintKey.Effect
		})
		if value != nil {
			node.Taints = append(node.Taints, corev1.Taint{Key: key, Value: *value, Effect: taintKey.Effect})
		}
	}
}

// get returns the value of the key on a node.
func get(node *NodeState, field Field) *string {
	var value *string
	switch field {
	case Label:
		value, _ = lookup(node.Labels, key)
	case Annotation:
		value, _ = lookup(node.Annotations, key)
	default:
		value, _ = lookup(taintValues(node.Taints), taintKey)
	}
	return value
}

// recordOf makes a record with one entry, of the key.
func recordOf(field Field, entry Entry) Record {
	switch field {
	case Label:
		return Record{Labels: map[string]Entry{key: entry}}
	case Annotation:
		return Record{Annotations: map[string]Entry{key: entry}}
	default:
		return Record{Taints: map[render.TaintID]Entry{taintKey: entry}}
	}
}

// entryOf returns what a record says of the key.
func entryOf(record Record, field Field) *Entry {
	var entry Entry
	var found bool
	switch field {
	case Label:
		entry, found = record.Labels[key]
	case Annotation:
		entry, found = record.Annotations[key]
	default:
		entry, found = record.Taints[taintKey]
	}
	if !found {
		return nil
	}
	return &entry
}

func setRecord(node *NodeState, record Record) {
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	node.Annotations[v1.AppliedAnnotation] = record.String()
}

// expand works out pools. Other pools that tests have defined are being deleted.
func expand(pools ...*v1.NodePool) *render.Expansion {
	pools = slices.Clone(pools)
	named := byName(pools)
	defined.Range(func(name, _ any) bool {
		if named[name.(string)] == nil {
			pools = append(pools, leaving(&v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name.(string)}}, v1.NodePoolSpec{}))
		}
		return true
	})
	return render.Expand(pools)
}

// defined are the names of the pools that tests have defined.
var defined sync.Map

// body makes an apply configuration of the node, as some other tool sends it.
func body(metadata map[string]any) map[string]any {
	named := map[string]any{"name": "n"}
	maps.Copy(named, metadata)
	return map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": named}
}

// fieldName is where the key stands in the metadata of a node.
func fieldName(field Field) string { return string(field) + "s" }

// cmpEmpty takes nil and empty as the same.
var cmpEmpty = cmpopts.EquateEmpty()

// taintRecord is the entry of one taint, of a key, in a record.
func taintRecord(key string, entry Entry) map[render.TaintID]Entry {
	return map[render.TaintID]Entry{{Key: key, Effect: corev1.TaintEffectNoSchedule}: entry}
}

// conflictsOf are all conflicts of a plan, one for each pool.
func conflictsOf(p *NodePlan) []Conflict {
	var all []Conflict
	for _, conflict := range p.Conflicts {
		all = slices.AppendSeq(all, conflict.All())
	}
	return all
}

func annotate(node *NodeState, key, value string) {
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	node.Annotations[key] = value
}
