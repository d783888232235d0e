package uninstall

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

func node(name, record string, more ...string) *plan.NodeState {
	n := &plan.NodeState{Name: name, Annotations: map[string]string{v1.AppliedAnnotation: record}}
	for _, key := range more {
		n.Annotations[key] = v1.Disabled
	}
	return n
}

func pool(name string, more ...string) *v1.NodePool {
	p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}}}
	for _, key := range more {
		p.Annotations[key] = v1.Disabled
	}
	return p
}

// here is what nodepools install --namespace here has installed.
var here = Installation{Namespace: "here", Definitions: true}

var world = plan.Cluster{
	Pools: []*v1.NodePool{pool("gpu"), pool("edge", v1.ReconcileAnnotation), pool("empty")},
	Nodes: []*plan.NodeState{
		node("n3", `{"version":1,"pools":{"gpu":{"labels":{"team":"ml"},"taints":{"gpu:NoSchedule":"yes"}},"edge":{"annotations":{"note":"x"}}},"before":{"labels":{"team":"web"}}}`),
		node("n1", `{"version":1,"pools":{"gpu":{"labels":{"team":"ml","tier":"a"}}}}`, v1.ReconcileAnnotation),
		node("n2", `{"version":1,"pools":{"gone":{"labels":{"left":"b"}}}}`),
		node("n4", "{"),
		{Name: "n5"},
	},
}

