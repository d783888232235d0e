package impact

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// TestDaemonPods goes through when the DaemonSet controller removes a pod and
// when it starts one.
func TestDaemonPods(t *testing.T) {
	logs := inShop("DaemonSet", "logs")
	removed := func(pods ...string) Impact {
		return Impact{DaemonPods: []DaemonPods{{Workload: logs, Removed: on(pods...)}}}
	}
	started := func(nodes ...string) Impact {
		return Impact{DaemonPods: []DaemonPods{{Workload: logs, Started: nodes}}}
	}
	cases := map[string]struct {
		reason string
		scene  *scene
		want   Impact
	}{
		"label gone": {
			"the node no longer matches the node selector",
			(&scene{}).node("n", words("disk=ssd"), nil).workload("DaemonSet", "logs", asking("disk=ssd"), "n"),
			removed("logs-on-n n"),
		},
		"label that nobody selects": {
			"is nothing to a DaemonSet",
			(&scene{}).node("n", words("disk=ssd"), nil).workload("DaemonSet", "logs", asking(), "n"),
			Impact{},
		},
		"affinity": {
			"the node no longer matches the required node affinity",
			(&scene{}).node("n", nil, words("disk=hdd")).workload("DaemonSet", "logs", needing(asking(), labelled("disk", corev1.NodeSelectorOpNotIn, "hdd")), "n"),
			removed("logs-on-n n"),
		},
		"did not match before": {
			"the controller is about to remove it anyhow",
			(&scene{}).node("n", nil, words("zone=a")).workload("DaemonSet", "logs", asking("disk=ssd"), "n"),
			Impact{},
		},
		"label comes": {
			"a pod starts where the node matches now",
			(&scene{}).node("n", nil, words("disk=ssd")).node("m", nil, words("disk=hdd")).workload("DaemonSet", "logs", asking("disk=ssd")),
			started("n"),
		},
		"taint goes": {
			"a pod starts where a taint kept it out",
			(&scene{}).node("n", words("gpu=yes:NoSchedule"), nil).workload("DaemonSet", "logs", asking()),
			started("n"),
		},
		"taint comes": {
			"a NoSchedule taint leaves the pod that is there, and lets none come after it",
			(&scene{}).node("n", nil, words("gpu=yes:NoSchedule")).workload("DaemonSet", "logs", asking(), "n"),
			Impact{Unschedulable: []Unschedulable{{Workload: inShop("DaemonSet", "logs"), Reason: Words("does not tolerate gpu=yes:NoSchedule"), Pods: on("logs-on-n n"), NoFeasibleNode: true}}},
		},
		"still there": {
			"a pod that outlived the taint is not started again",
			(&scene{}).node("n", words("gpu=yes:NoSchedule"), nil).workload("DaemonSet", "logs", asking(), "n"),
			Impact{},
		},
		"a leftover that goes": {
			"a pod that is being deleted makes room for another",
			(&scene{}).node("n", nil, words("disk=ssd")).workload("DaemonSet", "logs", asking("disk=ssd"), "n").
				pods(func(pod *inventory.Pod) { pod.Terminating = true }),
			started("n"),
		},
		"from one node to another": {
			"nodes and pods are sorted",
			(&scene{}).node("d", words("disk=ssd"), nil).node("c", nil, words("disk=ssd")).node("b", words("disk=ssd"), nil).node("a", nil, words("disk=ssd")).
				workload("DaemonSet", "logs", asking("disk=ssd"), "d", "b"),
			Impact{DaemonPods: []DaemonPods{{Workload: logs, Removed: on("logs-on-b b", "logs-on-d d"), Started: words("a", "c")}}},
		},
		"default tolerations": {
			"taints of node conditions keep no pod of a DaemonSet out",
			(&scene{}).node("n", words("node.kubernetes.io/disk-pressure:NoSchedule", "node.kubernetes.io/memory-pressure:NoSchedule",
				"node.kubernetes.io/pid-pressure:NoSchedule", "node.kubernetes.io/unschedulable:NoSchedule",
				"node.kubernetes.io/not-ready:NoExecute", "node.kubernetes.io/unreachable:NoExecute", "cordoned"),
				words("disk=ssd", "node.kubernetes.io/disk-pressure:NoSchedule", "node.kubernetes.io/memory-pressure:NoSchedule",
					"node.kubernetes.io/pid-pressure:NoSchedule", "node.kubernetes.io/unschedulable:NoSchedule",
					"node.kubernetes.io/not-ready:NoExecute", "node.kubernetes.io/unreachable:NoExecute", "cordoned")).
				workload("DaemonSet", "logs", asking("disk=ssd")),
			started("n"),
		},
		"not ready, NoSchedule": {
			"but for not-ready with NoSchedule, which is not among them",
			(&scene{}).node("n", words("node.kubernetes.io/not-ready:NoSchedule"), words("disk=ssd", "node.kubernetes.io/not-ready:NoSchedule")).
				workload("DaemonSet", "logs", asking("disk=ssd")),
			Impact{},
		},
		"evicted": {
			"a pod that a NoExecute taint deletes at once is among the evictions",
			(&scene{}).node("n", words("disk=ssd"), words("gpu=yes:NoExecute")).node("m", words("disk=ssd"), words("disk=ssd")).
				workload("DaemonSet", "logs", asking("disk=ssd"), "n", "m"),
			Impact{Evictions: []Eviction{{Workload: logs, Taints: words("gpu=yes:NoExecute"), Pods: on("logs-on-n n")}}},
		},
		"removed before it is evicted": {
			"the controller does not wait until the pod's time under the taint has run out",
			(&scene{}).node("n", words("disk=ssd"), words("gpu=yes:NoExecute")).
				workload("DaemonSet", "logs", with(asking("disk=ssd"), bearsFor(60, "gpu:NoExecute")), "n"),
			removed("logs-on-n n"),
		},
		"tolerated by its RuntimeClass alone": {
			"the controller goes by the template: it removes a pod whose RuntimeClass tolerates a NoExecute taint and whose template does not",
			(&scene{}).node("n", nil, words("gpu=yes:NoExecute")).
				class(newClass("gpu", "runc", bearing(bears("gpu:NoExecute"))), newClass("gpu", "runc", bearing(bears("gpu:NoExecute")))).
				workload("DaemonSet", "logs", naming("gpu", asking()), "n"),
			removed("logs-on-n n"),
		},
		"pending, and let in by its RuntimeClass alone": {
			"the controller keeps a pod that waits for a label under a taint for which it would create none, and the scheduler finds the node",
			(&scene{}).node("n", nil, words("pool=gpu", "gpu=yes:NoSchedule")).
				class(newClass("gpu", "runc", with(asking("pool=gpu"), bears("gpu:NoSchedule"))), newClass("gpu", "runc", with(asking("pool=gpu"), bears("gpu:NoSchedule")))).
				workload("DaemonSet", "logs", naming("gpu", asking())),
			started("n"),
		},
		"pending, and not kept": {
			"but deletes it under a NoExecute taint that only its RuntimeClass tolerates, even if the scheduler has just bound it",
			(&scene{}).node("n", nil, words("pool=gpu", "gpu=yes:NoExecute")).
				class(newClass("gpu", "runc", with(asking("pool=gpu"), bears("gpu:NoExecute"))), newClass("gpu", "runc", with(asking("pool=gpu"), bears("gpu:NoExecute")))).
				workload("DaemonSet", "logs", naming("gpu", asking())),
			Impact{},
		},
		"selected by its RuntimeClass alone": {
			"and leaves one whose RuntimeClass selects a label that goes",
			(&scene{}).node("n", words("pool=gpu"), nil).
				class(newClass("gpu", "runc", asking("pool=gpu")), newClass("gpu", "runc", asking("pool=gpu"))).
				workload("DaemonSet", "logs", naming("gpu", asking()), "n"),
			Impact{Unschedulable: []Unschedulable{{Workload: inShop("DaemonSet", "logs"), Reason: Words("the node has no label pool=gpu"), Pods: on("logs-on-n n"), NoFeasibleNode: true}}},
		},
		"waits for a label": {
			"a pod that its RuntimeClass keeps off the node starts when the label comes",
			(&scene{}).node("n", nil, words("pool=gpu")).
				class(newClass("gpu", "runc", asking("pool=gpu")), newClass("gpu", "runc", asking("pool=gpu"))).
				workload("DaemonSet", "logs", naming("gpu", asking())),
			started("n"),
		},
		"waits for another label": {
			"but not when the RuntimeClass changes as well: the pod that waits was made by the one before",
			(&scene{}).node("n", nil, words("pool=new")).
				class(newClass("gpu", "runc", asking("pool=old")), newClass("gpu", "runc", asking("pool=new"))).
				workload("DaemonSet", "logs", naming("gpu", asking())),
			Impact{},
		},
		"made by the RuntimeClass after": {
			"where no pod was wanted before, the new RuntimeClass makes it",
			(&scene{}).node("n", nil, words("pool=new", "disk=ssd")).node("m", nil, words("pool=old", "disk=ssd")).
				class(newClass("gpu", "runc", asking("pool=old")), newClass("gpu", "runc", asking("pool=new"))).
				workload("DaemonSet", "logs", naming("gpu", asking("disk=ssd"))),
			started("n"),
		},
		"the RuntimeClass comes": {
			"pods that were refused start on nodes that stay as they are",
			(&scene{}).node("n", words("pool=gpu"), words("pool=gpu")).node("m", nil, nil).
				class(nil, newClass("gpu", "runc", asking("pool=gpu"))).
				workload("DaemonSet", "logs", naming("gpu", asking())),
			started("n"),
		},
		"the RuntimeClass is not there": {
			"no pod starts that the API server refuses",
			(&scene{}).node("n", nil, words("disk=ssd")).workload("DaemonSet", "logs", naming("gpu", asking("disk=ssd"))),
			Impact{},
		},
		"finished": {
			"the controller removes a pod that has finished, wherever it is",
			(&scene{}).node("n", words("disk=ssd"), nil).workload("DaemonSet", "logs", asking("disk=ssd"), "n").
				pods(func(pod *inventory.Pod) { pod.Finished = true }),
			Impact{},
		},
		"no DaemonSet known": {
			"a pod whose DaemonSet is gone has no controller that would remove it",
			(&scene{}).node("n", words("disk=ssd"), nil).bare("p", "n", asking("disk=ssd")).
				pods(func(pod *inventory.Pod) {
					pod.Owner = inventory.Owner{Kind: "DaemonSet", Namespace: "shop", Name: "gone"}
				}),
			Impact{},
		},
		"a DaemonSet of another group": {
			"its controller has rules of its own, and a pod that stays could not be scheduled again",
			(&scene{}).node("n", words("disk=ssd"), nil).bare("p", "n", asking("disk=ssd")).
				pods(func(pod *inventory.Pod) {
					pod.Owner = inventory.Owner{Group: "apps.kruise.io", Kind: "DaemonSet", Namespace: "shop", Name: "logs"}
				}),
			Impact{Unschedulable: []Unschedulable{{
				Workload: Workload{Group: "apps.kruise.io", Kind: "DaemonSet", Namespace: "shop", Name: "logs"},
				Reason:   Words("the node has no label disk=ssd"), Pods: on("p n"), NoFeasibleNode: true,
			}}},
		},
		"DaemonSets of two groups": {
			"the pods of one are not those of the other that has the same name",
			(&scene{}).node("n", words("disk=ssd"), nil).node("m", nil, nil).workload("DaemonSet", "logs", asking("disk=ssd"), "n").
				pods(func(pod *inventory.Pod) { pod.Owner.Group = "apps.kruise.io" }),
			Impact{Unschedulable: []Unschedulable{{
				Workload: Workload{Group: "apps.kruise.io", Kind: "DaemonSet", Namespace: "shop", Name: "logs"},
				Reason:   Words("the node has no label disk=ssd"), Pods: on("logs-on-n n"), NoFeasibleNode: true,
			}}},
		},
	}
	for _, name := range sortedNames(cases) {
		c := cases[name]
		t.Run(name, func(t *testing.T) { expectEqual(t, c.reason, c.want, c.scene.of()) })
	}
}
