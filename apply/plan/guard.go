package plan

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// proposal is a change of pools whose outcome on nodes is judged, be it a revision of a
// source, or what somebody has written by hand.
type proposal struct {
	// before are the pools as nodes follow them, and after as they would.
	before, after []*v1.NodePool
	// changed are the names of the pools that change.
	changed map[string]bool
	// limit is how many nodes may leave a pool, or get a NoExecute taint; nil is the default.
	limit *intstr.IntOrString
}

// outcome is what a proposal does to nodes.
type outcome struct {
	// leaving are the nodes that leave a pool, by pool; members is how many are in it now, or
	// carry keys of it, and stays how many are in it then.
	leaving        map[string]*Loss
	members, stays map[string]int
	// deleted are the nodes that lose something because pools are deleted, of those that carry
	// anything.
	deleted  Loss
	carrying int
	// evicted are the nodes that get a NoExecute taint, or another value of one.
	evicted Loss
	nodes   int
}

// outcomeOn counts what the proposal does to nodes, once the rollouts of the pools are through.
// A node that is paused counts: it follows later. Nodes whose record cannot be read do not:
// nothing is written to them. A node that leaves because of its own labels does not count, and
// neither does one that comes into another pool and keeps every key but the role label.
func (p proposal) outcomeOn(nodes []*NodeState) *outcome {
	o := &outcome{
		leaving: map[string]*Loss{}, members: map[string]int{}, stays: map[string]int{},
		deleted: Loss{Kind: LossDelete}, evicted: Loss{Kind: LossEvict}, nodes: len(nodes),
	}
	before, after, concerned := render.Expand(p.before), render.Expand(p.after), p.concerned()
	for _, node := range nodes {
		record, err := readRecord(node)
		if err != nil {
			continue
		}
		if !record.Empty() {
			o.carrying++
		}
		seen, carried := record.underlyingLabels(node.Labels), record.Pools()
		was, will := before.Members(node.Name, seen), after.Members(node.Name, seen)
		then := after.Node(node.Name, seen)
		c := carriage{record, was, will, carried, then, before, after}
		var deleted []string
		for pool := range concerned {
			if o.count(pool, node, c) {
				deleted = append(deleted, pool)
			}
		}
		slices.Sort(deleted)
		o.deleted.addOf(deleted, node.Name)
		o.evicted.addOf(evictors(node, before.Node(node.Name, seen), then), node.Name)
	}
	return o
}

// carriage is what a node carries, and what it would.
type carriage struct {
	record        Record
	was, will     []string
	carried       map[string]bool
	then          render.Desired
	before, after *render.Expansion
}

// count counts a node for a pool that it is in, or carries keys of. It reports whether the node
// loses something because the pool is deleted.
func (o *outcome) count(pool string, node *NodeState, c carriage) (deleted bool) {
	stays := slices.Contains(c.will, pool) || c.after.Holds(pool)
	if stays {
		o.stays[pool]++
	}
	if c.after.Leaves(pool) {
		return c.carried[pool] && !c.moves(pool)
	}
	if !slices.Contains(c.was, pool) && !(c.carried[pool] && !c.before.Defines(pool)) {
		return false
	}
	o.members[pool]++
	if stays || c.moves(pool) {
		return false
	}
	if o.leaving[pool] == nil {
		o.leaving[pool] = &Loss{Pool: pool, Kind: LossLeave}
	}
	o.leaving[pool].add(node.Name)
	return false
}

// moves reports whether the node comes into another pool, and has there all that it carries of
// the pool that it leaves, but for the role label.
func (c carriage) moves(pool string) bool {
	joins := slices.ContainsFunc(c.will, func(name string) bool { return !slices.Contains(c.was, name) })
	return joins && keepsAll(c.record.Labels, c.then.Labels, pool, v1.RoleLabel(pool)) &&
		keepsAll(c.record.Annotations, c.then.Annotations, pool, "") && keepsAll(c.record.Taints, c.then.Taints, pool, render.TaintID{})
}

