package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

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
	return slices.ContainsFunc(pools, func(pool *v1.NodePool) bool { return Releasing(pool) || changedMembership(pool) })
}

// HeldReleases returns the pools, by name, that must stay as they are until
// somebody approves what would become of nodes.
//
// A pool is held whose definition takes more nodes out of a pool than the default
// limit allows: out of itself, or one within it. What the definition was before is
// not known, but by status.observedMembership whether it changed since it was last
// carried out; who was a member is in the records of nodes. A node that leaves
// because its own labels changed holds nothing. Nor is a pool released by a change
// that puts a NoExecute taint on more nodes than the limit allows of all.
//
// Pools that are being deleted are held when, together, they release more nodes
// than the limit allows of all that carry anything of a pool. The deletion of one
// pool while others stay is meant as it is asked for. A pool that is gone although
// nodes carry keys of it went without its finalizer, with its whole
// CustomResourceDefinition for one: nothing of it is released.
//
// What was blocked stays so until it is approved or changed, whatever becomes of
// its nodes meanwhile. All is decided by what stands in the cluster.
func HeldReleases(pools []*v1.NodePool, nodes []*NodeState) map[string]*ReleaseBlock {
	c := countReleases(pools, nodes)
	held := map[string]*ReleaseBlock{}
	c.holdChanged(held)
	c.holdDeparting(held)
	c.holdVanished(held)
	return held
}

// Departing are the names of the pools that are being deleted, that nodes carry keys
// of, and that nobody has approved, sorted. There are none where so few nodes carry
// anything that their release is not limited.
func Departing(pools []*v1.NodePool, nodes []*NodeState) []string {
	c := countReleases(pools, nodes)
	if c.carrying < v1.MinReleaseLimited {
		return nil
	}
	return slices.Sorted(maps.Keys(c.carried))
}

var defaultReleaseLimit = intstr.FromString(v1.DefaultReleaseLimit)

// releaseCount is what pools would do to nodes if nothing were held.
type releaseCount struct {
	pools  map[string]*v1.NodePool
	sorted []*v1.NodePool
	// free is nil where no pool has changed.
	free    *render.Expansion
	changed map[string]bool
	// nodes is how many there are, carrying how many of them carry anything.
	nodes, carrying int
	carriers        map[string]int
	leaving         map[string]*Loss
	evicted         map[string]*Loss
	// departing are the nodes that carry keys of pools that are being deleted and
	// are not approved; vanished those of pools that are gone, by pool.
	departing Loss
	carried   map[string]bool // departing pools that some node carries keys of
	vanished  map[string]*Loss
}

