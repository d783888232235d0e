package plan

import (
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
	// ApprovalUsed reports that this was done, so that Approval counts no more.
	ApprovalUsed bool
	// Blocked is a prune that was blocked and not approved since; nil for none. It
	// stays blocked for its pools, however few of them are left, until it is
	// approved, the limit allows all of it, or they are back in the repository.
	Blocked *v1.BlockedPrune
}

// PrunePolicyOf reads the policy of a source, with the defaults of its schema.
func PrunePolicyOf(source *v1.NodePoolSource) PrunePolicy {
	approval := source.Annotations[v1.ApprovePruneAnnotation]
	policy := PrunePolicy{
		Enabled: true, Limit: intstr.FromString(v1.DefaultPruneLimit), Base: int(source.Status.PruneBase),
		Blocked:  source.Status.BlockedPrune,
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
	// Awaited are the names of the other sources that have to be read before, sorted. Soon
	// reports that nobody has to act for that.
	Awaited []string
	Soon    bool
}

func (b *PruneBlock) Error() string {
	return fmt.Sprintf("kept %d of %d pools that are no longer in the repository (%s): %s; %s",
		len(b.Pools), b.Of, strings.Join(b.Pools, ", "), b.Reason, b.Remedy)
}

// kept reports whether somebody has said that the pool must stay, or that it must
// be left alone for now: deleting a paused pool would release its nodes.
func kept(pool *v1.NodePool) bool {
	return v1.IsDisabled(pool, v1.PruneAnnotation) || v1.IsDisabled(pool, v1.ReconcileAnnotation)
}

// block says why the pools that are gone from a revision must be kept, and what is
// to be remembered of that; both are nil where they may go. Nothing is deleted on
// doubt: a revision without a single pool is more likely a wrong path than a wish,
// whoever approves it. Pools that are kept count as well: keeping one must not make
// way for the others. Nor must deleting some by hand, or switching the prune off
// and on again, which is what is remembered for.
func (policy PrunePolicy) block(gone []*v1.NodePool, revision Revision, held int) (*PruneBlock, *v1.BlockedPrune) {
	remembered := policy.Blocked != nil && policy.remembers(gone)
	size := len(gone)
	if remembered {
		size = max(size, int(policy.Blocked.Count))
	}
	awaits := policy.await(revision, held)
	blocked := awaits
	if blocked == nil {
		blocked = policy.refuse(size, len(gone), revision, held)
	}
	if blocked == nil || len(gone) == 0 {
		return nil, nil
	}
	for _, pool := range gone {
		blocked.Pools = append(blocked.Pools, pool.Name)
	}
	record := &v1.BlockedPrune{Count: int32(size), Pools: slices.Clone(blocked.Pools[:min(len(gone), v1.MaxBlockedPrunePools)])}
	switch nothing := !slices.ContainsFunc(gone, func(pool *v1.NodePool) bool { return !kept(pool) }); {
	case policy.Enabled && !nothing && awaits != nil:
		return blocked, policy.Blocked // of how many pools the prune is shows when these are read
	case policy.Enabled && !nothing:
		return blocked, record
	case remembered:
		return nil, record
	default:
		return nil, nil
	}
}

// remembers reports whether one of the pools was blocked before. Of more pools than
// are remembered by name, all count that come after the last of these.
func (policy PrunePolicy) remembers(gone []*v1.NodePool) bool {
	names := policy.Blocked.Pools
	return slices.ContainsFunc(gone, func(pool *v1.NodePool) bool {
		at, found := slices.BinarySearch(names, pool.Name)
		return found || at == len(names) && at >= v1.MaxBlockedPrunePools
	})
}

// await says which other sources have to be read before anything is pruned; nil where none
// has to, or where somebody has approved the prune.
func (policy PrunePolicy) await(revision Revision, held int) *PruneBlock {
	others := revision.unread()
	if len(others) == 0 || policy.approves(revision) {
		return nil
	}
	blocked := &PruneBlock{Of: held, Soon: true, Remedy: "nothing to do, that is found out when it is read"}
	var reasons []string
	for _, other := range others {
		reasons = append(reasons, fmt.Sprintf("source %q, which may have them, %s", other.Name, other.Unread))
		blocked.Awaited, blocked.Soon = append(blocked.Awaited, other.Name), blocked.Soon && other.Soon
	}
	blocked.Reason = strings.Join(reasons, ", and ")
	if !blocked.Soon {
		blocked.Remedy = pruneRemedy + policy.approval(revision) + "; or correct or resume that source"
	}
	return blocked
}

// refuse says why a prune of that size may not be; nil where it may. There is how
// many of its pools are left in the cluster.
func (policy PrunePolicy) refuse(size, there int, revision Revision, held int) *PruneBlock {
	blocked := &PruneBlock{Of: held}
	if policy.Base > 0 {
		blocked.Of = min(held, policy.Base)
	}
	blocked.Of = max(blocked.Of, size) // the base may be older than pools that were made again
	limit, err := intstr.GetScaledValueFromIntOrPercent(&policy.Limit, blocked.Of, true)
	switch {
	case len(revision.Pools) == 0:
		blocked.Reason = "the revision has no pool at all, and the last pool of a source is never pruned"
		blocked.Remedy = "if it is meant, delete the pools with kubectl"
	case err != nil:
		blocked.Reason = fmt.Sprintf("spec.pruneLimit %q cannot be read", policy.Limit.String())
		blocked.Remedy = "correct it"
	case size > limit && !policy.approves(revision):
		blocked.Reason = fmt.Sprintf("the limit is %d (spec.pruneLimit %s)", limit, policy.Limit.String())
		if size > there {
			blocked.Reason += fmt.Sprintf(", and the prune was of %d pools when it was blocked", size)
		}
		blocked.Remedy = policy.remedy(revision)
	default:
		return nil
	}
	return blocked
}
