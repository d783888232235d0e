package main

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// whole is the node as it is when everybody has written it, but for managed fields.
func (m *member) whole() *corev1.Node {
	node := m.registration()
	node.Status = m.status(time.Unix(1_700_000_000, 0))
	return node
}

// The API server adds 2 to 3 KiB of managed fields; a run checks the whole.
func TestNodeSize(t *testing.T) {
	const managedFields = 2500
	for _, m := range newFleet(size{nodes: 300, pools: 10, overlap: 30}).members {
		text, err := json.Marshal(m.whole())
		if err != nil {
			t.Fatal(err)
		}
		if n := len(text) + managedFields; n < minNodeBytes || n > maxNodeBytes {
			t.Fatalf("node %s has %d bytes and its managed fields, expected %d to %d together", m.name, len(text), minNodeBytes, maxNodeBytes)
		}
	}
}

// What the fleet says of its nodes is what render makes of its pools.
func TestFleetIsWhatPoolsMean(t *testing.T) {
	for name, s := range map[string]size{
		"the default":         {nodes: 5000, pools: 100, overlap: 500},
		"one pool":            {nodes: 7, pools: 1, overlap: 3},
		"two pools":           {nodes: 7, pools: 2, overlap: 3},
		"all in two":          {nodes: 40, pools: 20, overlap: 40},
		"pools of one node":   {nodes: 9, pools: 10, overlap: 2},
		"pools of two sizes":  {nodes: 1000, pools: 100, overlap: 100},
		"nobody in two pools": {nodes: 10, pools: 4, overlap: 0},
		"a pool of all":       {nodes: 10, pools: 4, rollouts: true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := s.check(); err != nil {
				t.Fatal(err)
			}
			f := newFleet(s)
			f.join(0)
			f.join(5)
			want := s.pools
			if s.rollouts {
				want++
			}
			if len(f.pools) != want || len(f.members) != s.nodes+2 || len(f.byName) != s.nodes+2 {
				t.Fatalf("there are %d pools and %d nodes of %d names", len(f.pools), len(f.members), len(f.byName))
			}
			pools, inTwo := f.expand(), 0
			for _, m := range f.members {
				node := m.registration()
				p, err := plan.Node(plan.StateOf(node), pools)
				if err != nil {
					t.Fatal(err)
				}
				if len(p.Conflicts) > 0 {
					t.Fatalf("node %s has conflicts: %v", m.name, p.Conflicts)
				}
				if got, want := p.Pools, poolNames(m); !slices.Equal(got, want) {
					t.Fatalf("node %s is in %v, expected %v", m.name, got, want)
				}
				if err := f.bare(node); err != nil {
					t.Fatal(err)
				}
				if err := f.right(node); err == nil {
					t.Fatalf("node %s is right before anybody has written it", m.name)
				}
				if err := f.right(after(p, node)); err != nil {
					t.Fatalf("after the plan: %v", err)
				}
				if len(m.pools) > 1 {
					inTwo++
				}
			}
			shared := s.overlap
			if s.rollouts {
				shared = len(f.members)
			}
			if s.pools > 1 && inTwo != shared {
				t.Errorf("%d nodes are in two pools, expected %d", inTwo, shared)
			}
		})
	}
}

func poolNames(m *member) []string {
	var names []string
	for _, p := range m.pools {
		names = append(names, p.name)
	}
	return slices.Sorted(slices.Values(names))
}

// A node is right only when nothing of others is touched.
func TestRightSeesEverything(t *testing.T) {
	f := newFleet(size{nodes: 20, pools: 4, overlap: 2})
	m := f.members[0]
	if len(m.taints()) == 0 {
		t.Fatal("the node has no taint of others")
	}
	p, err := plan.Node(plan.StateOf(m.registration()), f.expand())
	if err != nil {
		t.Fatal(err)
	}
	for reason, spoil := range map[string]func(*corev1.Node){
		"a label is missing":             func(n *corev1.Node) { delete(n.Labels, tierLabel) },
		"a label has another value":      func(n *corev1.Node) { n.Labels[tierLabel] = "t9" },
		"a label of others is gone":      func(n *corev1.Node) { delete(n.Labels, "rack.example.com/name") },
		"there is a label too many":      func(n *corev1.Node) { n.Labels["more"] = "" },
		"the role is missing":            func(n *corev1.Node) { delete(n.Labels, v1.RoleLabel(m.pools[0].name)) },
		"a taint of others is gone":      func(n *corev1.Node) { n.Spec.Taints = n.Spec.Taints[1:] },
		"a taint is missing":             func(n *corev1.Node) { n.Spec.Taints = n.Spec.Taints[:1] },
		"there is a taint too many":      func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "more"}) },
		"a taint of others has no value": func(n *corev1.Node) { n.Spec.Taints[0].Value = "" },
	} {
		node := after(p, m.registration())
		if err := f.right(node); err != nil {
			t.Fatal(err)
		}
		spoil(node)
		if f.right(node) == nil {
			t.Errorf("%s, and the node is right", reason)
		}
	}
}

// The patch between two rounds takes off what pools and scripts put on, and no more.
func TestCleaning(t *testing.T) {
	f := newFleet(size{nodes: 20, pools: 4, overlap: 2})
	m := f.members[0]
	p, err := plan.Node(plan.StateOf(m.registration()), f.expand())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(f.cleaning(after(p, m.registration())))
	if err != nil {
		t.Fatal(err)
	}
	var patch struct {
		Metadata struct{ Labels, Annotations map[string]*string }
		Spec     corev1.NodeSpec
	}
	if err := json.Unmarshal(text, &patch); err != nil {
		t.Fatal(err)
	}
	want := []string{"example.com/channel", "example.com/overlay", "example.com/pool", "example.com/tier", v1.RoleLabel("overlay-000"), v1.RoleLabel("pool-000")}
	if got := slices.Sorted(maps.Keys(patch.Metadata.Labels)); !slices.Equal(got, want) {
		t.Errorf("labels %v go, expected %v", got, want)
	}
	if _, gone := patch.Metadata.Annotations[v1.AppliedAnnotation]; !gone || len(patch.Metadata.Annotations) != 1 {
		t.Errorf("annotations %v go, expected the record", patch.Metadata.Annotations)
	}
	if !maps.Equal(taintSet(patch.Spec.Taints), taintSet(m.taints())) {
		t.Errorf("taints are then %v", patch.Spec.Taints)
	}
}

func TestPoolFiles(t *testing.T) {
	f := newFleet(size{nodes: 40, pools: 10, overlap: 4})
	ways := map[string]int{}
	for _, p := range append(f.pools, spare) {
		text, err := p.file()
		if err != nil {
			t.Fatal(err)
		}
		if len(text) == 0 {
			t.Errorf("pool %s has an empty file", p.name)
		}
		switch record := p.record(); {
		case record.Spec.Selector != nil:
			ways["label"]++
		case p.names != nil:
			ways["names"]++
		default:
			ways["pattern"]++
		}
	}
	if len(ways) != 3 {
		t.Errorf("nodes are chosen by %v", ways)
	}
}

func TestUsualPool(t *testing.T) {
	f := newFleet(size{nodes: 5000, pools: 100, overlap: 500})
	if n := len(f.membersOf(f.usual())); n != 50 {
		t.Errorf("it has %d nodes, expected 50", n)
	}
}

// after is a node once a plan is carried out on it.
func after(p *plan.NodePlan, node *corev1.Node) *corev1.Node {
	return p.After(plan.StateOf(node)).Object()
}
