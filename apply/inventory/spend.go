package inventory

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// A file is worth so many values: what it says in words and, where ranges of names
// and pods that are alike say it of many, of each of these. One is some 64 bytes of
// memory, or as long as it takes to look at as much. So a short file cannot take all
// memory, nor a review of it all day. Large clusters are far below:
// TestLargeClusterIsRead says how far.
const (
	maxValues = 8_000_000
	// elementValues is what an element of a section is worth, objectValues what a
	// map or an object in it is, besides what these hold.
	elementValues = 16
	objectValues  = 8
	// nodeValues and podValues are those of each node and pod.
	nodeValues = 16
	podValues  = 8
	// workOfValue is how many nodes are asked, whether a pool or the pod of a
	// DaemonSet is for them, in the time of one.
	workOfValue = 16
)

// spend counts values.
func (r *reader) spend(values int) error {
	if r.values -= values; r.values < 0 {
		return fmt.Errorf("the file has more than %d values when its ranges are written out", maxValues)
	}
	return nil
}

// valuesOf counts what a text in JSON is worth.
func valuesOf(text []byte) int {
	values := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i += stringEnd(text[i:]) - 1
		case '{':
			values += objectValues
		case '[', ',', ':':
			values++
		}
	}
	return values
}

// size counts what pods ask for.
func (s *Scheduling) size() int {
	return len(s.NodeSelector) + len(s.Tolerations) + sizeOf(s.Affinity)
}

// sizeOf counts what a copy of an affinity takes.
func sizeOf(affinity *corev1.NodeSelector) int {
	if affinity == nil {
		return 0
	}
	size := 1
	for i := range affinity.NodeSelectorTerms {
		term := &affinity.NodeSelectorTerms[i]
		for _, requirements := range [][]corev1.NodeSelectorRequirement{term.MatchExpressions, term.MatchFields} {
			for j := range requirements {
				size += 2 + len(requirements[j].Values)
			}
		}
		size++
	}
	return size
}
