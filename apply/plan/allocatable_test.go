package plan

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func resources(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

// A node never seems to have less than it has, and no more than a little more.
func TestAllocatableHolds(t *testing.T) {
	node := AllocatableOf(resources("cpu", "3920m", "memory", "16205812Ki", "pods", "110", "nvidia.com/gpu", "8", "example.com/gone", "0"))
	for name, c := range map[string]struct {
		requests corev1.ResourceList
		want     bool
	}{
		"nothing":                      {nil, true},
		"all of it":                    {resources("cpu", "3920m", "memory", "16205812Ki", "nvidia.com/gpu", "8"), true},
		"more processors":              {resources("cpu", "4100m"), false},
		"more memory":                  {resources("memory", "17Gi"), false},
		"more devices":                 {resources("nvidia.com/gpu", "9"), false},
		"devices of another kind":      {resources("amd.com/gpu", "1"), false},
		"none of them":                 {resources("amd.com/gpu", "0"), true},
		"devices whose plugin is gone": {resources("example.com/gone", "1"), true},
	} {
		if got := node.Holds(c.requests); got != c.want {
			t.Errorf("%s: %t; the node has %s", name, got, node)
		}
		if !Allocatable("").Holds(c.requests) {
			t.Errorf("%s: it is not known what the node has, and it does not hold it", name)
		}
	}
	for amount := int64(0); amount < 1<<62; amount += 1 + amount/7 {
		if rounded := roundedUp(amount); rounded < amount || float64(rounded) > 1.04*float64(amount) {
			t.Errorf("%d is rounded to %d", amount, rounded)
		}
	}
	many := corev1.ResourceList{}
	for i := range maxResources + 1 {
		many[corev1.ResourceName(fmt.Sprintf("example.com/r%d", i))] = resource.MustParse("1")
	}
	if got := AllocatableOf(many); got != "" {
		t.Errorf("%d resources are kept as %s", len(many), got)
	}
}
