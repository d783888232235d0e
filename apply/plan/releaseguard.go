package plan

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/nodepools/nodepools/api/command"
	v1 "github.com/nodepools/nodepools/api/v1"
)

// ReleasePolicy says how many nodes a revision may take out of pools.
type ReleasePolicy struct {
	// Limit is a number, or a percentage of the nodes in a pool, rounded up; nil is
	// the default.
	Limit *intstr.IntOrString
	// Approval is the revision that may exceed the limit, once; empty where nobody
	// has approved one.
	Approval string
	// ApprovalUsed reports that it did, so that Approval counts no more.
	ApprovalUsed bool
	// Blocked is the revision that was held back last, by the same limit. It stays so
	// whatever becomes of its nodes, of the rest of the spec, and of newer revisions that
	// are not good; empty where none is.
	Blocked string
	// Applied is the revision that was applied last. What is changed by hand in a
	// pool of it is put back, whatever the limit says, if the pool has followed it before.
	Applied string
}

// ReleasePolicyOf reads the policy of a source.
func ReleasePolicyOf(source *v1.NodePoolSource) ReleasePolicy {
	approval := source.Annotations[v1.ApproveReleaseAnnotation]
	policy := ReleasePolicy{
		Limit: source.Spec.ReleaseLimit, Approval: approval,
		ApprovalUsed: approval != "" && approval == source.Status.LastHandledReleaseApproval,
		Applied:      source.Status.Revision,
	}
	if blocked := source.Status.BlockedRelease; blocked != nil && blocked.Limit == policy.limit() {
		policy.Blocked = blocked.Revision
	}
	return policy
}

// BlockedReleaseOf is what the status of a source has of a revision that is held back, for
// [ReleasePolicyOf].
func BlockedReleaseOf(source *v1.NodePoolSource, revision string) *v1.BlockedRelease {
	return &v1.BlockedRelease{Revision: revision, Limit: ReleasePolicyOf(source).limit()}
}

// exceeded reports whether a revision takes too many nodes. One that is held back already stays
// so where pools have become larger, or too small for a limit.
func (policy ReleasePolicy) exceeded(revision Revision, count, of int) bool {
	if policy.Blocked != "" && policy.Blocked == revision.Name {
		return count > 0
	}
	return exceedsReleaseLimit(policy.limit(), count, of)
}

func (policy ReleasePolicy) limit() intstr.IntOrString {
	return ptr.Deref(policy.Limit, defaultReleaseLimit)
}

func (policy ReleasePolicy) approves(revision Revision) bool {
	return policy.Approval != "" && policy.Approval == revision.Name && !policy.ApprovalUsed
}

// releaseRemedy begins what to do about a revision that is held back.
const releaseRemedy = "correct the revision; "

// remedy says how to carry out a revision that is held back.
func (policy ReleasePolicy) remedy(revision Revision) string {
	const raise = "raise spec.releaseLimit until it is applied"
	switch {
	case revision.Name == "":
		return releaseRemedy + "or, if it is meant, approve it when it is in the repository: the status of its NodePoolSource has the command then"
	case policy.Approval == revision.Name:
		return releaseRemedy + "the approval of this one is used up, and it counts once; if this is meant as well, " + raise
	}
	text := fmt.Sprintf(releaseRemedy+"or, if it is meant, approve revision %s alone with: %s; or %s", quoteApproval(revision.Name),
		command.ApproveSource(revision.Source), raise)
	if policy.Approval != "" {
		text = fmt.Sprintf("the approval that the source has is of %s, and not of this revision; %s", quoteApproval(policy.Approval), text)
	}
	return text
}

