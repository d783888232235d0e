package v1

import "time"

// The defaults that the schema sets.
const (
	DefaultInterval   = time.Minute
	DefaultPruneLimit = "30%"
	// DefaultReleaseLimit also counts for pools that no source has.
	DefaultReleaseLimit = "50%"
)

// IsRolloutPolicy reports whether a pool sets a rollout, and no labels, annotations, taints
// or handler. Such a pool says when the changes of other pools reach its nodes, and nothing
// else: it puts no role label on nodes, and has no RuntimeClass.
func (p *NodePool) IsRolloutPolicy() bool {
	spec := &p.Spec
	return spec.Rollout != nil && len(spec.Labels)+len(spec.Annotations)+len(spec.Taints) == 0 && spec.Handler == ""
}

// SetNodePoolDefaults fills in what the API server would fill in, so that a
// pool from a file compares equal to the same pool in the cluster. The handler
// has no default here: an empty one is inherited from the parent.
func SetNodePoolDefaults(pool *NodePool) {
	if pool.Spec.ConflictPolicy == "" {
		pool.Spec.ConflictPolicy = ReportConflicts
	}
}
