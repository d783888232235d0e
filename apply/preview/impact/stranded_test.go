package impact

import (
	"testing"

	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// TestStrandedPods covers which pods without a node are listed, and what is said of them.
func TestStrandedPods(t *testing.T) {
	role := "node-role.kubernetes.io/gpu"
	was, is := newClass("gpu", "runc", asking(role, "tier=old")), newClass("gpu", "runc", asking(role, "tier=new"))
	before, after := words(role, "tier=old"), words(role, "tier=new")
	train := inShop("Job", "train")
	command := "kubectl delete --namespace shop pod/train-1"
	cases := map[string]struct {
		reason string
		scene  *scene
		want   []Stranded
	}{
		"label changes": {"the Job does not replace its pod",
			(&scene{}).node("n", before, after).class(was, is).workload("Job", "train", naming("gpu", asking())).waiting("train-1", "Job", "train", naming("gpu", asking(role, "tier=old"))),
			[]Stranded{{Workload: train, RuntimeClass: "gpu", Pods: []string{"train-1"}, Remedy: command}}},
		"stranded already": {"the change does nothing to it",
			(&scene{}).node("n", before, after).class(was, is).workload("Job", "train", naming("gpu", asking())).waiting("train-1", "Job", "train", naming("gpu", asking(role, "tier=ancient"))),
			nil},
		"another node takes it": {"it is not stranded as long as one does",
			(&scene{}).node("n", before, after).node("m", before, before).class(was, is).workload("Job", "train", naming("gpu", asking())).waiting("train-1", "Job", "train", naming("gpu", asking(role, "tier=old"))),
			nil},
		"nothing makes it anew": {"there is no command that helps",
			(&scene{}).node("n", before, after).class(was, is).waiting("p", "", "", naming("gpu", asking(role, "tier=old"))),
			[]Stranded{{Workload: inShop("Pod", "p"), RuntimeClass: "gpu", Pods: []string{"p"}, NotRecreated: true}}},
		"RuntimeClass goes": {"the next pod is refused",
			(&scene{}).node("n", before, nil).class(was, nil).workload("Job", "train", naming("gpu", asking())).waiting("train-1", "Job", "train", naming("gpu", asking(role, "tier=old"))),
			[]Stranded{{Workload: train, RuntimeClass: "gpu", Pods: []string{"train-1"}, NoFeasibleNode: true}}},
		"the template says it, too": {"the next pod is refused, as both select other values",
			(&scene{}).node("n", before, after).class(was, is).workload("Job", "train", naming("gpu", asking("tier=old"))).waiting("train-1", "Job", "train", naming("gpu", asking(role, "tier=old"))),
			[]Stranded{{Workload: train, RuntimeClass: "gpu", Pods: []string{"train-1"}, NoFeasibleNode: true}}},
		"the nodes go to another pool": {"the next pod is created, and waits",
			(&scene{}).node("n", before, nil).class(was, is).workload("Job", "train", naming("gpu", asking())).waiting("train-1", "Job", "train", naming("gpu", asking(role, "tier=old"))),
			[]Stranded{{Workload: train, RuntimeClass: "gpu", Pods: []string{"train-1"}, NoFeasibleNode: true, Remedy: command}}},
		"DaemonSet": {"its pods wait for nodes of other pools",
			(&scene{}).node("n", before, after).class(was, is).workload("DaemonSet", "driver", naming("gpu", asking())).waiting("driver-1", "DaemonSet", "driver", naming("gpu", needing(asking(role, "tier=old"), onNode("m")))),
			nil},
	}
	for _, name := range sortedNames(cases) {
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			got := c.scene.of()
			want, only := whole(Impact{Stranded: c.want}), whole(Impact{Stranded: got.Stranded})
			expectEqual(t, c.reason, want, &only)
		})
	}
}

// waiting adds a pod of a workload without a node.
func (s *scene) waiting(name, kind, workload string, asks inventory.Scheduling) *scene {
	pod := inventory.Pod{Namespace: "shop", Name: name, Scheduling: asks}
	if kind != "" {
		pod.Owner = inventory.Owner{Kind: kind, Namespace: "shop", Name: workload}
	}
	s.before.Waiting = append(s.before.Waiting, pod)
	return s
}
