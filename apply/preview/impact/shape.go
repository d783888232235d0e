package impact

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// shape is what a pod requires of a node, interned: equal requirements share one shape.
type shape struct {
	asks     inventory.Scheduling
	affinity nodeaffinity.RequiredNodeAffinity
	*tolerance
}

// shape returns the interned shape of a scheduling.
func (w *world) shape(asks inventory.Scheduling) *shape {
	key := shapeKey(asks)
	s := w.shapes[key]
	if s == nil {
		s = &shape{asks: asks, tolerance: w.tolerance(asks.Tolerations)}
		var affinity *corev1.Affinity
		if asks.Affinity != nil {
			affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: asks.Affinity,
			}}
		}
		s.affinity = nodeaffinity.NewRequiredNodeAffinity(asks.NodeSelector, affinity)
		w.shapes[key] = s
	}
	return s
}

// shapeKey returns the same text for pods that require the same of a node.
func shapeKey(asks inventory.Scheduling) string {
	var key strings.Builder
	for _, label := range slices.Sorted(maps.Keys(asks.NodeSelector)) {
		writeTexts(&key, label, asks.NodeSelector[label])
	}
	key.WriteByte('/')
	key.WriteString(tolerationsKey(asks.Tolerations))
	key.WriteByte('/')
	if asks.Affinity != nil {
		// A struct of strings and lists of strings can always be marshalled.
		text, _ := json.Marshal(asks.Affinity)
		key.Write(text)
	}
	return key.String()
}

// writeTexts writes texts unambiguously.
func writeTexts(to *strings.Builder, texts ...string) {
	for _, text := range texts {
		fmt.Fprintf(to, "%d:%s", len(text), text)
	}
}

// matches reports whether the node selector and the required node affinity match.
func (s *shape) matches(at *site) bool {
	// An invalid affinity matches nothing, as in the scheduler.
	matched, _ := s.affinity.Match(at.object)
	return matched
}

// fits reports whether the scheduler accepts the node for the pod, by labels and taints.
func (s *shape) fits(at *site) bool {
	return !s.shutsOut(at.taints) && s.matches(at) && (!at.node.Unschedulable || s.toleratesCordon())
}

// obstacle returns why the pod cannot be scheduled on the node; empty if it
// can. It ignores transient taints of the node.
func (s *shape) obstacle(at *site) Reason {
	if s.shutsOut(at.lasting) {
		untolerated, _ := s.firstUntolerated(at.lasting)
		return Words("does not tolerate ").and(taintReason(&untolerated))
	}
	if s.matches(at) {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(s.asks.NodeSelector)) {
		want := s.asks.NodeSelector[key]
		if have, found := at.node.Labels[key]; !found || have != want {
			return Words("the node has no label ").and(labelReason(key, want))
		}
	}
	return Words("the node does not match the required node affinity")
}
