package plan

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// Cluster is what lives in a cluster, as far as a plan depends on it.
type Cluster struct {
	Pools          []*v1.NodePool
	RuntimeClasses []*nodev1.RuntimeClass
	Nodes          []*NodeState
	// Unready are the names of the nodes that are known not to be ready.
	Unready map[string]bool
	// Numbers are those of the sources.
	Numbers Numbers
}

// Difference is all that a revision would change in a cluster.
type Difference struct {
	// Pools is what the revision says of the NodePools.
	Pools *PoolsPlan
	// PoolChanges are what becomes of the NodePools altogether: what the revision
	// says, and what the controller itself does with them. They are in the order in
	// which they are made: what is created, updated or replaced, by name, then what
	// is deleted, by name.
	PoolChanges    []PoolChange
	RuntimeClasses []RuntimeClassChange
	// Nodes with something to write or to report, sorted by name.
	Nodes []NodeDifference
	// Problems are what would be reported and left alone: a pool that is paused or
	// cannot be carried out, a RuntimeClass of somebody else, a node that is
	// paused or whose record cannot be read.
	Problems []Problem
	// Held are the pools that wait for an approval, sorted by name. Where approvals
	// are assumed, what the revision changes is carried out all the same.
	Held []*ReleaseBlock

	// accepted is what nodes follow once the pools have changed, and settled are the pools then.
	accepted *Acceptance
	settled  []*v1.NodePool
	numbers  Numbers
	// carriers are, by pool, the nodes that carry keys of it afterwards, sorted.
	carriers map[string][]string
	// recreated are the pools of the revision that have to go before they are created
	// again.
	recreated []string
}

// NodeDifference is what a revision would change on one node.
type NodeDifference struct {
	Name string
	*NodePlan
}

// Diff returns all that a revision would change, by the same functions that decide the
// writes of a controller. An error means that the revision would not be taken at all.
//
// It repeats what a controller does until nothing is left to do, each time on the
// cluster as it stands afterwards, and returns all of it as one difference. It differs
// from a controller in what follows, and in nothing else.
//
// What it assumes, because it cannot know it:
//
//   - A revision that is held back for its releases is approved, and so are the pools
//     that it changes, where [Revision.AssumeApproved] says so: whoever reviews a change
//     has to see what is approved. Both are reported as held all the same. A prune that
//     is blocked stays blocked.
//   - A source that is suspended, paused or being deleted goes on: see [SourceOutcomeOf],
//     which is for whoever prints the difference.
//   - A source is within its windows: see [WindowWaitOf], which is for whoever prints the
//     difference.
//   - Of a source of which only the name is known, nothing in the cluster is: see
//     [UnknownSourceUID]. A pool is then not seen as handed over.
//   - No other source has pools that vanish, or has given up pools that come, unless the
//     revision says what the others have: see [OtherSources].
//   - Pools are within their windows ([NodeFacts.Rollouts], [PoolFacts.Rollouts],
//     [PoolFacts.Now]): see [Difference.Waits], which is for whoever prints the difference.
//     So RuntimeClasses wait for no node ([PoolFacts.Undecided], [PoolFacts.Steps], [PoolFacts.Carried]), and
//     nodes for no turn ([NodeFacts.Turn], [NodeFacts.Unready]),
//     nor for an eviction ([NodeFacts.Drained], [NodeFacts.Evicted]): see
//     [Difference.Drains], which is for whoever prints the difference.
//   - Nothing else waits. No key was put back lately ([NodeFacts.Repairs], [NodeFacts.Backoff],
//     [NodeFacts.Now]), and nothing is remembered of a node ([NodeFacts.LastChange]) but what
//     stands there. The API server takes what every pool changes ([NodeFacts.Refused]). Pools that
//     are deleted are known to be all ([AcceptFacts.Deleting]), and their definition stays
//     ([AcceptFacts.DefinitionGoes]).
//   - A revision is written at once, so that there is no time at which a part of it
//     stands, or others write.
//   - Pools that are created are younger than all that are there, and among each other
//     of ages in the order of their names. They have no UID yet.
//   - The API server takes what it is sent, and changes nothing of it. What [Difference.Writes]
//     returns can be sent as dry runs.
//
// What it does that others do for a controller, in [Difference.After]: it is the API
// server, which counts generations, notes who applied a field, and removes a pool
// without finalizers; and it is the garbage collector, which deletes the RuntimeClass of
// a pool that is gone. A finalizer of somebody else stays.
//
// What it leaves to a controller: statuses, but for what is accepted, and events.
func Diff(revision Revision, cluster Cluster) (*Difference, error) {
	d, err := diff(revision, cluster)
	created := map[string]metav1.Time{}
	for range maxRounds {
		if err != nil {
			return nil, err
		}
		recreating := d.recreating()
		if len(recreating) == 0 && !d.unsettled() {
			break
		}
		after := d.After(cluster)
		keepAges(after.Pools, created)
		var next *Difference
		if next, err = diff(revision, after); err == nil {
			d = d.compose(next, recreating)
		}
	}
	return d, err
}

