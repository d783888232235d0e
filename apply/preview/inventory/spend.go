package inventory

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// A file costs so many values: its own and, where ranges of names and groups of
// pods expand to many objects, those of each object. A value is some 64 bytes
// of memory, or the time to process as much. So a short file cannot use up all
// memory, nor a review of it run all day. Large clusters are far below: see
// TestLargeClusterIsRead.
const (
	maxValues = 8_000_000
	// elementValues is the cost of an element of a section, objectValues that of a
	// map or an object in it, without their content.
	elementValues = 16
	objectValues  = 8
	// nodeValues and podValues are the costs of each node and pod.
	nodeValues = 16
	podValues  = 8
	// workOfValue is how many nodes are matched against a pool or a DaemonSet in
	// the time of one value.
	workOfValue = 16
)

// spend counts values.
func (r *reader) spend(values int) error {
	if r.values -= values; r.values < 0 {
		return fmt.Errorf("the file has more than %d values when its ranges are written out", maxValues)
	}
	return nil
}

// valuesOf returns the cost of a JSON text.
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

// sizeOfScheduling returns the cost of a scheduling.
func sizeOfScheduling(s *Scheduling) int {
	return len(s.NodeSelector) + len(s.Tolerations) + sizeOf(s.Affinity)
}

// sizeOf returns the cost of a copy of an affinity.
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