// LimitReleases holds the whole revision back where it takes more nodes out of a
// pool than its policy allows, or has a pool want a NoExecute taint on more that do
// not have it, and nobody has approved that. What counts are the nodes that carry
// keys of a pool or are in it, and that would not be in it. Nodes that leave by what
// happens to themselves do not count, nor those whose record cannot be read. A paused
// node counts: it follows when it is resumed, and nothing counts it then. Of the pools
// that are pruned, which have a limit of their own, those nodes count that lose
// something by all of them together, as a part of all that carry anything.
//
// Pools that the revision changes, and that may change, are marked as approved for
// [HeldReleases]. Pools of files that no source has are not limited here: it is
// those who write them that [HeldReleases] is for.
func (p *PoolsPlan) LimitReleases(revision Revision, live []*v1.NodePool, nodes []*NodeState) {
	if revision.Source == "" || len(p.Changes) == 0 {
		return
	}
	held := p.heldBeside(live, nodes)
	losses := p.losses(revision, live, nodes, held)
	p.ReleaseApproved = len(losses) > 0 && revision.Release.approves(revision)
	if len(losses) > 0 && !p.ReleaseApproved {
		limit := revision.Release.limit()
		block := &ReleaseBlock{Losses: losses, Limit: limit.String(), Remedy: revision.Release.remedy(revision)}
		if !revision.AssumeApproved {
			*p = PoolsPlan{Held: block}
			return
		}
		p.Held = block
	}
	p.approveReleases(live, nodes, held)
}

// heldBeside are the pools that the revision does not change, and that are held before it and after
// it. What they say is not carried out with the revision, and neither hides what it does nor adds to
// it. What is held only by what the revision changes around it is part of what that does.
func (p *PoolsPlan) heldBeside(live []*v1.NodePool, nodes []*NodeState) Holds {
	after, changed := p.leaving(live), map[string]bool{}
	named := byName(after)
	for _, change := range p.Changes {
		// A pool of which it changes something else may be held for those around it.
		if pool := named.get(change.Name); pool == nil || Releasing(pool) || differs(pool) || !isCarriedOut(pool) {
			changed[change.Name] = true
		}
	}
	held := countReleases(after, nodes, Holds{}).held()
	maps.DeleteFunc(held, func(name string, _ *ReleaseBlock) bool { return changed[name] })
	if len(held) > 0 {
		before := countReleases(live, nodes, Holds{}).held()
		maps.DeleteFunc(held, func(name string, _ *ReleaseBlock) bool { return before[name] == nil })
	}
	return Holds{Blocked: held}
}

// losses are those of the pools that lose more than the limit allows, sorted.
func (p *PoolsPlan) losses(revision Revision, live []*v1.NodePool, nodes []*NodeState, held Holds) []Loss {
	c := p.countLosses(revision, live, nodes, held)
	var losses []Loss
	for _, pool := range slices.Sorted(maps.Keys(c.leaving)) {
		if loss := c.leaving[pool]; revision.Release.exceeded(revision, loss.Count, c.of[pool]) {
			loss.Of = c.of[pool]
			losses = append(losses, *loss)
		}
	}
	if revision.Release.exceeded(revision, c.deleted.Count, c.carrying) {
		deletes := p.Deletes()
		c.deleted.Pool, c.deleted.Others, c.deleted.Of = deletes[0], len(deletes) > 1, c.carrying
		losses = append(losses, c.deleted)
	}
	if revision.Release.exceeded(revision, c.evicted.Count, len(nodes)) {
		c.evicted.Of = len(nodes)
		losses = append(losses, c.evicted)
	}
	return losses
}

// lossCount is what a revision takes from pools, by pool.
type lossCount struct {
	leaving          map[string]*Loss
	of               map[string]int
	deleted, evicted Loss
	carrying         int
}