func countReleases(pools []*v1.NodePool, nodes []*NodeState) *releaseCount {
	c := &releaseCount{
		pools: make(map[string]*v1.NodePool, len(pools)), changed: map[string]bool{}, nodes: len(nodes),
		carriers: map[string]int{}, leaving: map[string]*Loss{}, evicted: map[string]*Loss{},
		departing: Loss{Kind: LossDelete}, carried: map[string]bool{}, vanished: map[string]*Loss{},
	}
	for _, pool := range pools {
		c.pools[pool.Name] = pool
		if changedMembership(pool) {
			c.changed[pool.Name] = true
		}
	}
	c.sorted = slices.SortedFunc(maps.Values(c.pools), func(a, b *v1.NodePool) int { return cmp.Compare(a.Name, b.Name) })
	if len(c.changed) > 0 {
		c.free = render.Expand(pools)
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

// count counts one node.
func (c *releaseCount) count(node *NodeState, record Record) {
	var members []string
	if c.free != nil {
		seen := record.underlyingLabels(node.Labels)
		members = c.free.Members(node.Name, seen)
		if slices.ContainsFunc(members, func(pool string) bool { return c.changed[pool] && evicts(c.pools[pool]) }) {
			c.countEvictions(node, members, c.free.Node(node.Name, seen))
		}
	}
	if record.Empty() {
		return
	}
	c.carrying++
	departs := false
	for name := range record.Pools() {
		pool := c.pools[name]
		c.carriers[name]++
		switch {
		case pool == nil:
			lossOf(c.vanished, name, LossGone).add(node.Name)
		case Releasing(pool):
			if pool.Annotations[v1.ApproveReleaseAnnotation] != v1.DeletionApproval {
				departs, c.carried[name] = true, true
			}
		case c.free != nil && !c.free.Holds(name) && !slices.Contains(members, name):
			lossOf(c.leaving, name, LossLeave).add(node.Name)
		}
	}
	if departs {
		c.departing.add(node.Name)
	}
}

// countEvictions counts a NoExecute taint that a changed pool puts on a node for all changed
// pools that want it there, with whatever value: where the one that has its way is held, the
// next one would have its own.
func (c *releaseCount) countEvictions(node *NodeState, members []string, desired render.Desired) {
	comes := map[render.TaintID]bool{}
	for id, want := range desired.Taints {
		comes[id] = id.Effect == corev1.TaintEffectNoExecute && c.changed[want.Pool] && !hasTaint(node, id, want.Value)
	}
	for _, name := range members {
		pool := c.pools[name]
		if !c.changed[name] || !evicts(pool) {
			continue
		}
		// Once for each pool, however many taints it puts on the node.
		if slices.ContainsFunc(pool.Spec.Taints, func(taint v1.Taint) bool {
			id := render.TaintID{Key: taint.Key, Effect: taint.Effect}
			return comes[id] && !hasTaint(node, id, taint.Value)
		}) {
			lossOf(c.evicted, name, LossEvict).add(node.Name)
		}
	}
}

func hasTaint(node *NodeState, id render.TaintID, value string) bool {
	return slices.ContainsFunc(node.Taints, func(taint corev1.Taint) bool {
		return taint.Key == id.Key && taint.Effect == id.Effect && taint.Value == value
	})
}

func lossOf(losses map[string]*Loss, pool string, kind LossKind) *Loss {
	if losses[pool] == nil {
		losses[pool] = &Loss{Pool: pool, Kind: kind}
	}
	return losses[pool]
}

// holdChanged holds the pools whose definitions changed and concern too many nodes.
func (c *releaseCount) holdChanged(held map[string]*ReleaseBlock) {
	losses, touched := map[string][]Loss{}, map[string]bool{}
	for _, pool := range c.sorted {
		if loss := c.leaving[pool.Name]; loss != nil {
			loss.Of = c.carriers[pool.Name]
			cause := c.cause(pool)
			if c.changed[cause] {
				touched[cause] = true
				if exceedsReleaseLimit(defaultReleaseLimit, loss.Count, loss.Of) {
					losses[cause] = append(losses[cause], *loss)
				}
			}
		}
		if loss := c.evicted[pool.Name]; loss != nil {
			loss.Of, touched[pool.Name] = c.nodes, true
			if exceedsReleaseLimit(defaultReleaseLimit, loss.Count, loss.Of) {
				losses[pool.Name] = append(losses[pool.Name], *loss)
			}
		}
	}
	for name := range touched {
		pool := c.pools[name]
		if losses[name] == nil && !WasBlocked(pool) {
			continue
		}
		held[name] = &ReleaseBlock{
			Pool: name, Losses: losses[name], Limit: v1.DefaultReleaseLimit,
			Remedy: fmt.Sprintf("undo the change, or approve it with: %s", approveReleaseCommand("nodepool", name, strconv.FormatInt(pool.Generation, 10))),
		}
	}
}

// cause is the pool by whose change nodes leave a pool: the pool itself, or the next
// one around it that has changed; empty where none has.
func (c *releaseCount) cause(pool *v1.NodePool) string {
	seen := map[string]bool{}
	for pool != nil && !seen[pool.Name] {
		if differs(pool) {
			return pool.Name
		}
		seen[pool.Name] = true
		pool = c.pools[pool.Spec.Parent]
	}
	return ""
}

// holdDeparting holds pools that are being deleted.
func (c *releaseCount) holdDeparting(held map[string]*ReleaseBlock) {
	stays := slices.ContainsFunc(c.sorted, func(pool *v1.NodePool) bool { return pool.DeletionTimestamp.IsZero() })
	c.departing.Of, c.departing.Others = c.carrying, len(c.carried) > 1
	tooMany := exceedsReleaseLimit(defaultReleaseLimit, c.departing.Count, c.departing.Of) && (len(c.carried) > 1 || !stays)
	for name := range c.carried {
		block := &ReleaseBlock{
			Pool: name, Limit: v1.DefaultReleaseLimit,
			Remedy: fmt.Sprintf("approve its deletion with: %s; or, to keep what nodes carry, take the finalizer %s off the pool and create it again",
				approveReleaseCommand("nodepool", name, v1.DeletionApproval), v1.ReleaseFinalizer),
		}
		if tooMany {
			loss := c.departing
			loss.Pool = name
			block.Losses = []Loss{loss}
		}
		if tooMany || WasBlocked(c.pools[name]) {
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
			Remedy: fmt.Sprintf("it is gone, and nothing is released on doubt: create it again; or, to release them, create it and delete it with: echo %s | kubectl create -f - && kubectl delete nodepool %s",
				shellWord(fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"annotations":{%q:%q}},"spec":{}}`,
					v1.GroupVersion.String(), v1.NodePoolKind, name, v1.ApproveReleaseAnnotation, v1.DeletionApproval)), name),
		}
	}
}

// changedMembership reports whether a pool says something else of its members than
// when it was last carried out, and nobody has approved that.
func changedMembership(pool *v1.NodePool) bool {
	approval := pool.Annotations[v1.ApproveReleaseAnnotation]
	return differs(pool) && approval != Membership(pool) && approval != strconv.FormatInt(pool.Generation, 10)
}

// differs reports whether a pool says something else of its members than when it was
// last carried out, and it is to be carried out.
func differs(pool *v1.NodePool) bool {
	return pool.DeletionTimestamp.IsZero() && !v1.IsDisabled(pool, v1.ReconcileAnnotation) &&
		pool.Status.ObservedMembership != Membership(pool)
}

// evicts reports whether a pool puts a NoExecute taint on nodes of which a mistake can
// choose too many: by a selector or by patterns. Nodes that carry the role label of a
// pool have been labelled for that pool, one by one.
func evicts(pool *v1.NodePool) bool {
	return pool != nil && (pool.Spec.Selector != nil || len(pool.Spec.NodeNames) > 0) && slices.ContainsFunc(pool.Spec.Taints, func(taint v1.Taint) bool { return taint.Effect == corev1.TaintEffectNoExecute })
}

// WasBlocked reports whether the pool, as it is now, was found to wait for an
// approval before.
func WasBlocked(pool *v1.NodePool) bool {
	blocked := meta.FindStatusCondition(pool.Status.Conditions, v1.ReleaseBlockedCondition)
	return blocked != nil && blocked.Status == metav1.ConditionTrue && blocked.ObservedGeneration == pool.Generation
}

func approveReleaseCommand(kind, name, value string) string {
	return fmt.Sprintf("kubectl annotate --overwrite %s %s %s=%s", kind, name, v1.ApproveReleaseAnnotation, shellWord(value))
}
