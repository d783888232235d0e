package adopt_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/adopt"
	"github.com/nodepools/nodepools/apply/plan"
)

// on makes a node of words: a role "@gpu", a label "team=a", a taint "!dedicated=gpu".
func on(name string, words ...string) *plan.NodeState {
	node := &plan.NodeState{Name: name, Labels: map[string]string{}}
	for _, word := range words {
		key, value, _ := strings.Cut(strings.TrimLeft(word, "@!"), "=")
		switch word[0] {
		case '@':
			node.Labels[v1.RoleLabel(key)] = value
		case '!':
			node.Taints = append(node.Taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffectNoSchedule})
		default:
			node.Labels[key] = value
		}
	}
	return node
}

// outline is a pool in the same words: its name, what it is within, what chooses its
// members, and what it carries.
func outline(pool adopt.Pool) string {
	words := []string{pool.Name}
	if pool.Spec.Parent != "" {
		words = append(words, "<"+pool.Spec.Parent)
	}
	switch selector := pool.Spec.Selector; {
	case selector != nil && len(selector.MatchLabels) > 0:
		words = append(words, "?"+metav1.FormatLabelSelector(selector.MetaV1()))
	case selector != nil:
		words = append(words, fmt.Sprintf("?%s in %v", selector.MatchExpressions[0].Key, selector.MatchExpressions[0].Values))
	case len(pool.Spec.NodeNames) > 0:
		words = append(words, fmt.Sprint(pool.Spec.NodeNames))
	default:
		words = append(words, "?@")
	}
	var carried []string
	for key, value := range pool.Spec.Labels {
		carried = append(carried, key+"="+string(value))
	}
	for _, taint := range pool.Spec.Taints {
		carried = append(carried, "!"+taint.Key+"="+taint.Value)
	}
	slices.Sort(carried)
	return strings.Join(append(words, carried...), " ")
}