func (p *PoolsPlan) countLosses(revision Revision, live []*v1.NodePool, nodes []*NodeState, held Holds) *lossCount {
	after := p.After(live)
	before, then := Expand(live, nodes), held.Expand(after)
	repaired, deleted := p.repaired(revision, after), p.Deletes()
	concerned := p.concerned(repaired, after)
	evictions := evictions{
		evicting: map[string]*v1.NodePool{}, concerned: map[string]*v1.NodePool{}, repaired: repaired,
		said: byName(live), says: byName(after), before: before, then: then,
	}
	for _, pool := range after {
		if !evicts(pool) {
			continue
		}
		evictions.evicting[pool.Name] = pool
		if concerned[pool.Name] {
			evictions.concerned[pool.Name] = pool
		}
	}
	c := &lossCount{leaving: map[string]*Loss{}, of: map[string]int{}, deleted: Loss{Kind: LossDelete}, evicted: Loss{Kind: LossEvict}}
	for _, node := range nodes {
		record, err := readRecord(node)
		if err != nil {
			continue
		}
		seen, carried := record.underlyingLabels(node.Labels), record.Pools()
		was, will := before.Members(node.Name, seen), then.Members(node.Name, seen)
		if !record.Empty() {
			c.carrying++
		}
		if slices.ContainsFunc(deleted, func(pool string) bool { return carried[pool] }) {
			c.deleted.add(node.Name)
		}
		for pool := range concerned {
			member := slices.Contains(was, pool)
			if !member && !carried[pool] {
				continue
			}
			if !member && !before.Holds(pool) { // it leaves anyway
				continue
			}
			c.of[pool]++
			if !slices.Contains(will, pool) && !then.Holds(pool) {
				lossOf(c.leaving, pool, LossLeave).add(node.Name)
			}
		}
		c.evicted.addOf(evictions.come(node, record, seen, was, will), node.Name)
	}
	return c
}

// repaired are the pools that somebody has changed by hand, and that the revision puts back as
// they were carried out, or allowed, before.
func (p *PoolsPlan) repaired(revision Revision, after []*v1.NodePool) map[string]bool {
	repaired := map[string]bool{}
	if revision.Name == "" || revision.Name != revision.Release.Applied {
		return repaired
	}
	named := byName(after)
	for _, change := range p.Changes {
		if change.Live != nil && change.Want != nil && changedByHand(change.Live) && change.restores(named) {
			repaired[change.Name] = true
		}
	}
	return repaired
}

// concerned are the pools whose members the revision decides anew: those that it changes, but
// for those that it repairs, and those within them.
func (p *PoolsPlan) concerned(repaired map[string]bool, after []*v1.NodePool) map[string]bool {
	named, changed := byName(after), map[string]bool{}
	for _, change := range p.Changes {
		if change.Action != Delete && !repaired[change.Name] {
			changed[change.Name] = true
		}
	}
	concerned := maps.Clone(changed)
	for _, pool := range after {
		if named.isNestedInAny(pool.Name, func(outer string) bool { return changed[outer] }) {
			concerned[pool.Name] = true
		}
	}
	return concerned
}

// restores reports whether what is wanted of a pool was carried out before, or allowed. A pool
// that was paused, or within one that was held, when the revision came, was never counted; nor
// was it within what the pools around it have become since. What an earlier version has carried
// out for a source is not known: then it is enough that the edit by hand was carried out.
func (c PoolChange) restores(pools namedPools) bool {
	want, status := Membership(c.Want), c.Live.Status
	switch {
	case status.ObservedMembership == want:
		return true
	case status.ObservedSourceMembership == "":
		return status.ObservedMembership == Membership(c.Live) || c.Live.Annotations[v1.ApproveReleaseAnnotation] == want
	default:
		return status.ObservedSourceMembership == pools.line(c.Want) || c.Live.Annotations[v1.ApproveReleaseAnnotation] == pools.sourceApproval(c.Want)
	}
}

