package impact

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// feasible reports whether a node is feasible for the pod afterwards, by labels and
// taints. None is for a pod that is refused.
func (w *world) feasible(pod *next) bool {
	if pod.shape == nil {
		return false
	}
	asked := query{pod.shape, pod.wanted}
	found, known := w.feasibility[asked]
	if !known {
		found = w.findFeasible(asked)
		w.feasibility[asked] = found
	}
	return found
}

// query is for nodes that accept such a pod and, for a DaemonSet, on which its
// controller wants one.
type query struct{ pod, wanted *shape }

func (w *world) findFeasible(asked query) bool {
	if w.index == nil {
		w.index = newIndex(w.nodes)
	}
	for _, at := range w.index.candidates(asked.pod) {
		if asked.pod.fits(at) && (asked.wanted == nil || asked.wanted.fits(at)) {
			return true
		}
	}
	return false
}

// index finds nodes by what a pod selects, so that not every node is matched.
type index struct {
	all     []*site
	byName  map[string]*site
	byLabel map[label][]*site
	// byKey has the nodes with a label of any value, for keys that were looked up.
	byKey map[string][]*site
}

type label struct{ key, value string }

func newIndex(nodes []*site) *index {
	x := &index{all: nodes, byName: make(map[string]*site, len(nodes)), byLabel: map[label][]*site{}, byKey: map[string][]*site{}}
	for _, at := range nodes {
		x.byName[at.node.Name] = at
		for key, value := range at.node.Labels {
			x.byLabel[label{key, value}] = append(x.byLabel[label{key, value}], at)
		}
	}
	return x
}

// candidates returns a superset of the nodes that match.
func (x *index) candidates(s *shape) []*site {
	fewest := x.all
	for key, value := range s.asks.NodeSelector {
		if some := x.byLabel[label{key, value}]; len(some) < len(fewest) {
			fewest = some
		}
	}
	if s.asks.Affinity != nil {
		if some, bounded := x.ofTerms(s.asks.Affinity.NodeSelectorTerms); bounded && len(some) < len(fewest) {
			fewest = some
		}
	}
	return fewest
}

// having returns the nodes that have the label, with any value.
func (x *index) having(key string) []*site {
	some, known := x.byKey[key]
	if !known {
		for _, at := range x.all {
			if _, found := at.node.Labels[key]; found {
				some = append(some, at)
			}
		}
		x.byKey[key] = some
	}
	return some
}

// ofTerms returns candidates for any of the terms; they are unbounded where a
// term only excludes nodes.
func (x *index) ofTerms(terms []corev1.NodeSelectorTerm) (some []*site, bounded bool) {
	for i := range terms {
		if len(terms[i].MatchExpressions)+len(terms[i].MatchFields) == 0 {
			continue // matches nothing
		}
		ofTerm, bounded := x.ofTerm(&terms[i])
		if !bounded {
			return nil, false
		}
		some = append(some, ofTerm...)
	}
	return some, true
}

func (x *index) ofTerm(term *corev1.NodeSelectorTerm) (some []*site, bounded bool) {
	for _, field := range term.MatchFields {
		if field.Key != metav1.ObjectNameField || field.Operator != corev1.NodeSelectorOpIn {
			continue
		}
		for _, name := range field.Values {
			if at := x.byName[name]; at != nil {
				some = append(some, at)
			}
		}
		return some, true
	}
	for _, expression := range term.MatchExpressions {
		var ofExpression []*site
		switch expression.Operator {
		case corev1.NodeSelectorOpIn:
			for _, value := range expression.Values {
				ofExpression = append(ofExpression, x.byLabel[label{expression.Key, value}]...)
			}
		case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
			ofExpression = x.having(expression.Key)
		default:
			continue // only excludes nodes
		}
		if !bounded || len(ofExpression) < len(some) {
			some, bounded = ofExpression, true
		}
	}
	return some, bounded
}