func TestPropose(t *testing.T) {
	cases := map[string]struct {
		reason  string
		nodes   []*plan.NodeState
		options adopt.Options
		want    []string
	}{
		"role": {
			"what all nodes of a role have in common is its pool's",
			[]*plan.NodeState{on("n1", "@gpu", "env=prod", "!gpu=yes"), on("n2", "@gpu", "env=prod", "!gpu=yes")}, adopt.Options{},
			[]string{"gpu ?@ !gpu=yes env=prod"},
		},
		"roles within roles": {
			"what a role around it carries is said there alone",
			[]*plan.NodeState{on("n1", "@gpu", "@worker", "env=prod", "card=a100"), on("n2", "@worker", "env=prod")}, adopt.Options{},
			[]string{"gpu <worker ?@ card=a100", "worker ?@ env=prod"},
		},
		"roles of the same nodes": {
			"one pool is enough",
			[]*plan.NodeState{on("n1", "@node", "@worker", "env=prod")}, adopt.Options{},
			[]string{"node ?@ env=prod"},
		},
		"control plane": {
			"its role chooses, and is not carried",
			[]*plan.NodeState{on("n1", "@control-plane", "@master", "etcd=fast", "!node-role.kubernetes.io/control-plane")}, adopt.Options{},
			[]string{"control-plane ?@ etcd=fast"},
		},
		"role with a value": {
			"no pool chooses by it",
			[]*plan.NodeState{on("n1", "@gpu=true", "team=red")}, adopt.Options{},
			[]string{"red [n1] team=red"},
		},
		"more than the role": {
			"what only some of a role have is a pool within it",
			[]*plan.NodeState{on("n1", "@worker", "env=prod", "team=red"), on("n2", "@worker", "env=prod")}, adopt.Options{},
			[]string{"red <worker [n1] team=red", "worker ?@ env=prod"},
		},
		"no new roles": {
			"what takes a pool of its own is left out",
			[]*plan.NodeState{on("n1", "@worker", "env=prod", "team=red"), on("n2", "@worker", "env=prod"), on("n3", "team=red")}, adopt.Options{NoNewRoles: true},
			[]string{"worker ?@ env=prod"},
		},
		"no new roles, protected label": {
			"no pool is left that chooses by it, so the role carries it",
			[]*plan.NodeState{on("n1", "@worker", "node-restriction.kubernetes.io/tenant=a"), on("n2", "node-restriction.kubernetes.io/tenant=b", "x=1")}, adopt.Options{NoNewRoles: true},
			[]string{"worker ?@ node-restriction.kubernetes.io/tenant=a"},
		},
		"excluded role": {
			"it is a label like any other",
			[]*plan.NodeState{on("n1", "@gpu", "team=red")}, adopt.Options{Exclude: []string{v1.RoleLabel("gpu")}},
			[]string{"red [n1] team=red"},
		},
		"same labels, other roles": {
			"they are apart today",
			[]*plan.NodeState{on("n1", "@infra", "team=red", "x=1"), on("n2", "@edge", "team=red"), on("n3", "@infra"), on("n4", "@edge")}, adopt.Options{},
			[]string{"edge-red [n2] team=red", "x [n1] team=red x=1"},
		},
		"protected label": {
			"it distinguishes the nodes, and no kubelet may set it",
			[]*plan.NodeState{on("n1", "node-restriction.kubernetes.io/tenant=a", "!tenant=a"), on("n2", "node-restriction.kubernetes.io/tenant=b", "!tenant=b")}, adopt.Options{},
			[]string{"tenant-a ?node-restriction.kubernetes.io/tenant=a !tenant=a", "tenant-b ?node-restriction.kubernetes.io/tenant=b !tenant=b"},
		},
		"nothing but a protected label": {
			"a pool that only chooses by it would carry nothing",
			[]*plan.NodeState{on("n1", "node-restriction.kubernetes.io/tenant=a")}, adopt.Options{},
			[]string{"tenant-a [n1] node-restriction.kubernetes.io/tenant=a"},
		},
		"protected label that distinguishes nothing": {
			"other nodes have the same value",
			[]*plan.NodeState{on("n1", "node-restriction.kubernetes.io/tenant=a", "team=red"), on("n2", "node-restriction.kubernetes.io/tenant=a")}, adopt.Options{},
			[]string{"red [n1] node-restriction.kubernetes.io/tenant=a team=red", "tenant-a [n2] node-restriction.kubernetes.io/tenant=a"},
		},
		"label of a node pool of a cloud": {
			"a kubelet may set it, so nobody chooses by it unasked",
			[]*plan.NodeState{on("n1", "cloud.google.com/gke-nodepool=x", "team=red")}, adopt.Options{},
			[]string{"red [n1] team=red"},
		},
		"select by": {
			"several node pools of the cloud are one pool",
			[]*plan.NodeState{on("n1", "cloud.google.com/gke-nodepool=x", "team=red"), on("n2", "cloud.google.com/gke-nodepool=y", "team=red"), on("n3", "cloud.google.com/gke-nodepool=z")},
			adopt.Options{SelectBy: []string{"cloud.google.com/gke-nodepool"}},
			[]string{"red ?cloud.google.com/gke-nodepool in [x y] team=red"},
		},
		"exclude": {
			"nodes that differ in it alone are alike",
			[]*plan.NodeState{on("n1", "team=red", "rack=1"), on("n2", "team=red", "rack=2")}, adopt.Options{Exclude: []string{"rack"}},
			[]string{"red [n1 n2] team=red"},
		},
		"include": {
			"whoever set it, but not what nodepools refuses",
			[]*plan.NodeState{on("n1", "nvidia.com/gpu.product=A100", "kubernetes.io/os=linux", "topology.kubernetes.io/zone=z", "!node.kubernetes.io/unschedulable")},
			adopt.Options{Include: []string{"*", "*/*"}},
			[]string{"gpu-product-a100 [n1] nvidia.com/gpu.product=A100"},
		},
		"names": {
			"short ones that people would give",
			[]*plan.NodeState{on("n1", "team=a", "ssd=true"), on("n2", "team=a", "ssd=false"), on("n3", "team=b"), on("n4", "example.com/tier=Ingress_1", "!x=y")}, adopt.Options{},
			[]string{"ingress-1 [n4] !x=y example.com/tier=Ingress_1", "ssd [n1] ssd=true team=a", "ssd-false [n2] ssd=false team=a", "team-b [n3] team=b"},
		},
		"name of a role": {
			"its nodes would look like members",
			[]*plan.NodeState{on("n1", "team=infra"), on("n2", "@infra")}, adopt.Options{},
			[]string{"infra-2 [n1] team=infra"},
		},
		"name of the control plane": {
			"it has a meaning to Kubernetes",
			[]*plan.NodeState{on("n1", "team=master")}, adopt.Options{},
			[]string{"master-2 [n1] team=master"},
		},
		"patterns": {
			"nodes that join are members",
			[]*plan.NodeState{on("gpu-1", "team=red"), on("gpu-2", "team=red"), on("web-1")}, adopt.Options{Patterns: true},
			[]string{"red [gpu-*] team=red"},
		},
		"name of the node": {
			"a label that says it is for no pool",
			[]*plan.NodeState{on("a.example.com", "host=a", "fqdn=a.example.com"), on("b.example.com", "host=b", "fqdn=b.example.com", "tier=b")}, adopt.Options{},
			[]string{"tier-b [b.example.com] tier=b"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			proposal, err := adopt.Propose(plan.Cluster{Nodes: c.nodes}, c.options)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, pool := range proposal.Pools {
				got = append(got, outline(pool))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// What pools have, or choose by, is theirs, and so are their names.
func TestExistingPools(t *testing.T) {
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "red"}}
	pool.Spec.Selector = &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"rack": "1"}}
	pool.Spec.Labels = map[string]v1.LabelValue{"owned": "yes", "conflicting": "yes"}
	v1.SetNodePoolDefaults(pool)
	cluster := atRest(t, plan.Cluster{
		Pools: []*v1.NodePool{pool},
		RuntimeClasses: []*nodev1.RuntimeClass{
			{ObjectMeta: metav1.ObjectMeta{Name: v1.RuntimeClassName("gpu")}, Handler: "nvidia"},
		},
		Nodes: []*plan.NodeState{on("n1", "rack=1", "conflicting=no", "team=red"), on("n2", "@gpu", "card=a100")},
	})
	torn := on("n3", "team=red")
	torn.Annotations = map[string]string{v1.AppliedAnnotation: "torn"}
	cluster.Nodes = append(cluster.Nodes, torn)
	proposal, err := adopt.Propose(cluster, adopt.Options{SelectBy: []string{"nothing"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, pool := range proposal.Pools {
		got = append(got, outline(pool))
	}
	for _, left := range proposal.LeftOut {
		got = append(got, fmt.Sprintf("%s %s: %s", left.Field, left.Key, left.Why))
	}
	got = append(got, fmt.Sprint(proposal.Unreadable, proposal.Unused, proposal.OwnersUnknown))
	want := []string{
		"card-a100 [n2] card=a100",
		"red-2 [n1] team=red",
		"label node-role.kubernetes.io/gpu: a role that is no pool, as the RuntimeClass node-pool-gpu exists",
		`label node-role.kubernetes.io/red: of pool "red" already`,
		`label owned: of pool "red" already`,
		`label rack: there for pool "red" to choose its members by`,
		`label conflicting: wanted by pool "red" already`,
		"[n3] [nothing] 2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("proposal (-want +got):\n%s", diff)
	}
}

// A record that names the pool of a role keeps others from proposing one, and may be
// forged: the reason names a node to look at.
func TestRecordNamesTheNode(t *testing.T) {
	recorded := func(node *plan.NodeState, pools ...string) *plan.NodeState {
		var record plan.Record
		record.Labels = map[string]plan.Entry{}
		for _, pool := range pools {
			record.Labels["of-"+pool] = plan.Entry{Pool: pool, Value: "yes"}
		}
		annotate(node, v1.AppliedAnnotation, record.String())
		return node
	}
	proposal, err := adopt.Propose(plan.Cluster{Nodes: []*plan.NodeState{
		recorded(on("n3", "@gpu", "@worker"), "gpu"), recorded(on("n2", "@gpu", "@worker"), "gpu", "worker"),
		on("n1", "@gpu", "@worker", "env=prod"), recorded(on("n4"), "gpu"),
	}}, adopt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, left := range proposal.LeftOut {
		got = append(got, left.Key+": "+left.Why)
	}
	want := []string{
		`node-role.kubernetes.io/gpu: a role that is no pool, as node "n2" and 2 more carry keys of a pool of that name`,
		`node-role.kubernetes.io/worker: a role that is no pool, as node "n2" carries keys of a pool of that name`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
}

// A pool carries as much as its schema allows; the rest is named.
func TestMoreThanAPoolMayCarry(t *testing.T) {
	var words []string
	for i := range 70 {
		words = append(words, fmt.Sprintf("key-%02d=yes", i), fmt.Sprintf("!taint-%02d=yes", i))
	}
	proposal, err := adopt.Propose(plan.Cluster{Nodes: []*plan.NodeState{on("n1", words...), on("n2", append(words, "@worker")...)}}, adopt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pool := range proposal.Pools {
		if len(pool.Spec.Labels) != 64 || len(pool.Spec.Taints) != 32 {
			t.Errorf("pool %s carries %d labels and %d taints", pool.Name, len(pool.Spec.Labels), len(pool.Spec.Taints))
		}
	}
	const why = "more than a pool may carry"
	left := slices.DeleteFunc(proposal.LeftOut, func(left adopt.LeftOut) bool { return left.Why != why })
	if len(proposal.Pools) != 2 || len(left) != 6+38 {
		t.Errorf("%d pools, and %d keys are left out as %s: %v", len(proposal.Pools), len(left), why, proposal.LeftOut)
	}
}

// More pools than a source may hold are an error that says which keys make them.
func TestTooManyPools(t *testing.T) {
	var nodes []*plan.NodeState
	for i := range 10_100 {
		nodes = append(nodes, on(fmt.Sprint("n", i), fmt.Sprint("rack=", i%101), fmt.Sprint("slot=", i%100), "env=prod"))
	}
	_, err := adopt.Propose(plan.Cluster{Nodes: nodes}, adopt.Options{})
	tooMany := (*adopt.TooManyError)(nil)
	if !errors.As(err, &tooMany) || tooMany.Pools != 10_100 || !slices.Equal(tooMany.Splitting, []string{"rack", "slot"}) {
		t.Errorf("the error is %v", err)
	}
	proposal, err := adopt.Propose(plan.Cluster{Nodes: nodes}, adopt.Options{Exclude: []string{"slot"}})
	if err != nil || len(proposal.Pools) != 101 {
		t.Errorf("without slots: %v", err)
	}
}

// The pools that take a part of the names each are numbered.
func TestNamesOfParts(t *testing.T) {
	var nodes []*plan.NodeState
	for i := range 6500 {
		name := fmt.Sprintf("x%08xz", uint32(i)*2654435761)
		if i%2 == 0 {
			nodes = append(nodes, on(name, "example.com/a-team-of-a-name-that-is-very-long-indeed=red", "env=prod"))
		} else {
			nodes = append(nodes, on(name))
		}
	}
	proposal, err := adopt.Propose(plan.Cluster{Nodes: nodes}, adopt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, pool := range proposal.Pools {
		got = append(got, pool.Name)
	}
	if want := []string{"env-prod", "env-prod-2", "env-prod-3", "env-prod-4"}; !slices.Equal(got, want) {
		t.Errorf("the pools are %v, want %v", got, want)
	}
}

func TestOptions(t *testing.T) {
	for _, options := range []adopt.Options{{Include: []string{"["}}, {Exclude: []string{"a", "[b-a"}}} {
		if _, err := adopt.Propose(plan.Cluster{}, options); err == nil {
			t.Errorf("%+v are taken", options)
		}
	}
}