// unsettled reports whether a second write of some node is due after the first.
func (d *Difference) unsettled() bool {
	return slices.ContainsFunc(d.Nodes, func(node NodeDifference) bool { return node.unsettled })
}

// diff returns what changes until the first thing has come to rest: pools that are
// being deleted go, and do not come back.
func diff(revision Revision, cluster Cluster) (*Difference, error) {
	revision.Numbers = cluster.Numbers
	outcome, err := RevisionOutcomeOf(revision, cluster.Pools, func() ([]*NodeState, error) { return cluster.Nodes, nil })
	if err != nil {
		return nil, err
	}
	if outcome.Plan == nil {
		return nil, outcome.Refused
	}
	d := &Difference{Pools: outcome.Plan, carriers: map[string][]string{}, recreated: outcome.Recreated}
	after := d.accept(revision, cluster)
	expansion := d.Expansion()
	outcomes := d.poolOutcomes(cluster, after, expansion)
	for _, pool := range after {
		switch outcome := outcomes[pool.Name]; {
		case outcome.State == PoolStateBlocked:
			// Reported among those that are held.
		case outcome.Problem != nil:
			d.Problems = append(d.Problems, Problem{Kind: PoolInvalid, Pool: pool.Name, Err: outcome.Problem})
		case outcome.State == PoolStatePaused:
			d.Problems = append(d.Problems, Problem{Kind: PoolPaused, Pool: pool.Name,
				Err: fmt.Errorf("pool %q is paused by its annotation %s: its nodes follow what was accepted before", pool.Name, v1.ReconcileAnnotation)})
		}
	}
	d.runtimeClasses(after, outcomes)
	d.nodes(cluster, expansion)
	d.poolChanges(cluster, after, outcomes, expansion)
	d.orphanedClasses(cluster)
	return d, nil
}

// accept accepts what the pools say after the changes, and returns those that stay.
func (d *Difference) accept(revision Revision, cluster Cluster) []*v1.NodePool {
	d.numbers = maps.Clone(cluster.Numbers)
	if d.Pools.Number > 0 {
		if d.numbers == nil {
			d.numbers = Numbers{}
		}
		d.numbers[revision.SourceUID] = d.Pools.Number
	}
	pools := d.Pools.leaving(cluster.Pools)
	settled, accepted, blocks := atRest(pools, cluster.Nodes, d.numbers)
	d.settled, d.accepted = settled, accepted
	for _, name := range slices.Sorted(maps.Keys(blocks)) {
		d.Held = append(d.Held, blocks[name])
	}
	if revision.AssumeApproved && len(blocks) > 0 {
		d.settled, d.accepted, _ = atRest(d.Pools.approved(pools), cluster.Nodes, d.numbers)
	}
	deleted := map[string]bool{}
	for _, name := range d.Pools.Deletes() {
		deleted[name] = true
	}
	return slices.DeleteFunc(slices.Clone(d.settled), func(pool *v1.NodePool) bool { return deleted[pool.Name] })
}

// atRest accepts what is written by hand, one after the other, as a controller does until nothing
// is left. It returns the pools with what is accepted, and what waits for an approval, by pool.
func atRest(pools []*v1.NodePool, nodes []*NodeState, numbers Numbers) ([]*v1.NodePool, *Acceptance, map[string]*ReleaseBlock) {
	pools, blocks := slices.Clone(pools), map[string]*ReleaseBlock{}
	for {
		accepted, news := Accept(pools, nodes, numbers, AcceptFacts{}), false
		for i, pool := range pools {
			block := (*ReleaseBlock)(nil)
			if pending := accepted.Pending(pool.Name); pending != nil {
				block = pending.Block
			}
			if block != nil && blocks[pool.Name] == nil {
				blocks[pool.Name] = block
			}
			news = news || accepted.Accepts(pool.Name) || block != nil && !IsBlocked(pool)
			pools[i] = accepted.note(pool, numbers)
		}
		if !news {
			return pools, accepted, blocks
		}
	}
}

// note notes in the status of a pool what of it is accepted, or held back.
func (a *Acceptance) note(pool *v1.NodePool, numbers Numbers) *v1.NodePool {
	pending, as := a.Pending(pool.Name), numbers.Accepted(pool)
	noted := *pool
	switch {
	case pending != nil && pending.Block != nil && !IsBlocked(pool):
		noted.Status.Conditions = slices.Clone(pool.Status.Conditions)
		meta.SetStatusCondition(&noted.Status.Conditions, metav1.Condition{
			Type: v1.ReleaseBlockedCondition, Status: metav1.ConditionTrue, ObservedGeneration: pool.Generation, Reason: v1.ReleaseBlockedReason, Message: pending.Block.Error(),
		})
	case a.Accepts(pool.Name), follows(pool, as) && as.DeletionTimestamp.IsZero() && (pool.Status.Accepted == nil || pool.Status.Accepted.Generation != pool.Generation):
		noted.Status.Accepted = AcceptedSpecOf(pool)
	default:
		return pool
	}
	return &noted
}

