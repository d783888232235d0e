package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// keyField is where on a node the keys of one field stand, and how they are read.
type keyField[K comparable] struct {
	field Field
	// value of a key on a node.
	value func(*NodeState, K) (string, bool)
	// path of what managed fields say of a key, and whether that is the key alone.
	path  func(K) fieldpath.Path
	alone bool
	// reportOnly reports whether a key belongs to another program, so that pools
	// never take it; nil where that is so of none.
	reportOnly func(K) bool
}

var (
	labels = keyField[string]{
		field: Label, path: labelPath, alone: true, reportOnly: v1.ReportOnlyLabel,
		value: func(node *NodeState, key string) (string, bool) {
			value, found := node.Labels[key]
			return value, found
		},
	}
	annotations = keyField[string]{
		field: Annotation, path: annotationPath, alone: true,
		value: func(node *NodeState, key string) (string, bool) {
			value, found := node.Annotations[key]
			return value, found
		},
	}
	// The taints of a node are one atomic list: nobody owns one alone.
	taints = keyField[render.TaintID]{
		field: Taint, path: func(render.TaintID) fieldpath.Path { return taintsPath }, value: taintValue,
		reportOnly: func(id render.TaintID) bool { return v1.ReportOnlyTaint(id.Key) },
	}
)

// taintValue looks through the list, which is short: to index it would cost more.
func taintValue(node *NodeState, id render.TaintID) (string, bool) {
	for _, taint := range slices.Backward(node.Taints) {
		if taint.Key == id.Key && taint.Effect == id.Effect {
			return taint.Value, true
		}
	}
	return "", false
}

func taintValues(taints []corev1.Taint) map[render.TaintID]string {
	values := make(map[render.TaintID]string, len(taints))
	for _, taint := range taints {
		values[render.TaintID{Key: taint.Key, Effect: taint.Effect}] = taint.Value
	}
	return values
}
