package plan

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodepools/nodepools/api/command"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// Acceptance says which pools nodes follow, and what is to be accepted of what pools say
// beyond that.
type Acceptance struct {
	// Gathers reports that deletions wait until it is known which others there are.
	Gathers bool
	// Pools are those that nodes follow, as they follow them: see [Numbers.Accepted].
	Pools []*v1.NodePool
	// accepts are the names of the pools that are accepted as they are, by hand; pending are
	// those of which something is not accepted.
	accepts map[string]bool
	pending map[string]*Pending
}

// Pending is why nodes do not follow what a pool says: they follow what it said when it was
// accepted last.
type Pending struct {
	Reason PendingReason
	// Block is what waits for an approval, where that is the reason.
	Block *ReleaseBlock
	// Problem is what is wrong with the pool, where that is the reason.
	Problem error
}

// Equal reports whether two pools wait for the same.
func (p *Pending) Equal(other *Pending) bool {
	if p == nil || other == nil {
		return p == other
	}
	return p.Reason == other.Reason
}

// PendingReason is why what a pool says is not accepted.
type PendingReason string

// The reasons.
const (
	// PendingPaused: the annotation of the pool pauses it.
	PendingPaused PendingReason = "paused"
	// PendingInvalid: it cannot be carried out.
	PendingInvalid PendingReason = "invalid"
	// PendingApproval: more nodes than the limit allows would leave a pool or be evicted from.
	PendingApproval PendingReason = "approval"
	// PendingRevision: the rest of its revision is still to be written.
	PendingRevision PendingReason = "revision"
	// PendingOthers: others are accepted before, or it is not known yet which other pools are
	// being deleted.
	PendingOthers PendingReason = "others"
)

// Accepts reports whether a pool is accepted as it is now, once status.accepted says so.
func (a *Acceptance) Accepts(pool string) bool { return a.accepts[pool] }

// Pending is why nodes do not follow what a pool says; nil where they do.
func (a *Acceptance) Pending(pool string) *Pending {
	if a == nil {
		return nil
	}
	return a.pending[pool]
}

// Blocks are what waits for an approval, by pool.
func (a *Acceptance) Blocks() map[string]*ReleaseBlock {
	blocks := map[string]*ReleaseBlock{}
	for name, pending := range a.pending {
		if pending.Block != nil {
			blocks[name] = pending.Block
		}
	}
	return blocks
}

// AcceptFacts are what a controller knows besides what stands in the cluster.
type AcceptFacts struct {
	// Deleting is set where pools were deleted so lately that others may follow.
	Deleting bool
	// DefinitionGoes is set where their CustomResourceDefinition is being deleted, and all pools
	// with it.
	DefinitionGoes bool
}

// NeedsNodes reports whether [Accept] depends on nodes: something was written by hand.
func NeedsNodes(pools []*v1.NodePool, numbers Numbers) bool {
	return slices.ContainsFunc(pools, func(pool *v1.NodePool) bool { return numbers.byHand(pool, numbers.Accepted(pool)) })
}

// DeletesByHand reports whether the deletion of a pool is still to be accepted.
func DeletesByHand(pools []*v1.NodePool, numbers Numbers) bool {
	return slices.ContainsFunc(pools, func(pool *v1.NodePool) bool {
		return !pool.DeletionTimestamp.IsZero() && numbers.byHand(pool, numbers.Accepted(pool))
	})
}

// byHand reports whether a pool says something that was written by hand and is to be accepted.
func (n Numbers) byHand(pool, accepted *v1.NodePool) bool {
	return !follows(pool, accepted) && !isPaused(pool) && !n.awaits(pool)
}

// follows reports whether nodes follow all that a pool says.
func follows(pool, accepted *v1.NodePool) bool {
	return accepted != nil && accepted.Generation >= pool.Generation
}

// Accept decides what is accepted of what pools say. What a source has written counts with the
// number of the source, and is judged before: see [PoolsPlan.Guard]. What was written by hand is
// judged here. It is accepted if it is valid, and takes no more nodes than the default limit
// allows, or is approved: one pool after the other, by rank, so that each is judged by what
// nodes follow then. Pools that are deleted within a second are judged together; the deletion of
// one alone is meant as it is asked for. What is held stays so, whatever becomes of its nodes,
// until its spec changes or somebody approves its generation.
func Accept(pools []*v1.NodePool, nodes []*NodeState, numbers Numbers, facts AcceptFacts) *Acceptance {
	j := &judge{
		Acceptance: &Acceptance{accepts: map[string]bool{}, pending: map[string]*Pending{}},
		nodes:      nodes, facts: facts, pools: map[string]*v1.NodePool{},
	}
	var specs, deletions []*v1.NodePool
	for _, pool := range slices.SortedFunc(slices.Values(pools), render.CompareRank) {
		accepted := numbers.Accepted(pool)
		if accepted != nil {
			j.Pools, j.pools[pool.Name] = append(j.Pools, accepted), accepted
		}
		switch {
		case follows(pool, accepted):
		case isPaused(pool):
			j.pending[pool.Name] = &Pending{Reason: PendingPaused}
		case numbers.awaits(pool):
			j.pending[pool.Name] = &Pending{Reason: PendingRevision}
		case !pool.DeletionTimestamp.IsZero():
			deletions = append(deletions, pool)
		default:
			specs = append(specs, pool)
		}
	}
	if len(specs)+len(deletions) == 0 {
		return j.Acceptance
	}
	j.deletions(deletions)
	j.specs(specs)
	return j.Acceptance
}

