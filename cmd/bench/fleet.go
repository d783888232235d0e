package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// fleet is the nodes and pools of a size: which node is in which pools, and what
// it then carries. It says so from how it was made; a test asks render whether
// that is what the pools mean.
type fleet struct {
	pools   []*pool
	members []*member
	byName  map[string]*member
	// everywhere is the pool of all nodes; nil where there is none. It is one of pools.
	everywhere *pool
}

// pool is one pool of the fleet. The first ones part the nodes; those after them
// are laid over some of the nodes.
type pool struct {
	name  string
	group int // of which the nodes are members
	// names are the members of an overlay, which chooses them by name, or a pattern of all
	// names; nil for a pool that chooses by a label or a pattern of its own.
	names []string
	// tier is the value of the label that changes.
	tier string
	// rollout says when nodes follow; nil for at once. Drives reports that the pool has a
	// NoExecute taint, and priority is higher than that of others where it is not 0.
	rollout  *v1.Rollout
	drives   bool
	priority int32
}

// member is one node of the fleet.
type member struct {
	name  string
	group int
	index int
	pools []*pool
	small bool
	// joins reports that the node is only just there: nobody but its kubelet has
	// looked at it.
	joins bool
}

func (s size) check() error {
	base, overlays := s.parts()
	if s.pools < 1 || s.nodes < base || s.overlap < 0 || s.overlap > s.nodes {
		return errors.New("there must be a node for each pool, and no more of them in two pools than there are")
	}
	if overlays > 0 && (s.overlap+overlays-1)/overlays > maxNames {
		return fmt.Errorf("an overlay names each of its nodes, at most %d", maxNames)
	}
	return nil
}

// maxNames is how many names a pool may list.
const maxNames = 1000

// parts are how many pools part the nodes, and how many overlay them.
func (s size) parts() (base, overlays int) {
	if s.overlap > 0 && s.pools > 1 {
		overlays = max(1, s.pools/10)
	}
	return s.pools - overlays, overlays
}

// firstTier is what the changing label is at first.
const firstTier = "t0"

func newFleet(s size) *fleet {
	f := &fleet{byName: map[string]*member{}}
	base, overlays := s.parts()
	for g := range base {
		f.pools = append(f.pools, &pool{name: fmt.Sprintf("pool-%03d", g), group: g, tier: firstTier})
	}
	within := make([]int, base)
	for i := range s.nodes {
		g := i * base / s.nodes
		f.add(&member{name: fmt.Sprintf("worker-%03d-%04d", g, within[g]), group: g, index: i, pools: []*pool{f.pools[g]}, small: s.small})
		within[g]++
	}
	for o := range overlays {
		over := &pool{name: fmt.Sprintf("overlay-%03d", o), group: -1, tier: firstTier}
		f.pools = append(f.pools, over)
		// Spread over the fleet: the members of one overlay are in many pools.
		for k := o; k < s.overlap; k += overlays {
			m := f.members[k*s.nodes/s.overlap]
			m.pools = append(m.pools, over)
			over.names = append(over.names, m.name)
		}
	}
	if s.rollouts {
		f.everywhere = &pool{name: "everywhere", group: -1, names: []string{"*"}, tier: firstTier}
		f.pools = append(f.pools, f.everywhere)
		for _, m := range f.members {
			m.pools = append(m.pools, f.everywhere)
		}
	}
	return f
}

func (f *fleet) add(m *member) {
	f.members = append(f.members, m)
	f.byName[m.name] = m
}

// join adds a node that was not there at first, to one of the base pools.
func (f *fleet) join(k int) *member {
	groups := 0
	for _, p := range f.pools {
		if p.group >= 0 {
			groups++
		}
	}
	g := k % groups
	m := &member{name: fmt.Sprintf("worker-%03d-new-%04d", g, k), group: g, index: len(f.members), pools: []*pool{f.pools[g]}, joins: true}
	if f.everywhere != nil {
		m.pools = append(m.pools, f.everywhere)
	}
	f.add(m)
	return m
}

// membersOf are the names of the nodes in a pool.
func (f *fleet) membersOf(p *pool) []string {
	var names []string
	for _, m := range f.members {
		if slices.Contains(m.pools, p) {
			names = append(names, m.name)
		}
	}
	return names
}

// names of all nodes.
func (f *fleet) names() []string {
	names := make([]string, len(f.members))
	for i, m := range f.members {
		names[i] = m.name
	}
	return names
}

// bare reports in what a node differs from what it is without any pool.
func (f *fleet) bare(node *corev1.Node) error { return f.compare(node, false) }

// right reports in what a node differs from what it is with its pools: to the last
// label and taint, those of others included.
func (f *fleet) right(node *corev1.Node) error { return f.compare(node, true) }

func (f *fleet) compare(node *corev1.Node, pooled bool) error {
	m := f.byName[node.Name]
	if m == nil {
		return fmt.Errorf("node %q is not of the fleet", node.Name)
	}
	labels, taints := m.labels(), taintSet(m.taints())
	if pooled {
		for _, p := range m.pools {
			maps.Copy(labels, p.labels())
			labels[v1.RoleLabel(p.name)] = ""
			maps.Copy(taints, taintSet(p.taints()))
		}
	}
	if !maps.Equal(labels, node.Labels) {
		return fmt.Errorf("node %q has labels %v, expected %v", node.Name, node.Labels, labels)
	}
	if has := taintSet(node.Spec.Taints); !maps.Equal(taints, has) || len(has) != len(node.Spec.Taints) {
		return fmt.Errorf("node %q has taints %v, expected %v", node.Name, has, taints)
	}
	return nil
}

// taintSet is the taints by what makes each one and the same.
func taintSet(taints []corev1.Taint) map[string]string {
	set := make(map[string]string, len(taints))
	for _, taint := range taints {
		set[taint.Key+":"+string(taint.Effect)] = taint.Value
	}
	return set
}
