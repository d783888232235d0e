package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nodepools/nodepools/api/command"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// Expand works out pools for the nodes that there are. It is [render.Expand],
// where [HeldReleases] are held.
func Expand(pools []*v1.NodePool, nodes []*NodeState) *render.Expansion {
	return HoldsOf(pools, nodes, HoldFacts{}).Expand(pools)
}

// MayHoldReleases reports whether [HeldReleases] of the pools can depend on what
// nodes carry, if every pool that nodes carry keys of is among the pools.
func MayHoldReleases(pools []*v1.NodePool) bool {
	named := byName(pools)
	return slices.ContainsFunc(pools, func(pool *v1.NodePool) bool { return Releasing(pool) || named.mayBeHeld(pool) })
}

// HeldReleases returns the pools, by name, that must stay as they are until
// somebody approves what would become of nodes.
//
// A pool is held whose definition takes more nodes out of a pool than the default
// limit allows: out of itself, or one within it. What the definition was before is
// not known, but by status.observedMembership whether it changed since it was last
// carried out, and by status.observedOuterPools whether those around it have; who was a
// member is in the records of nodes. A node that leaves because its own labels changed holds
// nothing.
//
// So is a pool by whose change a NoExecute taint, its own or that of a pool within it, is
// wanted on more nodes that do not have it than the limit allows of all. Which pool has
// the key there makes no difference: that may change with any other pool.
//
// A pool that missed a change of a pool around it, as it was paused or held, is held itself
// for what it would do now; so is one that follows what a paused pool says of its members.
//
// Pools that are being deleted are held when, together, they release more nodes
// than the limit allows of all that carry anything of a pool. The deletion of one
// pool while others stay is meant as it is asked for, unless the deletion is that of their
// CustomResourceDefinition. A pool that is gone although
// nodes carry keys of it went without its finalizer, with its whole
// CustomResourceDefinition for one: nothing of it is released.
//
// What is blocked by its own definition stays so until it is approved or changed, whatever
// becomes of its nodes meanwhile; what a pool is blocked for by those around it is counted
// anew. All is decided by what stands in the cluster.
func HeldReleases(pools []*v1.NodePool, nodes []*NodeState) map[string]*ReleaseBlock {
	return heldReleases(pools, nodes, false)
}

func heldReleases(pools []*v1.NodePool, nodes []*NodeState, definitionGoes bool) map[string]*ReleaseBlock {
	if definitionGoes {
		pools = allDeleted(pools)
	}
	c := countReleases(pools, nodes, Holds{})
	held := c.held()
	// A pool within a held one stays as it is with that one, and is counted anew afterwards.
	for _, pool := range c.sorted {
		if len(c.changed[pool.Name]) > 0 && !c.staysBlocked(pool) && c.pools.isNestedInAny(pool.Name, func(outer string) bool { return held[outer] != nil }) {
			delete(held, pool.Name)
		}
	}
	return held
}

// allDeleted are pools as they will be, as their definition is being deleted: how many of them have
// been reached so far makes no difference.
func allDeleted(pools []*v1.NodePool) []*v1.NodePool {
	deleted := make([]*v1.NodePool, 0, len(pools))
	for _, pool := range pools {
		deleted = append(deleted, PoolChange{Live: pool}.leaving())
	}
	return deleted
}

// Departing are the names of the pools that are being deleted, that nodes carry keys
// of, and that nobody has approved, sorted. There are none where so few nodes carry
// anything that their release is not limited.
func Departing(pools []*v1.NodePool, nodes []*NodeState) []string {
	c := countReleases(pools, nodes, Holds{})
	if c.carrying < v1.MinReleaseLimited {
		return nil
	}
	return slices.Sorted(maps.Keys(c.carried))
}

var defaultReleaseLimit = intstr.FromString(v1.DefaultReleaseLimit)