// judge judges what was written by hand.
type judge struct {
	*Acceptance
	nodes []*NodeState
	facts AcceptFacts
	// pools are those that nodes follow, with what is accepted here.
	pools map[string]*v1.NodePool
	// carried are the pools that nodes carry keys of.
	carried map[string]bool
}

// accept accepts what a pool says.
func (j *judge) accept(pool *v1.NodePool) {
	j.accepts[pool.Name], j.pools[pool.Name] = true, pool
}

// with are the pools that nodes follow, where some are as they say; in no order.
func (j *judge) with(pools ...*v1.NodePool) (before, after []*v1.NodePool) {
	then := maps.Clone(j.pools)
	for _, pool := range pools {
		then[pool.Name] = pool
	}
	return slices.Collect(maps.Values(j.pools)), slices.Collect(maps.Values(then))
}

// isCarried reports whether some node carries keys of a pool.
func (j *judge) isCarried(pool string) bool {
	if j.carried == nil {
		j.carried = map[string]bool{}
		for _, node := range j.nodes {
			if record, err := readRecord(node); err == nil {
				maps.Copy(j.carried, record.Pools())
			}
		}
	}
	return j.carried[pool]
}

// deletions judges pools that are being deleted.
func (j *judge) deletions(pools []*v1.NodePool) {
	var together []*v1.NodePool
	for _, pool := range pools {
		switch {
		case isApproved(pool), j.pools[pool.Name] == nil && !j.isCarried(pool.Name):
			j.accept(pool)
		case IsBlocked(pool):
			j.pending[pool.Name] = &Pending{PendingApproval, BlockOf(pool), nil}
		case j.facts.Deleting:
			j.Gathers = true
			j.pending[pool.Name] = &Pending{Reason: PendingOthers}
		default:
			together = append(together, pool)
		}
	}
	if len(together) == 0 {
		return
	}
	p := proposal{changed: map[string]bool{}}
	goes := together
	if j.facts.DefinitionGoes { // how many of them have been reached so far makes no difference
		goes = nil
		for _, pool := range j.pools {
			goes = append(goes, leaving(pool, pool.Spec))
		}
	}
	for _, pool := range goes {
		p.changed[pool.Name] = true
	}
	p.before, p.after = j.with(goes...)
	losses := p.losses(p.outcomeOn(j.nodes))
	if len(together) == 1 && !j.facts.DefinitionGoes { // it is meant as it is asked for; what comes in its place may not be
		losses = slices.DeleteFunc(losses, func(loss Loss) bool { return loss.Kind != LossEvict })
	}
	block := p.block(losses)
	for _, pool := range together {
		if block == nil {
			j.accept(pool)
			continue
		}
		held := *block
		held.Losses = slices.Clone(block.Losses)
		for i := range held.Losses {
			if held.Losses[i].Kind == LossDelete {
				held.Losses[i].Pool = pool.Name
			}
		}
		j.hold(pool, held)
	}
}

// specs judges what pools say by hand, in their order: of those that can take nodes, one.
func (j *judge) specs(pools []*v1.NodePool) {
	_, all := j.with(pools...)
	valid, judged := render.Expand(all), false
	for _, pool := range pools {
		was := j.pools[pool.Name]
		switch problem := problemOf(valid, pool); {
		case problem != nil:
			j.pending[pool.Name] = &Pending{PendingInvalid, nil, problem}
		case isApproved(pool), was == nil && !evicts(pool) && !j.isCarried(pool.Name), was != nil && isHarmless(was, pool):
			j.accept(pool)
		case IsBlocked(pool):
			j.pending[pool.Name] = &Pending{PendingApproval, BlockOf(pool), nil}
		case judged:
			j.pending[pool.Name] = &Pending{Reason: PendingOthers}
		default:
			judged = true
			p := proposal{changed: map[string]bool{pool.Name: true}}
			p.before, p.after = j.with(pool)
			if block := p.block(p.losses(p.outcomeOn(j.nodes))); block != nil {
				j.hold(pool, *block)
			} else {
				j.accept(pool)
			}
		}
	}
}

// problemOf is what is wrong with a pool, by itself or among others; nil for nothing. The API
// server knows only some of the rules.
func problemOf(pools *render.Expansion, pool *v1.NodePool) error {
	if problem := pools.Problem(pool.Name); problem != nil {
		return problem
	}
	if problems := v1.ValidateNodePool(pool); len(problems) > 0 {
		return problems[0]
	}
	return nil
}

