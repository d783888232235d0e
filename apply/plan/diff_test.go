package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// reported writes a difference in a few words.
func reported(d *Difference) []string {
	var lines []string
	for _, change := range d.Pools.Changes {
		lines = append(lines, fmt.Sprintf("pool %s %s", change.Action, change.Name))
	}
	for _, change := range d.RuntimeClasses {
		lines = append(lines, fmt.Sprintf("class %s %s", change.Action, change.Name()))
	}
	for _, node := range d.Nodes {
		lines = append(lines, fmt.Sprintf("node %s: %d changes, %d conflicts", node.Name, len(node.Changes), len(node.Conflicts)))
	}
	for _, problem := range d.Problems {
		lines = append(lines, "problem: "+problem.Error())
	}
	return lines
}

func TestDiff(t *testing.T) {
	labels := func(value string) map[string]v1.LabelValue {
		return map[string]v1.LabelValue{"k": v1.LabelValue(value)}
	}
	named := func(pattern string, spec v1.NodePoolSpec) v1.NodePoolSpec {
		spec.NodeNames = []string{pattern}
		return spec
	}
	node := func(name string, edit ...func(*NodeState)) *NodeState {
		node := newNode(name)
		for _, each := range edit {
			each(node)
		}
		return node
	}
	// carries makes a node carry what the pools put there.
	carries := func(pools ...*v1.NodePool) func(*NodeState) {
		return func(node *NodeState) {
			written, _ := newServer().write(t, node, expand(pools...))
			*node = *written
		}
	}
	a := fromGit("a", named("n*", v1.NodePoolSpec{Labels: labels("1")}))
	prune := PrunePolicy{Enabled: true, Limit: intstr.FromString("100%")}
	pausedByHand := a.DeepCopy()
	pausedByHand.Annotations[v1.ReconcileAnnotation] = v1.Disabled
	cases := map[string]struct {
		reason  string
		pools   []render.Definition
		cluster Cluster
		want    []string
		empty   bool
	}{
		"nothing": {
			"the cluster is as the files say",
			[]render.Definition{inFile("a", a.Spec)},
			Cluster{Pools: []*v1.NodePool{a}, RuntimeClasses: []*nodev1.RuntimeClass{ownedClass(a, nil)}, Nodes: []*NodeState{node("n1", carries(a)), node("m")}},
			nil, true,
		},
		"first of all": {
			"the pool, its RuntimeClass, and its nodes by name",
			[]render.Definition{inFile("a", a.Spec)},
			Cluster{Nodes: []*NodeState{node("n2"), node("m"), node("n1")}},
			[]string{"pool create a", "class create node-pool-a", "node n1: 2 changes, 0 conflicts", "node n2: 2 changes, 0 conflicts"}, false,
		},
		"changed": {
			"what is different, and only that",
			[]render.Definition{inFile("a", named("n*", v1.NodePoolSpec{Labels: labels("2"), Handler: "kata"}))},
			Cluster{Pools: []*v1.NodePool{a}, RuntimeClasses: []*nodev1.RuntimeClass{ownedClass(a, nil)}, Nodes: []*NodeState{node("n1", carries(a))}},
			[]string{"pool update a", "class replace node-pool-a", "node n1: 1 changes, 0 conflicts"}, false,
		},
		"deleted": {
			"the RuntimeClass goes with its owner, the node is released, and a class of others stays",
			[]render.Definition{inFile("b", named("x", v1.NodePoolSpec{}))},
			Cluster{
				Pools:          []*v1.NodePool{a, fromGit("b", named("x", v1.NodePoolSpec{})), fromGit("c", named("x", v1.NodePoolSpec{}))},
				RuntimeClasses: []*nodev1.RuntimeClass{ownedClass(fromGit("b", named("x", v1.NodePoolSpec{})), nil), ownedClass(a, nil), {ObjectMeta: metav1.ObjectMeta{Name: "node-pool-c"}}},
				Nodes:          []*NodeState{node("n1", carries(a))},
			},
			[]string{"pool delete a", "pool delete c", "class delete node-pool-a", "node n1: 2 changes, 0 conflicts"}, false,
		},
		"conflict": {
			"it is reported, and is no difference",
			[]render.Definition{inFile("a", a.Spec)},
			Cluster{Pools: []*v1.NodePool{a}, RuntimeClasses: []*nodev1.RuntimeClass{ownedClass(a, nil)}, Nodes: []*NodeState{
				node("n1", func(node *NodeState) { node.Labels = map[string]string{"k": "theirs"} }, carries(a)),
			}},
			[]string{"node n1: 0 changes, 1 conflicts"}, true,
		},
		"problems": {
			"each is reported, pools first, then RuntimeClasses, then nodes by name; the rest goes on",
			[]render.Definition{inFile("a", a.Spec)},
			Cluster{
				Pools:          []*v1.NodePool{a, define("orphan", v1.NodePoolSpec{Parent: "gone"})},
				RuntimeClasses: []*nodev1.RuntimeClass{{ObjectMeta: metav1.ObjectMeta{Name: "node-pool-a"}}},
				Nodes: []*NodeState{
					node("n2", func(node *NodeState) { node.Annotations = map[string]string{v1.AppliedAnnotation: "?"} }),
					node("n1", func(node *NodeState) { node.Annotations = map[string]string{v1.ReconcileAnnotation: v1.Disabled} }),
					node("m", func(node *NodeState) { node.Annotations = map[string]string{v1.ReconcileAnnotation: v1.Disabled} }),
				},
			},
			[]string{
				`problem: pool "orphan" names the parent "gone", which does not exist`,
				`problem: RuntimeClass "node-pool-a" exists and is not owned by pool "a"`,
				`problem: node "n1" is paused by its annotation nodes.lailin.xyz/reconcile`,
				`problem: node "n2": annotation nodes.lailin.xyz/applied: not a record: invalid character '?' looking for beginning of value`,
			}, true,
		},
		"paused by hand": {
			"the record of the pool follows Git; its RuntimeClass and its nodes follow what was accepted, new ones, too",
			[]render.Definition{inFile("a", named("n*", v1.NodePoolSpec{Labels: labels("2"), Handler: "kata"}))},
			Cluster{Pools: []*v1.NodePool{pausedByHand}, RuntimeClasses: []*nodev1.RuntimeClass{ownedClass(a, nil)}, Nodes: []*NodeState{node("n1", carries(a)), node("n2")}},
			[]string{"pool update a", "node n2: 2 changes, 0 conflicts", "problem: pool \"a\" is paused by its annotation nodes.lailin.xyz/reconcile: its nodes follow what was accepted before"}, false,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for range 2 { // whatever the order
				d, err := Diff(Revision{Source: "team", SourceUID: teamUID, Name: "main@sha1:new", Prune: prune, Pools: c.pools}, c.cluster)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, reported(d)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", c.reason, diff)
				}
				if d.Empty() != c.empty {
					t.Errorf("empty: %v: %s", d.Empty(), c.reason)
				}
				slices.Reverse(c.cluster.Pools)
				slices.Reverse(c.cluster.Nodes)
				slices.Reverse(c.cluster.RuntimeClasses)
			}
		})
	}
}

// A revision that would not be taken has no difference to show.
func TestDiffOfClaims(t *testing.T) {
	d, err := Diff(Revision{Source: "other", Pools: []render.Definition{inFile("a", v1.NodePoolSpec{})}}, Cluster{Pools: []*v1.NodePool{fromGit("a", v1.NodePoolSpec{})}})
	var claims *ClaimError
	if d != nil || !errors.As(err, &claims) {
		t.Fatalf("%v, %v", d, err)
	}
	if !strings.Contains(err.Error(), `a.yaml:3`) {
		t.Errorf("not reported where: %v", err)
	}
}