// keepsAll reports whether all that a record has of a pool is still wanted as it is, but for one key.
func keepsAll[K comparable](record map[K]Entry, then map[K]render.Want, pool string, except K) bool {
	for key, entry := range record {
		if want, wanted := then[key]; entry.Pool == pool && key != except && (!wanted || want.Value != entry.Value) {
			return false
		}
	}
	return true
}

// evictors are the pools that bring a NoExecute taint to a node which it has not got, and which
// would not have come anyway, sorted.
func evictors(node *NodeState, before, then render.Desired) []string {
	var pools []string
	for id, want := range then.Taints {
		if id.Effect != corev1.TaintEffectNoExecute {
			continue
		}
		if value, has := taintValue(node, id); has && value == want.Value {
			continue
		}
		if had, wanted := before.Taints[id]; wanted && had.Value == want.Value && had.Policy == want.Policy {
			continue
		}
		pools = append(pools, want.Pool)
	}
	slices.Sort(pools)
	return slices.Compact(pools)
}

// concerned are the pools whose members the proposal decides anew: those that change, and those
// within them.
func (p proposal) concerned() map[string]bool {
	concerned := map[string]bool{}
	for name := range p.changed {
		concerned[name] = true
	}
	for _, pools := range [][]*v1.NodePool{p.before, p.after} {
		named := byName(pools)
		for _, pool := range pools {
			if slices.ContainsFunc(Around(pool, named.get), func(outer *v1.NodePool) bool { return p.changed[outer.Name] }) {
				concerned[pool.Name] = true
			}
		}
	}
	return concerned
}

// losses are those of the outcome that are more than the limit allows, sorted by pool.
func (p proposal) losses(o *outcome) []Loss {
	var losses []Loss
	for _, pool := range slices.Sorted(maps.Keys(o.leaving)) {
		loss := o.leaving[pool]
		if loss.Of = o.members[pool]; o.stays[pool] == 0 || exceeds(p.limit, loss.Count, loss.Of) {
			loss.Empties = o.stays[pool] == 0
			losses = append(losses, *loss)
		}
	}
	if o.deleted.Of = o.carrying; exceeds(p.limit, o.deleted.Count, o.carrying) {
		losses = append(losses, o.deleted)
	}
	if o.evicted.Of = o.nodes; exceeds(p.limit, o.evicted.Count, o.nodes) {
		losses = append(losses, o.evicted)
	}
	return losses
}

// all are the losses of the outcome, however few nodes they are of.
func (o *outcome) all() []Loss {
	p := proposal{limit: ptr.To(intstr.FromInt32(0))}
	return p.losses(o)
}

var defaultReleaseLimit = intstr.FromString(v1.DefaultReleaseLimit)

// exceeds reports whether a number of nodes is more than a limit allows, which is nil for the
// default. A limit that cannot be read lets nothing through.
func exceeds(limit *intstr.IntOrString, count, of int) bool {
	return count > atMostOf(ptr.Deref(limit, defaultReleaseLimit), of)
}

// evicts reports whether a pool puts a NoExecute taint on nodes.
func evicts(pool *v1.NodePool) bool {
	return slices.ContainsFunc(pool.Spec.Taints, isEvicting)
}

func isEvicting(taint v1.Taint) bool { return taint.Effect == corev1.TaintEffectNoExecute }

// block is what holds a proposal back; nil where its losses may be.
func (p proposal) block(losses []Loss) *ReleaseBlock {
	if len(losses) == 0 {
		return nil
	}
	limit := ptr.Deref(p.limit, defaultReleaseLimit)
	text := limit.String()
	if slices.ContainsFunc(losses, func(loss Loss) bool { return loss.Empties }) {
		text += ", and never the last node by a change of a spec"
	}
	return &ReleaseBlock{Losses: losses, Limit: text}
}