func (j *judge) hold(pool *v1.NodePool, block ReleaseBlock) {
	block.Pool, block.Approval, block.Remedy = pool.Name, strconv.FormatInt(pool.Generation, 10), blockRemedy(pool)
	j.pending[pool.Name] = &Pending{PendingApproval, &block, nil}
}

// isHarmless reports whether a change of a pool takes no node out of it, and brings no NoExecute
// taint: it chooses the same members, and wants the same of these taints, in the same way.
func isHarmless(was, is *v1.NodePool) bool {
	evicting := func(pool *v1.NodePool) []v1.Taint {
		return slices.DeleteFunc(slices.Clone(pool.Spec.Taints), func(taint v1.Taint) bool { return !isEvicting(taint) })
	}
	return equality.Semantic.DeepEqual(was.Spec.Selector, is.Spec.Selector) && slices.Equal(was.Spec.NodeNames, is.Spec.NodeNames) &&
		was.Spec.Parent == is.Spec.Parent && slices.Equal(evicting(was), evicting(is)) &&
		(!evicts(is) || was.Spec.Priority == is.Spec.Priority && was.Spec.ConflictPolicy == is.Spec.ConflictPolicy)
}

// isApproved reports whether somebody has approved what a pool says, or its deletion.
func isApproved(pool *v1.NodePool) bool {
	approval := pool.Annotations[v1.ApproveReleaseAnnotation]
	return approval == strconv.FormatInt(pool.Generation, 10) || !pool.DeletionTimestamp.IsZero() && approval == v1.DeletionApproval
}

// IsBlocked reports whether the pool was found to wait for an approval of its present
// generation.
func IsBlocked(pool *v1.NodePool) bool {
	blocked := meta.FindStatusCondition(pool.Status.Conditions, v1.ReleaseBlockedCondition)
	return blocked != nil && blocked.Status == metav1.ConditionTrue && blocked.ObservedGeneration == pool.Generation
}

// BlockOf is what a pool was found to wait for, by its status; nil for nothing.
func BlockOf(pool *v1.NodePool) *ReleaseBlock {
	if !IsBlocked(pool) {
		return nil
	}
	blocked, remedy := meta.FindStatusCondition(pool.Status.Conditions, v1.ReleaseBlockedCondition), blockRemedy(pool)
	return &ReleaseBlock{
		Pool: pool.Name, noted: strings.TrimSuffix(blocked.Message, "; "+remedy), Approval: strconv.FormatInt(pool.Generation, 10), Remedy: remedy,
	}
}

// AcceptanceOf is what is accepted of pools by their statuses, for those who look on: no outcome
// is judged, and what is valid, and neither held nor paused, counts, as it is about to be accepted.
func AcceptanceOf(pools []*v1.NodePool, numbers Numbers) *Acceptance {
	a := &Acceptance{pending: map[string]*Pending{}}
	for _, pool := range pools {
		accepted := numbers.Accepted(pool)
		switch block := BlockOf(pool); {
		case follows(pool, accepted):
		case isPaused(pool):
			a.pending[pool.Name] = &Pending{Reason: PendingPaused}
		case numbers.awaits(pool):
			a.pending[pool.Name] = &Pending{Reason: PendingRevision}
		case block != nil && !isApproved(pool):
			a.pending[pool.Name] = &Pending{PendingApproval, block, nil}
		case pool.DeletionTimestamp.IsZero() && len(v1.ValidateNodePool(pool)) > 0:
			a.pending[pool.Name] = &Pending{PendingInvalid, nil, v1.ValidateNodePool(pool)[0]}
		default:
			accepted = pool
		}
		if accepted != nil {
			a.Pools = append(a.Pools, accepted)
		}
	}
	valid := render.Expand(a.Pools)
	for i, pool := range a.Pools {
		if accepted := numbers.Accepted(pool); accepted != nil && !follows(pool, accepted) && valid.Problem(pool.Name) != nil {
			a.Pools[i], a.pending[pool.Name] = accepted, &Pending{PendingInvalid, nil, valid.Problem(pool.Name)}
		}
	}
	return a
}

// blockRemedy says what to do about a pool that is held.
func blockRemedy(pool *v1.NodePool) string {
	if pool.DeletionTimestamp.IsZero() {
		return "undo the change, or approve it with: " + command.Approve(pool.Name)
	}
	return fmt.Sprintf("approve its deletion with: %s; or, to keep what nodes carry, take the finalizer %s off the pool and create it again",
		command.Approve(pool.Name), v1.ReleaseFinalizer)
}

// Expand works out pools by [AcceptanceOf].
func Expand(pools []*v1.NodePool, numbers Numbers) *render.Expansion {
	return render.Expand(AcceptanceOf(pools, numbers).Pools)
}