// approved are pools of which those that change are approved.
func (p *PoolsPlan) approved(pools []*v1.NodePool) []*v1.NodePool {
	changes, approved := p.Names(), slices.Clone(pools)
	for i, pool := range approved {
		if slices.Contains(changes, pool.Name) {
			approved[i] = pool.DeepCopy()
			metav1.SetMetaDataAnnotation(&approved[i].ObjectMeta, v1.ApproveReleaseAnnotation, strconv.FormatInt(pool.Generation, 10))
		}
	}
	return approved
}

// poolOutcomes are those of the pools, by name.
func (d *Difference) poolOutcomes(cluster Cluster, pools []*v1.NodePool, expansion *render.Expansion) map[string]PoolOutcome {
	live := make(map[string]*nodev1.RuntimeClass, len(cluster.RuntimeClasses))
	for _, class := range cluster.RuntimeClasses {
		live[class.Name] = class
	}
	outcomes := make(map[string]PoolOutcome, len(pools))
	for _, pool := range pools {
		outcomes[pool.Name] = PoolOutcomeOf(pool, d.accepted, expansion, live[v1.RuntimeClassName(pool.Name)], PoolFacts{})
	}
	return outcomes
}

// Accepted are the pools as nodes follow them when the pools have changed.
func (d *Difference) Accepted() []*v1.NodePool { return d.accepted.Pools }

// Expansion is what nodes follow when the pools have changed.
func (d *Difference) Expansion() *render.Expansion { return render.Expand(d.accepted.Pools) }

// Empty reports whether nothing would change.
func (d *Difference) Empty() bool {
	return len(d.PoolChanges) == 0 && len(d.RuntimeClasses) == 0 &&
		!slices.ContainsFunc(d.Nodes, func(node NodeDifference) bool { return !node.NoOp() })
}

// runtimeClasses changes those of the pools that stay.
func (d *Difference) runtimeClasses(after []*v1.NodePool, outcomes map[string]PoolOutcome) {
	for _, pool := range after {
		outcome := outcomes[pool.Name]
		if outcome.ClassProblem != nil {
			d.Problems = append(d.Problems, Problem{Kind: RuntimeClassTaken, Pool: pool.Name, Err: outcome.ClassProblem})
		} else if change := outcome.RuntimeClass; change != nil && change.Action != None {
			d.RuntimeClasses = append(d.RuntimeClasses, *change)
		}
	}
}

// orphanedClasses are those that go with the pools that go.
func (d *Difference) orphanedClasses(cluster Cluster) {
	gone := map[string]*v1.NodePool{}
	for _, change := range d.PoolChanges {
		if change.Action == Delete && change.After() == nil {
			gone[v1.RuntimeClassName(change.Name)] = change.Live
		}
	}
	for _, class := range cluster.RuntimeClasses {
		if pool := gone[class.Name]; pool != nil && ownedBy(class, pool) {
			d.RuntimeClasses = append(d.RuntimeClasses, RuntimeClassChange{Action: Delete, Live: class})
		}
	}
	slices.SortFunc(d.RuntimeClasses, func(a, b RuntimeClassChange) int { return strings.Compare(a.Name(), b.Name()) })
}

func (d *Difference) nodes(cluster Cluster, expansion *render.Expansion) {
	sorted := slices.SortedFunc(slices.Values(cluster.Nodes), func(a, b *NodeState) int { return strings.Compare(a.Name, b.Name) })
	for _, node := range sorted {
		outcome := NodeOutcomeOf(node, expansion, NodeFacts{})
		for _, pool := range outcome.CarriedAfter() {
			d.carriers[pool] = append(d.carriers[pool], node.Name)
		}
		switch p := outcome.Plan; {
		case outcome.State == NodeStateUnreadable:
			d.Problems = append(d.Problems, Problem{Kind: NodeUnreadable, Node: node.Name, Err: outcome.Unreadable})
		case p.NoOp() && len(p.Conflicts) == 0:
		case outcome.State == NodeStatePaused:
			d.Problems = append(d.Problems, Problem{Kind: NodePaused, Node: node.Name,
				Err: fmt.Errorf("node %q is paused by its annotation %s", node.Name, v1.ReconcileAnnotation)})
		default:
			d.Nodes = append(d.Nodes, NodeDifference{Name: node.Name, NodePlan: p})
		}
	}
}