func TestPlan(t *testing.T) {
	source := &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: "platform", Annotations: map[string]string{v1.ReconcileAnnotation: v1.Disabled}}}
	got := Of("https://10.0.0.1:6443", world, []*v1.NodePoolSource{source}, here)
	want := &Plan{
		Cluster: "https://10.0.0.1:6443", Nodes: 4,
		Pools: []Pool{
			{Name: "edge", Exists: true, Paused: true, Nodes: []string{"n3"}, Annotations: []string{"note"}},
			{Name: "gone", Nodes: []string{"n2"}, Labels: []string{"left"}},
			{Name: "gpu", Exists: true, Nodes: []string{"n1", "n3"}, Labels: []string{"team", "tier"}, Taints: []string{"gpu:NoSchedule"}, TakenOver: []string{"label team"}},
		},
		Unreadable: []string{"n4"}, PausedNodes: []string{"n1"},
		Steps: []Step{
			{"repair the records of n4, or accept that what is on them stays", ""},
			{"create the pool gone again: without it nothing may be released of it", `echo '{"apiVersion":"nodes.lailin.xyz/v1","kind":"NodePool","metadata":{"name":"gone"},"spec":{}}' | kubectl create -f -`},
			{"approve that all nodes are released", "kubectl annotate --overwrite nodepools.nodes.lailin.xyz --all nodes.lailin.xyz/approveRelease=deletion"},
			{"delete the sources, so that none brings pools back", "kubectl delete nodepoolsources.nodes.lailin.xyz --all --wait=false"},
			{"delete the pools while the controller runs, which releases the nodes", "kubectl delete nodepools.nodes.lailin.xyz --all --wait=false"},
			{"resume what is paused: nothing is removed from a paused node", "kubectl annotate node n1 nodes.lailin.xyz/reconcile-"},
			{"resume what is paused: a paused pool releases nothing", "kubectl annotate nodepools.nodes.lailin.xyz edge nodes.lailin.xyz/reconcile-"},
			{"wait until they are gone; if some are not in time, 'nodepools status' says what each waits for. Do not go on before none is left: run this again", "kubectl wait --for=delete nodepools.nodes.lailin.xyz,nodepoolsources.nodes.lailin.xyz --all --timeout=10m"},
			{"see that nothing stays", "nodepools uninstall --plan"},
			{"remove the viewer, if there is one", "nodepools install --viewer --namespace here | kubectl delete --ignore-not-found -f -"},
			{"remove the controller and the definitions; not before no pool is left: it is the controller that cleans nodes, and without it they keep the taints and labels of pools",
				"nodepools install --rollout --webhook --create-namespace=false --namespace here | kubectl delete --ignore-not-found -f -"},
			{"remove the lease, which the controller has made itself", "kubectl delete lease nodepools --namespace here --ignore-not-found"},
			{"see what is left in the namespace here, which stays, as others may use it: it is theirs, or Secrets of sources, beside what Kubernetes puts into each. Only if none of it is needed, delete it by hand: kubectl delete namespace here",
				`kubectl get "$(kubectl api-resources --namespaced --verbs=list -o name | paste -sd, -)" --namespace here --ignore-not-found -o name`},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

// What was there before the pools, and goes with them, is said before it goes.
func TestPlanOfAdoptedKeys(t *testing.T) {
	cluster := plan.Cluster{Pools: []*v1.NodePool{pool("gpu")}, Nodes: []*plan.NodeState{
		node("n1", `{"version":1,"pools":{"gpu":{"labels":{"team":"ml","new":"x"}}},"adopted":{"labels":{"team":"web","new":null}}}`),
	}}
	got := Of("s", cluster, nil, here)
	if want := []string{"label team"}; len(got.Pools) != 1 || !slices.Equal(got.Pools[0].Adopted, want) || got.Pools[0].TakenOver != nil {
		t.Errorf("got %+v, want %q adopted", got.Pools, want)
	}
	if len(got.Steps) == 0 || !strings.Contains(got.Steps[0].Why, "what gpu adopted") || got.Steps[0].Command != "" {
		t.Errorf("nobody is asked whether it may go: %+v", got.Steps)
	}
}

// Where the definitions are gone, pools are as well, and none can be created before they
// are back.
func TestPlanWithoutDefinitions(t *testing.T) {
	cluster := plan.Cluster{Nodes: []*plan.NodeState{node("n1", `{"version":1,"pools":{"gone":{"labels":{"a":"b"}}}}`)}}
	var commands []string
	for _, step := range Of("s", cluster, nil, Installation{Namespace: "here"}).Steps {
		commands = append(commands, step.Command)
	}
	if len(commands) < 2 || commands[0] != "nodepools install --crds-only | kubectl apply --server-side -f -" || !strings.Contains(commands[1], "kubectl create") {
		t.Errorf("the first commands are to install and to create: %q", commands)
	}
	if want := "nodepools install --rollout --webhook --create-namespace=false --namespace here | kubectl delete --ignore-not-found -f -"; !slices.Contains(commands, want) {
		t.Errorf("no command removes the definitions again: %q", commands)
	}
}

// Where there is nothing to clean, there is nothing to do but to remove the controller.
func TestPlanOfACleanCluster(t *testing.T) {
	for reason, test := range map[string]struct {
		installed bool
		steps     int
	}{"installed": {true, 4}, "not installed": {false, 0}} {
		got := Of("s", plan.Cluster{Nodes: []*plan.NodeState{{Name: "n1"}}}, nil, Installation{Namespace: "here", Definitions: test.installed})
		if !got.Clean || got.Nodes != 0 || len(got.Steps) != test.steps {
			t.Errorf("%s: got %+v", reason, got)
		}
	}
}

func TestText(t *testing.T) {
	var text strings.Builder
	if err := Of("https://10.0.0.1:6443", world, nil, Installation{Namespace: "here"}).WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"uninstalled from https://10.0.0.1:6443 now, 4 nodes would keep what pools have\n  put there\n",
		"\npool edge, which is paused, on 1: n3\n  annotations: note\n",
		"\npool gone, which is gone, on 1: n2\n  labels: left\n",
		"\npool gpu, on 2: n1, n3\n  labels: team, tier\n  taints: gpu:NoSchedule\n  not restored: label team\n",
		"\nnot known, as the record cannot be read, on 1: n4\n",
		"\nto uninstall, in this order\n1. repair the records of n4",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, text.String())
		}
	}
}
