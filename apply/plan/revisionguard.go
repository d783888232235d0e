package plan

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/nodepools/nodepools/api/command"
	v1 "github.com/nodepools/nodepools/api/v1"
)

// ReleasePolicy says how many nodes a revision may take out of pools.
type ReleasePolicy struct {
	// Limit is a number, or a percentage of the nodes in a pool; nil is
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
}

// ReleasePolicyOf reads the policy of a source.
func ReleasePolicyOf(source *v1.NodePoolSource) ReleasePolicy {
	approval := source.Annotations[v1.ApproveReleaseAnnotation]
	policy := ReleasePolicy{
		Limit: source.Spec.ReleaseLimit, Approval: approval,
		ApprovalUsed: approval != "" && approval == source.Status.LastHandledReleaseApproval,
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
	switch {
	case revision.Name == "":
		return releaseRemedy + "or, if it is meant, approve it when it is in the repository: the status of its NodePoolSource has the command then"
	case policy.Approval == revision.Name:
		return releaseRemedy + "the approval of this one is used up, and it counts once; if this is meant as well, push another commit, and approve that"
	}
	text := fmt.Sprintf(releaseRemedy+"or, if it is meant, approve revision %s alone with: %s", quoteApproval(revision.Name), command.ApproveSource(revision.Source))
	if policy.Approval != "" {
		text = fmt.Sprintf("the approval that the source has is of %s, and not of this revision; %s", quoteApproval(policy.Approval), text)
	}
	return text
}

// Guard holds the whole revision back where it takes more nodes than its policy allows, and
// nobody has approved that: see [proposal]. Paused pools count as if they followed, which they do
// when they are resumed, and nothing counts it then. Files that no source has are judged as what
// is written by hand: see [Accept].
func (p *PoolsPlan) Guard(revision Revision, live []*v1.NodePool, nodes []*NodeState) {
	if p.Number == 0 {
		return
	}
	judged := proposal{before: revision.Numbers.AllAccepted(live), changed: map[string]bool{}, limit: revision.Release.Limit}
	then := byName(judged.before)
	for _, change := range p.Changes {
		if change.Action == Delete {
			then[change.Name] = leaving(change.Live, acceptedSpec(change.Live))
		} else {
			as := *change.After()
			as.DeletionTimestamp = nil
			then[change.Name] = &as
		}
		judged.changed[change.Name] = true
	}
	judged.after = slices.Collect(maps.Values(then))
	o := judged.outcomeOn(nodes)
	losses := judged.losses(o)
	if blocked := revision.Release.Blocked; blocked != "" && blocked == revision.Name && len(losses) == 0 {
		losses = o.all() // it stays held back, whatever becomes of its nodes
	}
	block := judged.block(losses)
	p.ReleaseApproved = block != nil && revision.Release.approves(revision)
	if block == nil || p.ReleaseApproved {
		return
	}
	block.Remedy = revision.Release.remedy(revision)
	if !revision.AssumeApproved {
		*p = PoolsPlan{}
	}
	p.Held = block
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
	pool := leaving(c.Live.DeepCopy(), c.Live.Spec)
	if c.Drops != "" {
		metav1.SetMetaDataAnnotation(&pool.ObjectMeta, v1.RevisionNumberAnnotation, c.Drops)
	}
	if c.ApproveRelease {
		metav1.SetMetaDataAnnotation(&pool.ObjectMeta, v1.ApproveReleaseAnnotation, v1.DeletionApproval)
	}
	return pool
}
