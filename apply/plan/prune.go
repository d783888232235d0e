package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// PrunePolicy says how many pools a revision may delete.
type PrunePolicy struct {
	// Enabled is false where pools that vanish are always kept.
	Enabled bool
	// Limit is a number, or a percentage of the source's pools in the cluster,
	// rounded up so that one pool can always go. The last pool never goes.
	Limit intstr.IntOrString
	// Base bounds how many pools a percentage is of: those that the source had
	// when nothing was held back. Else a revision that is held back would make
	// way for itself by the pools that it adds. 0 is no bound.
	Base int
	// Approval is the revision that may delete more than Limit, once; empty where
	// nobody has approved one.
	Approval string
	// ApprovalUsed tells that this was done, so that Approval counts no more.
	ApprovalUsed bool
}

// PrunePolicyOf reads the policy of a source, with the defaults of its schema.
func PrunePolicyOf(source *v1.NodePoolSource) PrunePolicy {
	approval := source.Annotations[v1.ApprovePruneAnnotation]
	policy := PrunePolicy{
		Enabled: true, Limit: intstr.FromString(v1.DefaultPruneLimit), Base: int(source.Status.PruneBase),
		Approval: approval, ApprovalUsed: approval != "" && approval == source.Status.LastHandledPruneApproval,
	}
	if source.Spec.Prune != nil {
		policy.Enabled = *source.Spec.Prune
	}
	if source.Spec.PruneLimit != nil {
		policy.Limit = *source.Spec.PruneLimit
	}
	return policy
}

// PruneBlock says which pools are kept although they vanished.
type PruneBlock struct {
	// Pools that would have been deleted, sorted.
	Pools []string
	// Of is how many pools the source had in the cluster when nothing was held
	// back.
	Of     int
	Reason string
	// Remedy says how they can be deleted all the same.
	Remedy string
}

func (b *PruneBlock) Error() string {
	return fmt.Sprintf("kept %d of %d pools that are no longer in the repository (%s): %s; %s",
		len(b.Pools), b.Of, strings.Join(b.Pools, ", "), b.Reason, b.Remedy)
}

// HeldAfter is how many pools the source has in the cluster when the changes are
// made.
func (p *PoolsPlan) HeldAfter(source string, live []*v1.NodePool) int {
	return held(source, p.After(live))
}

// held is how many pools a source has in the cluster.
func held(source string, live []*v1.NodePool) int {
	count := 0
	for _, pool := range live {
		if pool.Labels[v1.SourceLabel] == source && pool.DeletionTimestamp.IsZero() {
			count++
		}
	}
	return count
}

// orphans are the pools of the source that its revision no longer has, sorted by
// name.
func orphans(revision Revision, live map[string]*v1.NodePool) []*v1.NodePool {
	if !revision.Prune.Enabled {
		return nil
	}
	wanted := make(map[string]bool, len(revision.Pools))
	for _, definition := range revision.Pools {
		wanted[definition.Pool.Name] = true
	}
	var gone []*v1.NodePool
	for _, pool := range live {
		ours := pool.Labels[v1.SourceLabel] == revision.Source && pool.DeletionTimestamp.IsZero()
		if ours && !wanted[pool.Name] {
			gone = append(gone, pool)
		}
	}
	slices.SortFunc(gone, func(a, b *v1.NodePool) int { return cmp.Compare(a.Name, b.Name) })
	return gone
}

// kept tells whether somebody has said that the pool must stay, or that it must
// be left alone for now: deleting a paused pool would release its nodes.
func kept(pool *v1.NodePool) bool {
	return v1.IsDisabled(pool, v1.PruneAnnotation) || v1.IsDisabled(pool, v1.ReconcileAnnotation)
}

// block says why the pools that are gone from a revision must be kept; it is
// nil where they may go. Nothing is deleted on doubt: a revision without a
// single pool is more likely a wrong path than a wish, whoever approves it. Pools
// that are kept count as well: keeping one must not make way for the others.
func (policy PrunePolicy) block(gone []*v1.NodePool, revision Revision, held int) *PruneBlock {
	blocked := &PruneBlock{Of: held}
	if policy.Base > 0 {
		blocked.Of = min(held, policy.Base)
	}
	limit, err := intstr.GetScaledValueFromIntOrPercent(&policy.Limit, blocked.Of, true)
	switch {
	case !slices.ContainsFunc(gone, func(pool *v1.NodePool) bool { return !kept(pool) }):
		return nil
	case len(revision.Pools) == 0:
		blocked.Reason = "the revision has no pool at all, and the last pool of a source is never pruned"
		blocked.Remedy = "if it is meant, delete the pools with kubectl"
	case err != nil:
		blocked.Reason = fmt.Sprintf("spec.pruneLimit %q cannot be read", policy.Limit.String())
		blocked.Remedy = "correct it"
	case len(gone) > limit && !policy.approves(revision):
		blocked.Reason = fmt.Sprintf("the limit is %d (spec.pruneLimit %s)", limit, policy.Limit.String())
		blocked.Remedy = policy.remedy(revision)
	default:
		return nil
	}
	for _, pool := range gone {
		blocked.Pools = append(blocked.Pools, pool.Name)
	}
	return blocked
}
