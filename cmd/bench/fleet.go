package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

const (
	// groupLabel is a label of the nodes, by which most pools select them.
	groupLabel = "example.com/group"
	// tierLabel is the label of a pool that changes; channelLabel is that of an overlay:
	// no two pools want the same key.
	tierLabel    = "example.com/tier"
	channelLabel = "example.com/channel"
)

// size of a fleet. A tenth of the nodes is in two pools.
type size struct {
	nodes, pools int
	// rollouts reports that there is one more pool, of all nodes, in place of the overlays,
	// and that the program may evict pods.
	rollouts bool
}

// fleet is the nodes and pools of a size, and which node is in which pools. A test holds it
// to what the product makes of the pools.
type fleet struct {
	pools   []*v1.NodePool
	members []*member
	byName  map[string]*member
	base    int // how many pools divide the nodes; they are the first ones
	// everywhere is the pool of all nodes; nil without rollouts.
	everywhere *v1.NodePool
}

// member is one node of the fleet.
type member struct {
	name  string
	index int
	pools []*v1.NodePool
	// joins reports that nobody but its kubelet has written the node yet.
	joins bool
}

func newFleet(s size) *fleet {
	f := &fleet{byName: map[string]*member{}, base: s.pools}
	overlays := 0
	if !s.rollouts && s.pools > 1 && s.nodes >= 10 {
		overlays = max(1, s.pools/10)
		f.base -= overlays
	}
	for g := range f.base {
		p := f.newPool(fmt.Sprintf("pool-%03d", g), tierLabel, "example.com/pool", "example.com/dedicated")
		if g%4 == 3 {
			p.Spec.NodeNames = []string{fmt.Sprintf("worker-%03d-*", g)}
		} else {
			p.Spec.Selector = &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{groupLabel: v1.LabelValue(groupOf(p))}}
		}
	}
	for i := range s.nodes {
		g := i * f.base / s.nodes
		f.add(fmt.Sprintf("worker-%03d-%05d", g, i), f.pools[g])
	}
	for o := range overlays {
		p := f.newPool(fmt.Sprintf("overlay-%03d", o), channelLabel, "example.com/overlay", channelLabel)
		shared := min(s.nodes/10, overlays*maxNames)
		for k := o; k < shared; k += overlays { // the members of one overlay are in many pools
			m := f.members[k*s.nodes/shared]
			m.pools = append(m.pools, p)
			p.Spec.NodeNames = append(p.Spec.NodeNames, m.name)
		}
	}
	if s.rollouts {
		f.everywhere = f.newPool("everywhere", channelLabel, "example.com/overlay", channelLabel)
		f.everywhere.Spec.NodeNames = []string{"*"}
		for _, m := range f.members {
			m.pools = append(m.pools, f.everywhere)
		}
	}
	return f
}

// maxNames is how many names a pool may list.
const maxNames = 1000

func (f *fleet) newPool(name, tier, own, taint string) *v1.NodePool {
	p := newPool(name, tier, own, taint)
	f.pools = append(f.pools, p)
	return p
}

func newPool(name, tier, own, taint string) *v1.NodePool {
	return &v1.NodePool{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1.GroupVersion.String(), Kind: "NodePool"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.NodePoolSpec{
			Labels: map[string]v1.LabelValue{tier: "t0", own: v1.LabelValue(name)},
			Taints: []v1.Taint{{Key: taint, Value: name, Effect: corev1.TaintEffectPreferNoSchedule}},
		},
	}
}

// groupOf is the group of nodes that a pool divides the nodes by.
func groupOf(p *v1.NodePool) string { return strings.Replace(p.Name, "pool-", "group-", 1) }

// setTier changes the label that changes.
func setTier(pools []*v1.NodePool, value string) {
	for _, p := range pools {
		for _, key := range []string{tierLabel, channelLabel} {
			if _, has := p.Spec.Labels[key]; has {
				p.Spec.Labels[key] = v1.LabelValue(value)
			}
		}
	}
}

func (f *fleet) add(name string, pools ...*v1.NodePool) *member {
	m := &member{name: name, index: len(f.members), pools: pools}
	f.members, f.byName[name] = append(f.members, m), m
	return m
}

// join adds a node that was not there at first, to one of the base pools.
func (f *fleet) join() *member {
	k := len(f.members)
	m := f.add(fmt.Sprintf("worker-%03d-new-%04d", k%f.base, k), f.pools[k%f.base])
	m.joins = true
	return m
}

// names of all nodes.
func (f *fleet) names() []string {
	names := make([]string, len(f.members))
	for i, m := range f.members {
		names[i] = m.name
	}
	return names
}

// expand works out the pools as the program does.
func (f *fleet) expand() *render.Expansion { return render.Expand(slices.Clone(f.pools)) }

// bare reports in what a node differs from the node without any pool.
func (f *fleet) bare(node *corev1.Node) error { return f.compare(node, false) }

// right reports in what a node differs from the node with its pools, down to the last
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
			labels[v1.RoleLabel(p.Name)] = ""
			for key, value := range p.Spec.Labels {
				labels[key] = string(value)
			}
			for _, t := range p.Spec.Taints {
				taints[t.Key+":"+string(t.Effect)] = t.Value
			}
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

// taintSet is the values of taints by key and effect.
func taintSet(taints []corev1.Taint) map[string]string {
	set := make(map[string]string, len(taints))
	for _, t := range taints {
		set[t.Key+":"+string(t.Effect)] = t.Value
	}
	return set
}