// changedByHand reports whether somebody else has taken over what we applied of a
// pool's membership.
func changedByHand(live *v1.NodePool) bool {
	ours := applied(live)
	if !ours.Has(labelPath(v1.SourceLabel)) {
		return false
	}
	said := map[string]bool{
		"selector": live.Spec.Selector != nil, "nodeNames": len(live.Spec.NodeNames) > 0,
		"parent": live.Spec.Parent != "", "taints": len(live.Spec.Taints) > 0, "priority": live.Spec.Priority != 0,
	}
	others := &owners{object: live}
	for name, set := range said {
		path := fieldPath("spec", name)
		if set && !covers(ours, path) && slices.ContainsFunc(others.all(), func(owner fieldOwner) bool { return covers(owner.fields, path) }) {
			return true
		}
	}
	return false
}

// covers reports whether a set has a field, or something within it.
func covers(set *fieldpath.Set, path fieldpath.Path) bool {
	at := set
	for _, element := range path[:len(path)-1] {
		at = at.WithPrefix(element)
	}
	last := path[len(path)-1]
	return set.Has(path) || !at.WithPrefix(last).Empty()
}

// approveReleases marks those pools that [HeldReleases] would hold, or could when
// nodes change meanwhile, and those whose deletion it would have wait for others.
func (p *PoolsPlan) approveReleases(live []*v1.NodePool, nodes []*NodeState, beside Holds) {
	c := countReleases(p.leaving(live), nodes, beside)
	approve, held := map[string]bool{}, map[string]*ReleaseBlock{}
	c.holdDeparting(held)
	for _, pool := range c.sorted {
		leaves := c.leaving[pool.Name] != nil && len(c.pending[pool.Name]) > 0 && c.carriers[pool.Name] >= v1.MinReleaseLimited
		if !leaves && !(c.evictors[pool.Name] && c.nodes >= v1.MinReleaseLimited) {
			continue
		}
		approve[pool.Name] = true
		for _, outer := range c.pools.unfollowed(pool) {
			if isCarriedOut(outer) { // what a paused one does itself was not counted
				approve[outer.Name] = true
			}
		}
	}
	for i := range p.Changes {
		change := &p.Changes[i]
		switch {
		case change.Action == Delete:
			// A deletion that is not approved is carried out once it is known which others there are,
			// and nodes would have followed the rest of the revision by then.
			change.ApproveRelease = held[change.Name] != nil || c.carried[change.Name] && c.nodes >= v1.MinReleaseLimited
		case approve[change.Name]:
			change.Want.Annotations[v1.ApproveReleaseAnnotation] = c.pools.sourceApproval(change.Want)
			change.rememberAfter()
		}
	}
}

// leaving are the pools as they stand after the changes, and among them those that
// are deleted, as they are while their nodes are released.
func (p *PoolsPlan) leaving(live []*v1.NodePool) []*v1.NodePool {
	pools := p.After(live)
	for _, change := range p.Changes {
		if change.Action == Delete {
			pools = append(pools, change.leaving())
		}
	}
	return pools
}

// leaving is a pool that is deleted while its nodes are released.
func (c PoolChange) leaving() *v1.NodePool {
	pool := c.Live.DeepCopy()
	if pool.DeletionTimestamp.IsZero() {
		pool.DeletionTimestamp = ptr.To(metav1.Unix(0, 0)) // it is not known when that will be
		pool.Generation++
	}
	if c.ApproveRelease {
		metav1.SetMetaDataAnnotation(&pool.ObjectMeta, v1.ApproveReleaseAnnotation, v1.DeletionApproval)
	}
	return pool
}

// keepApproval leaves an approval of the source on a pool for as long as the pool says the
// same: to take it off would be a write of its own.
func keepApproval(live, want *v1.NodePool) {
	if live == nil || live.Annotations[v1.ApproveReleaseAnnotation] == "" || Membership(live) != Membership(want) {
		return
	}
	if applied(live).Has(annotationPath(v1.ApproveReleaseAnnotation)) {
		want.Annotations[v1.ApproveReleaseAnnotation] = live.Annotations[v1.ApproveReleaseAnnotation]
	}
}
