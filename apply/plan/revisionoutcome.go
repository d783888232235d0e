package plan

import (
	"errors"
	"slices"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// RevisionOutcome is what becomes of a revision. The source reconciler executes it and
// reports it in the status of the source, and [Diff] carries it out on what it was
// given.
type RevisionOutcome struct {
	// Plan has the changes of the pools in the order in which they are made, those that
	// are blocked, and those that are kept. It has no changes where the revision is held
	// back, unless an approval is assumed, and is nil where the revision claims pools
	// that are not its source's. One that waits is not carried out, and has what the
	// revision does when its window opens.
	Plan *PoolsPlan
	// Refused is why nothing of the revision is applied: a [*ClaimError], a
	// [*ReleaseBlock] or a [*WindowWait]; nil where it is applied.
	Refused error
	// Recreated are the pools of the revision that are being deleted, sorted. They are
	// created again when they are gone.
	Recreated []string
	// Awaited are the names of the other sources that have to be read before it is known
	// what becomes of pools, sorted.
	Awaited []string
}

// RevisionOf is a revision of a source, with the policies of the source.
func RevisionOf(source *v1.NodePoolSource, name string, pools []render.Definition) Revision {
	return Revision{
		Source: source.Name, SourceUID: source.UID, Name: name, Pools: pools,
		Prune: PrunePolicyOf(source), Release: ReleasePolicyOf(source),
	}
}

// RevisionOutcomeOf decides what becomes of a revision, given the pools and the nodes of
// a cluster. Nodes is called only where the answer depends on them, as there may be very
// many; it is the only source of an error.
func RevisionOutcomeOf(revision Revision, live []*v1.NodePool, nodes func() ([]*NodeState, error)) (RevisionOutcome, error) {
	o := RevisionOutcome{Recreated: recreated(revision, live)}
	p, err := Pools(revision, live)
	if err != nil {
		o.Refused = err
		if claims := (*ClaimError)(nil); errors.As(err, &claims) {
			o.Awaited = claims.awaited()
		}
		return o, nil
	}
	o.Plan = p
	if p.Blocked != nil {
		o.Awaited = p.Blocked.Awaited
	}
	if revision.Wait.standing() {
		p.postponeDeletes(revision)
	}
	// What is blocked may be approved, and what is being deleted be created again, when
	// the revision counts as applied.
	changes := len(p.Changes) > 0 || p.Blocked != nil || len(o.Recreated) > 0
	if p.Number > 0 { // or else nodes follow what they do
		all, err := nodes()
		if err != nil {
			return RevisionOutcome{}, err
		}
		p.Guard(revision, live, all)
	}
	switch {
	case p.Held != nil && !revision.AssumeApproved:
		o.Refused = p.Held // reported before its time, so that it can be approved
	case changes && revision.Wait != nil && !revision.Wait.Standing:
		o.Refused = revision.Wait
	}
	return o, nil
}

// recreated are the pools of a revision that are being deleted, sorted.
func recreated(revision Revision, live []*v1.NodePool) []string {
	wanted := make(map[string]bool, len(revision.Pools))
	for _, definition := range revision.Pools {
		wanted[definition.Pool.Name] = true
	}
	var names []string
	for _, pool := range live {
		if wanted[pool.Name] && !pool.DeletionTimestamp.IsZero() {
			names = append(names, pool.Name)
		}
	}
	slices.Sort(names)
	return names
}

// ConfirmsSource reports whether the source has to be confirmed to be as the API server
// has it before any change is made: pools are deleted, or an approval is used. An
// approval may be used up, or a limit be set, that a cache has not seen yet.
func (p *PoolsPlan) ConfirmsSource() bool { return len(p.Deletes()) > 0 || p.ReleaseApproved }

// Remember writes into the status of a source what later plans go by when the changes
// are made: see [PrunePolicyOf] and [ReleasePolicyOf]. Approved are the pools that this
// process has deleted at the revision because that was approved.
func (p *PoolsPlan) Remember(source *v1.NodePoolSource, revision string, approved []string, status *v1.NodePoolSourceStatus) {
	status.Revision, status.ShortRevision = revision, v1.ShortRevision(revision)
	status.BlockedPrune, status.BlockedRelease = p.BlockedPrune, nil
	status.ApprovedPrune = approvedPrune(source.Status.ApprovedPrune, revision, approved)
	if p.Blocked == nil {
		status.PruneBase = int32(p.OwnedAfter)
	}
	if p.UsesUpApproval() {
		status.LastHandledPruneApproval = revision
	}
	approval := source.Annotations[v1.ApproveReleaseAnnotation]
	if approval != "" && approval == revision && len(p.Postponed) == 0 {
		status.LastHandledReleaseApproval = approval
	}
}

// approvedPrune is what was deleted at a revision because that was approved. A process
// that has just begun did not see it, and keeps what its predecessor has written.
func approvedPrune(before *v1.ApprovedPrune, revision string, deleted []string) *v1.ApprovedPrune {
	switch {
	case len(deleted) > 0:
		return &v1.ApprovedPrune{Revision: revision, Count: int32(len(deleted)), Pools: deleted[:min(len(deleted), v1.MaxApprovedPrunePools)]}
	case before != nil && before.Revision == revision:
		return before
	}
	return nil
}
