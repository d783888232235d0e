package plan

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// worstPool takes as much of a node as validation allows: keys and values of full
// length, and annotations whose every character the record writes in six bytes.
func worstPool() *v1.NodePool {
	prefix := strings.Repeat("p.", 125) + "q%02d/" + strings.Repeat("k", 63)
	spec := v1.NodePoolSpec{Labels: map[string]v1.LabelValue{}, Annotations: map[string]v1.AnnotationValue{}}
	for i := range 64 {
		spec.Labels[fmt.Sprintf(prefix, i)] = v1.LabelValue(strings.Repeat("v", 63))
		if i < 8 {
			spec.Annotations[fmt.Sprint(i)] = v1.AnnotationValue(strings.Repeat("\x01", 1023))
		}
		if i < 32 {
			spec.Taints = append(spec.Taints, v1.Taint{Key: fmt.Sprintf(prefix, i), Value: strings.Repeat("v", 63), Effect: corev1.TaintEffectPreferNoSchedule})
		}
	}
	return onNode(strings.Repeat("n", 63), spec)
}

// What one pool can say leaves more than half of a node's annotations to others,
// the record included.
func TestOnePoolCannotFillANode(t *testing.T) {
	pool := worstPool()
	if problems := v1.ValidateNodePool(pool); len(problems) > 0 {
		t.Fatalf("it is not the worst that is valid: %v", problems.ToAggregate())
	}
	pool.Spec.Annotations["8"] = ""
	if len(v1.ValidateNodePool(pool)) == 0 {
		t.Fatal("a worse one is valid")
	}
	delete(pool.Spec.Annotations, "8")

	node, p := newServer().write(t, newNode("n"), expand(pool))
	if got := len(p.Record.Labels) + len(p.Record.Annotations) + len(p.Record.Taints); got != 65+8+32 {
		t.Fatalf("the record has %d entries", got)
	}
	size := 0
	for key, value := range node.Annotations {
		size += len(key) + len(value)
	}
	if size > 97<<10 || size < 90<<10 {
		t.Errorf("the annotations have %d bytes of %d; the bound is there for at most 97 KiB", size, apivalidation.TotalAnnotationSizeLimitB)
	}
}
