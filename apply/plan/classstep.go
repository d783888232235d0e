package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"

	"github.com/nodepools/nodepools/render"
)

// ClassStep is what a node has that waits, and that differs from what its pools want by
// now. RuntimeClasses select and tolerate what such nodes have as well: pods that name one
// can be scheduled as they could before.
type ClassStep struct {
	// Pools are those whose RuntimeClasses have to do with it, sorted: the node is in them,
	// and carries keys of them already. A node that only enters a pool has nothing that
	// the RuntimeClass has selected, and by a label of its own must not widen it.
	Pools []string
	// Labels are the keys that have not got their value yet, sorted.
	Labels []string
	// Taints stand there, and go or change later; sorted.
	Taints []StandingTaint
}

// StandingTaint is a taint, and the pool that has put it there.
type StandingTaint struct {
	Pool, Value string
	render.TaintID
}

// String is the same for steps that are equal, and for no others.
func (s *ClassStep) String() string { return fmt.Sprintf("%q %q %v", s.Pools, s.Labels, s.Taints) }

// Equal reports whether two steps say the same; nil says nothing.
func (s *ClassStep) Equal(other *ClassStep) bool {
	return s == other || s != nil && other != nil && slices.Equal(s.Pools, other.Pools) && slices.Equal(s.Labels, other.Labels) && slices.Equal(s.Taints, other.Taints)
}

// stepOf is what a node keeps for now of which a full plan makes something else; nil where
// that makes no difference to RuntimeClasses.
func stepOf(node *NodeState, full, allowed *NodePlan) *ClassStep {
	if full == allowed {
		return nil
	}
	step := &ClassStep{}
	now := allowed.labelsAfter(node.Labels)
	for key, value := range full.labelsAfter(node.Labels) {
		if stands, found := now[key]; !found || stands != value {
			step.Labels = append(step.Labels, key)
		}
	}
	for id, entry := range allowed.Record.Taints {
		if now, stays := full.Record.Taints[id]; !stays || now.Value != entry.Value {
			step.Taints = append(step.Taints, StandingTaint{entry.Pool, entry.Value, id})
		}
	}
	carried := full.recorded.Pools()
	step.Pools = slices.DeleteFunc(slices.Clone(full.Pools), func(pool string) bool { return !carried[pool] })
	if len(step.Labels)+len(step.Taints) == 0 || len(step.Pools) == 0 {
		return nil
	}
	slices.Sort(step.Labels)
	slices.SortFunc(step.Taints, func(a, b StandingTaint) int {
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
	return step
}

// steppedClass is the RuntimeClass of a pool while nodes wait: it does not select what
// some have not got yet, but always the role label of the pool, and it tolerates what
// stands there still of the pool and those around it, and of others what it tolerates
// already: a pool around it may have been there before. Live is what stands in the cluster;
// nil for nothing.
func steppedClass(live, want *nodev1.RuntimeClass, role string, line []string, steps []*ClassStep) *nodev1.RuntimeClass {
	if len(steps) == 0 {
		return want
	}
	stepped := want.DeepCopy()
	for _, step := range steps {
		maps.DeleteFunc(stepped.Scheduling.NodeSelector, func(key, _ string) bool {
			return key != role && slices.Contains(step.Labels, key)
		})
		for _, standing := range step.Taints {
			tolerated := render.Toleration(corev1.Taint{Key: standing.Key, Value: standing.Value, Effect: standing.Effect})
			known := live != nil && live.Scheduling != nil && slices.Contains(live.Scheduling.Tolerations, tolerated)
			if (known || slices.Contains(line, standing.Pool)) && !slices.Contains(stepped.Scheduling.Tolerations, tolerated) {
				stepped.Scheduling.Tolerations = append(stepped.Scheduling.Tolerations, tolerated)
			}
		}
	}
	return stepped
}
