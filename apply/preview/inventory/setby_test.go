package inventory

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/apply/plan"
)

// A file says who set labels and taints. One of an earlier version does not, and is
// read all the same: nothing is known of it then.
func TestWhoSetLabelsAndTaints(t *testing.T) {
	setters := []plan.Setter{
		{Manager: "kubectl-label", Labels: []string{"env", "team"}},
		{Manager: "kubectl-taint", Taints: true},
		{Manager: "kubelet", Labels: []string{"kubernetes.io/os"}},
	}
	node := func(name string, by []plan.Setter) *plan.NodeState {
		n := &plan.NodeState{Name: name, Labels: map[string]string{"env": "prod", "team": "a", "kubernetes.io/os": "linux"}}
		n.Taints = []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}
		for _, setter := range by {
			n.ManagedFields = append(n.ManagedFields, plan.SetBy(setter)...)
		}
		return n
	}
	text := written(t, built(t, node("n-1", setters).Object(), node("n-2", setters).Object(), node("n-3", nil).Object()))
	if !strings.Contains(string(text), `"n-[1-2]"`) {
		t.Errorf("nodes that are alike do not stand together:\n%s", text)
	}
	read, err := Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]plan.Setter{setters, setters, {}} {
		if diff := cmp.Diff(want, plan.SettersOf(read.Nodes[i]).All()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", read.Nodes[i].Name, diff)
		}
	}
	earlier := `{"apiVersion": "inventory.nodes.lailin.xyz/v1", "kind": "Inventory", "nodes": [{"names": ["n"], "labels": {"env": "prod"}}]}`
	if read, err = Read(strings.NewReader(earlier)); err != nil {
		t.Fatal(err)
	}
	if of := plan.SettersOf(read.Nodes[0]).All(); len(of) > 0 {
		t.Errorf("a file without setBy says %v", of)
	}
}