// releaseCount is what pools would do to nodes if none were held but some.
type releaseCount struct {
	pools  namedPools
	sorted []*v1.NodePool
	// free is nil where no pool has changed, or is being deleted.
	free *render.Expansion
	// pending are the changes by which pools have members anew, and changed are, of the pools that
	// may be held, those for whose changes.
	pending map[string][]pendingChange
	changed map[string][]string
	// nodes is how many there are, carrying how many of them carry anything.
	nodes, carrying int
	carriers        map[string]int
	leaving         map[string]*Loss
	evicted         map[string]*Loss // by the pool that has changed
	evictors        map[string]bool  // pools that evict from some node
	// departing are the nodes that carry keys of pools that are being deleted and
	// are not approved; vanished those of pools that are gone, by pool.
	departing Loss
	carried   map[string]bool // departing pools that some node carries keys of
	vanished  map[string]*Loss
}

func countReleases(pools []*v1.NodePool, nodes []*NodeState, held Holds) *releaseCount {
	c := &releaseCount{
		pools: byName(pools), pending: map[string][]pendingChange{}, changed: map[string][]string{}, nodes: len(nodes),
		carriers: map[string]int{}, leaving: map[string]*Loss{}, evicted: map[string]*Loss{}, evictors: map[string]bool{},
		departing: Loss{Kind: LossDelete}, carried: map[string]bool{}, vanished: map[string]*Loss{},
	}
	departs := false
	for _, pool := range pools {
		c.pending[pool.Name] = c.pools.pendingChanges(pool)
		if changed := holdsItself(pool, c.pending[pool.Name]); len(changed) > 0 {
			c.changed[pool.Name] = changed
		}
		departs = departs || departsUnapproved(pool)
	}
	c.sorted = slices.SortedFunc(maps.Values(c.pools.pools), func(a, b *v1.NodePool) int { return cmp.Compare(a.Name, b.Name) })
	if len(c.changed) > 0 || departs {
		c.free = held.Expand(pools)
	}
	for _, node := range nodes {
		record, err := readRecord(node)
		if err != nil || leavesAlone(node) {
			continue
		}
		c.count(node, record)
	}
	return c
}

// held are the pools that may not do what they would, each by itself.
func (c *releaseCount) held() map[string]*ReleaseBlock {
	held := map[string]*ReleaseBlock{}
	c.holdChanged(held)
	c.holdDeparting(held)
	c.holdVanished(held)
	return held
}

// count counts one node.
func (c *releaseCount) count(node *NodeState, record Record) {
	var members []string
	if c.free != nil {
		seen := record.underlyingLabels(node.Labels)
		members = c.free.Members(node.Name, seen)
		c.countEvictions(node, record, members)
	}
	if record.Empty() {
		return
	}
	c.carrying++
	departs := false
	for name := range record.Pools() {
		pool := c.pools.get(name)
		c.carriers[name]++
		switch {
		case pool == nil:
			lossOf(c.vanished, name, LossGone).add(node.Name)
		case departsUnapproved(pool):
			departs, c.carried[name] = true, true
		case Releasing(pool):
		case c.free != nil && !c.free.Holds(name) && !slices.Contains(members, name):
			lossOf(c.leaving, name, LossLeave).add(node.Name)
		}
	}
	if departs {
		c.departing.add(node.Name)
	}
}

func lossOf(losses map[string]*Loss, pool string, kind LossKind) *Loss {
	if losses[pool] == nil {
		losses[pool] = &Loss{Pool: pool, Kind: kind}
	}
	return losses[pool]
}

// holdChanged holds the pools whose definitions changed and concern too many nodes.
func (c *releaseCount) holdChanged(held map[string]*ReleaseBlock) {
	losses, seen := map[string][]Loss{}, map[pendingChange]bool{}
	for _, pool := range c.sorted {
		pending := c.pending[pool.Name]
		if loss := c.leaving[pool.Name]; loss != nil && len(pending) > 0 {
			loss.Of = c.carriers[pool.Name]
			addExceeding(losses, pending[0].holds, loss)
		}
		if !c.evictors[pool.Name] {
			continue
		}
		for _, change := range pending {
			if loss := c.evicted[change.of]; !seen[change] {
				seen[change], loss.Of = true, c.nodes
				addExceeding(losses, change.holds, loss)
			}
		}
	}
	for name := range c.changed {
		pool := c.pools.get(name)
		if losses[name] == nil && !c.staysBlocked(pool) {
			continue
		}
		held[name] = &ReleaseBlock{
			Pool: name, Losses: losses[name], Limit: v1.DefaultReleaseLimit,
			Approval: c.approval(pool), Remedy: c.remedy(pool),
		}
	}
}

