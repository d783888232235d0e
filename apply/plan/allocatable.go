package plan

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Allocatable is what a node has for pods while none runs there, by resource, rounded up: nodes
// of one kind differ by little, and share the text. It is empty where that is not known.
type Allocatable string

const (
	// maxResources bounds how many resources are kept of a node, and how long their names are.
	maxResources, maxResourceName = 32, 128
	// keptBits are how many bits are kept of a quantity: it is rounded up by 3% at the most.
	keptBits = 6
)

// AllocatableOf returns what a node has for pods. It is not known of a node with more
// resources than a node may have.
func AllocatableOf(resources corev1.ResourceList) Allocatable {
	if len(resources) > maxResources {
		return ""
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(resources)) {
		if len(name) > maxResourceName {
			return ""
		}
		fmt.Fprintf(&text, "%s=%d,", name, roundedUp(amount(name, resources)))
	}
	return Allocatable(text.String())
}

// amount is how much there is of a resource: thousandths of a processor, and units of all else.
func amount(name corev1.ResourceName, resources corev1.ResourceList) int64 {
	quantity := resources[name]
	if name == corev1.ResourceCPU {
		return max(0, quantity.MilliValue())
	}
	return max(0, quantity.Value())
}

func roundedUp(amount int64) int64 {
	dropped := max(0, bits.Len64(uint64(amount))-keptBits)
	if rounded := (amount>>dropped + 1) << dropped; amount&(1<<dropped-1) != 0 && rounded > amount {
		return rounded
	}
	return amount
}

// Holds reports whether a node with nothing on it has room for what a pod requests; where that
// is not known, it does. So it is where a node has none of a resource that a device plugin
// brings: it may be about to start anew.
func (a Allocatable) Holds(requests corev1.ResourceList) bool {
	if a == "" {
		return true
	}
	has := map[corev1.ResourceName]int64{}
	for field := range strings.SplitSeq(string(a), ",") {
		name, text, _ := strings.Cut(field, "=")
		if amount, err := strconv.ParseInt(text, 10, 64); err == nil {
			has[corev1.ResourceName(name)] = amount
		}
	}
	for name := range requests {
		most, known := has[name]
		if wants := amount(name, requests); wants > most && !(known && most == 0 && strings.Contains(string(name), "/")) {
			return false
		}
	}
	return true
}