// approval is the value that approves what a pool is held for: its generation, where that
// stands for all of it.
func (c *releaseCount) approval(pool *v1.NodePool) string {
	if changed := c.changed[pool.Name]; len(changed) == 1 && changed[0] == pool.Name && len(c.pools.unfollowed(pool)) == 0 {
		return strconv.FormatInt(pool.Generation, 10)
	}
	return c.pools.approval(pool)
}

// remedy says what to do about a pool that is held for its own change, or for those of pools
// around it.
func (c *releaseCount) remedy(pool *v1.NodePool) string {
	var outer []string
	for _, name := range c.changed[pool.Name] {
		if name != pool.Name {
			outer = append(outer, strconv.Quote(name))
		}
	}
	if len(outer) == 0 {
		return "undo the change, or approve it with: " + command.Approve(pool.Name)
	}
	return fmt.Sprintf("it has not followed so far what pool %s around it says of its members, as one of them was, or is, paused, held or not valid; "+
		"pause it, or correct the outer pool, or approve this pool, until one of them changes, with: %s",
		strings.Join(outer, " and "), command.Approve(pool.Name))
}

// addExceeding adds a loss that exceeds the limit to those that a pool causes.
func addExceeding(losses map[string][]Loss, cause string, loss *Loss) {
	if exceedsReleaseLimit(defaultReleaseLimit, loss.Count, loss.Of) {
		losses[cause] = append(losses[cause], *loss)
	}
}

// holdDeparting holds pools that are being deleted.
func (c *releaseCount) holdDeparting(held map[string]*ReleaseBlock) {
	stays := slices.ContainsFunc(c.sorted, func(pool *v1.NodePool) bool { return pool.DeletionTimestamp.IsZero() })
	c.departing.Of, c.departing.Others = c.carrying, len(c.carried) > 1
	tooMany := exceedsReleaseLimit(defaultReleaseLimit, c.departing.Count, c.departing.Of) && (len(c.carried) > 1 || !stays)
	for name := range c.carried {
		block := &ReleaseBlock{
			Pool: name, Limit: v1.DefaultReleaseLimit, Approval: v1.DeletionApproval,
			Remedy: fmt.Sprintf("approve its deletion with: %s; or, to keep what nodes carry, take the finalizer %s off the pool and create it again",
				command.Approve(name), v1.ReleaseFinalizer),
		}
		if tooMany {
			loss := c.departing
			loss.Pool = name
			block.Losses = []Loss{loss}
		}
		if len(block.Losses) > 0 || WasBlocked(c.pools.get(name)) {
			held[name] = block
		}
	}
}

// holdVanished holds pools that are gone.
func (c *releaseCount) holdVanished(held map[string]*ReleaseBlock) {
	if c.carrying < v1.MinReleaseLimited {
		return
	}
	for name, loss := range c.vanished {
		loss.Of = c.carrying
		held[name] = &ReleaseBlock{
			Pool: name, Losses: []Loss{*loss}, Limit: v1.DefaultReleaseLimit,
			Remedy: fmt.Sprintf("it is gone, and nothing is released on doubt: create it again; or, to release them, create it and delete it with: echo %s | kubectl create -f - && %s",
				command.Word(fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"annotations":{%q:%q}},"spec":{}}`,
					v1.GroupVersion.String(), v1.NodePoolKind, name, v1.ApproveReleaseAnnotation, v1.DeletionApproval)), command.DeletePool(name)),
		}
	}
}

// WasBlocked reports whether the pool was found to wait for an approval of its present
// generation.
func WasBlocked(pool *v1.NodePool) bool {
	blocked := meta.FindStatusCondition(pool.Status.Conditions, v1.ReleaseBlockedCondition)
	return blocked != nil && blocked.Status == metav1.ConditionTrue && blocked.ObservedGeneration == pool.Generation
}

// staysBlocked reports whether a pool was found to wait for an approval of what it still says. What
// it was blocked for by the pools around it is not noted, and counted anew.
func (c *releaseCount) staysBlocked(pool *v1.NodePool) bool {
	return WasBlocked(pool) && slices.Contains(c.changed[pool.Name], pool.Name)
}
