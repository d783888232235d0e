package impact

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// TestUnschedulableOnItsNode goes through what keeps one pod from being scheduled
// again where it is.
func TestUnschedulableOnItsNode(t *testing.T) {
	const noSchedule = "gpu=yes:NoSchedule"
	cases := map[string]struct {
		reason  string
		was, is []string
		asks    inventory.Scheduling
		want    string
	}{
		"new taint":              {"NoSchedule keeps the next pod out", nil, words(noSchedule), asking(), "does not tolerate gpu=yes:NoSchedule"},
		"tolerated":              {"unless it tolerates it", nil, words(noSchedule), bearing(bears(noSchedule)), ""},
		"PreferNoSchedule":       {"PreferNoSchedule keeps nothing out", nil, words("gpu=yes:PreferNoSchedule"), asking(), ""},
		"taint from before":      {"a pod that could not be scheduled before has lost nothing", words(noSchedule), words(noSchedule, "a=b:NoSchedule"), asking(), ""},
		"another value":          {"another value is another taint", words("gpu=no:NoSchedule"), words(noSchedule), bearing(bears("gpu=no:NoSchedule")), "does not tolerate gpu=yes:NoSchedule"},
		"several taints":         {"the first taint is named, by its text", nil, words("b=:NoSchedule", "a=:NoSchedule"), asking(), "does not tolerate a:NoSchedule"},
		"from NoExecute":         {"a pod that was on its way out has lost nothing", words("gpu=yes:NoExecute"), words(noSchedule), asking(), ""},
		"label gone":             {"a label that the pod selects has gone", words("disk=ssd"), nil, asking("disk=ssd"), "the node has no label disk=ssd"},
		"label changed":          {"another value is not what it selects", words("disk=ssd"), words("disk=hdd"), asking("disk=ssd"), "the node has no label disk=ssd"},
		"label without value":    {"a label without a value is named by its key", words("gpu="), nil, asking("gpu="), "the node has no label gpu"},
		"label that has come":    {"a node that had not matched", nil, words("disk=ssd"), asking("disk=ssd"), ""},
		"taint before label":     {"one reason is enough, and the taint comes first", words("disk=ssd"), words(noSchedule), asking("disk=ssd"), "does not tolerate gpu=yes:NoSchedule"},
		"affinity In":            {"the required node affinity", words("disk=ssd"), nil, needing(asking(), labelled("disk", corev1.NodeSelectorOpIn, "ssd", "nvme")), "the node does not match the required node affinity"},
		"affinity In, still":     {"another of its values", words("disk=ssd"), words("disk=nvme"), needing(asking(), labelled("disk", corev1.NodeSelectorOpIn, "ssd", "nvme")), ""},
		"affinity NotIn":         {"a label that it must not have", nil, words("disk=hdd"), needing(asking(), labelled("disk", corev1.NodeSelectorOpNotIn, "hdd")), "the node does not match the required node affinity"},
		"affinity Exists":        {"a label of any value", words("disk=ssd"), nil, needing(asking(), labelled("disk", corev1.NodeSelectorOpExists)), "the node does not match the required node affinity"},
		"affinity DoesNotExist":  {"a label that must not be there", nil, words("slow="), needing(asking(), labelled("slow", corev1.NodeSelectorOpDoesNotExist)), "the node does not match the required node affinity"},
		"affinity Gt":            {"numbers", words("cores=8"), words("cores=2"), needing(asking(), labelled("cores", corev1.NodeSelectorOpGt, "4")), "the node does not match the required node affinity"},
		"affinity, another term": {"one term of several is enough", words("disk=ssd"), words("cores=8"), needing(asking(), labelled("disk", corev1.NodeSelectorOpIn, "ssd"), labelled("cores", corev1.NodeSelectorOpGt, "4")), ""},
		"affinity by name":       {"matchFields hold whatever the labels", words("disk=ssd"), nil, needing(asking(), onNode("n")), ""},
		"affinity by other name": {"and a pod that asks for another node could not be scheduled before", words("disk=ssd"), nil, needing(asking("disk=ssd"), onNode("m")), ""},
		"affinity of no terms":   {"which matches nothing, before as well", words("disk=ssd"), nil, needing(asking()), ""},
		"cordoned":               {"a cordon passes, the loss of a label does not", words("disk=ssd", "cordoned", "node.kubernetes.io/unschedulable:NoSchedule"), words("cordoned", "node.kubernetes.io/unschedulable:NoSchedule"), asking("disk=ssd"), "the node has no label disk=ssd"},
		"not ready":              {"and so does a condition of the node", words("node.kubernetes.io/not-ready:NoSchedule"), words("node.kubernetes.io/not-ready:NoSchedule", noSchedule), asking(), "does not tolerate gpu=yes:NoSchedule"},
		"a condition that comes": {"a pool may put such a taint there as well", nil, words("node.kubernetes.io/out-of-service:NoSchedule"), asking(), "does not tolerate node.kubernetes.io/out-of-service:NoSchedule"},
	}
	for _, name := range sortedNames(cases) {
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			var want []Unschedulable
			if c.want != "" {
				want = []Unschedulable{{Workload: inShop("Deployment", "web"), Reason: Words(c.want), Pods: on("web-on-n n")}}
			}
			s := (&scene{}).node("n", c.was, c.is).node("free", words("disk=ssd", "cores=8", "gpu="), words("disk=ssd", "cores=8", "gpu="))
			expectEqual(t, c.reason, Impact{Unschedulable: want}, s.workload("Deployment", "web", c.asks, "n").of())
		})
	}
}

// TestUnschedulablePods goes through whose next pod is asked about, and how
// RuntimeClasses bear on it.
func TestUnschedulablePods(t *testing.T) {
	const noSchedule = "gpu=yes:NoSchedule"
	lost := func(of Workload, reason string, infeasible bool, pods ...string) Impact {
		return Impact{Unschedulable: []Unschedulable{{Workload: of, Reason: Words(reason), Pods: on(pods...), NoFeasibleNode: infeasible}}}
	}
	cases := map[string]struct {
		reason string
		scene  *scene
		want   Impact
	}{
		"the class goes along": {
			"a label is renamed, and the RuntimeClass selects the new one: the pod that runs does, too, once it is made again",
			(&scene{}).node("n", words("pool=old"), words("pool=new", noSchedule)).
				class(newClass("gpu", "runc", asking("pool=old")), newClass("gpu", "runc", with(asking("pool=new"), bears(noSchedule)))).
				workload("Deployment", "web", naming("gpu", asking()), "n"),
			Impact{},
		},
		"the class goes along with a bare pod": {
			"what the RuntimeClass has brought is taken off a pod that has no template",
			(&scene{}).node("n", words("pool=old"), words("pool=new", noSchedule)).
				class(newClass("gpu", "runc", with(asking("pool=old"), bears("gpu=no:NoSchedule"))), newClass("gpu", "runc", with(asking("pool=new"), bears(noSchedule)))).
				bare("p", "n", naming("gpu", with(asking("pool=old"), bears("gpu=no:NoSchedule")))),
			Impact{},
		},
		"what a bare pod asks for itself": {
			"stays",
			(&scene{}).node("n", words("pool=old", "disk=ssd"), words("pool=new")).
				class(newClass("gpu", "runc", asking("pool=old")), newClass("gpu", "runc", asking("pool=new"))).
				bare("p", "n", naming("gpu", asking("pool=old", "disk=ssd"))),
			lost(inShop("Pod", "p"), "the node has no label disk=ssd", false, "p n"),
		},
		"the class leads elsewhere": {
			"the node stays as it is, and the RuntimeClass leads the next pod to another one",
			(&scene{}).node("n", words("pool=old"), words("pool=old")).node("m", words("pool=new"), words("pool=new")).
				class(newClass("gpu", "runc", asking("pool=old")), newClass("gpu", "runc", asking("pool=new"))).
				workload("Deployment", "web", naming("gpu", asking()), "n"),
			lost(inShop("Deployment", "web"), "the node has no label pool=new", false, "web-on-n n"),
		},
		"the class tolerates no more": {
			"the pod goes on tolerating, the next one would not",
			(&scene{}).node("n", words(noSchedule), words(noSchedule)).
				class(newClass("gpu", "runc", bearing(bears(noSchedule))), newClass("gpu", "runc", bearing())).
				workload("Deployment", "web", naming("gpu", asking()), "n"),
			lost(inShop("Deployment", "web"), "does not tolerate gpu=yes:NoSchedule", true, "web-on-n n"),
		},
		"the class contradicts the pod": {
			"the API server refuses a pod whose node selector contradicts its RuntimeClass",
			(&scene{}).node("n", words("disk=ssd"), words("disk=ssd")).
				class(newClass("gpu", "runc", asking()), newClass("gpu", "runc", asking("disk=hdd"))).
				workload("Deployment", "web", naming("gpu", asking("disk=ssd")), "n"),
			lost(inShop("Deployment", "web"), "its RuntimeClass gpu selects disk=hdd, and the pod disk=ssd", true, "web-on-n n"),
		},
		"the class contradicted it before": {
			"a pod that was refused before has lost nothing",
			(&scene{}).node("n", words("disk=ssd"), words("disk=hdd")).
				class(newClass("gpu", "runc", asking("disk=hdd")), newClass("gpu", "runc", asking("disk=hdd"))).
				workload("Deployment", "web", naming("gpu", asking("disk=ssd")), "n"),
			Impact{},
		},
		"the class goes": {
			"which is listed with the RuntimeClass",
			(&scene{}).node("n", words("pool=old"), nil).class(newClass("gpu", "runc", asking("pool=old")), nil).
				workload("Deployment", "web", naming("gpu", asking()), "n"),
			Impact{RuntimeClasses: []RuntimeClassUse{{Name: "gpu", Action: "delete", Pods: 1, Users: on("web-on-n n"), Workloads: []Workload{inShop("Deployment", "web")}}}},
		},
		"the class was never there": {
			"a pod could not be made before either",
			(&scene{}).node("n", words("pool=old"), nil).workload("Deployment", "web", naming("gpu", asking("pool=old")), "n"),
			Impact{},
		},
		"the class has come": {
			"a pod that could not be made before has lost nothing",
			(&scene{}).node("n", words("pool=old"), nil).class(nil, newClass("gpu", "runc", asking("pool=old"))).
				workload("Deployment", "web", naming("gpu", asking()), "n"),
			Impact{},
		},
		"a new template": {
			"the template counts, not the pods that an earlier one has made",
			(&scene{}).node("n", words("disk=ssd"), nil).workload("Deployment", "web", asking(), "n").
				pods(func(pod *inventory.Pod) { pod.Scheduling = asking("disk=ssd") }),
			Impact{},
		},
		"what admission adds": {
			"templates of pods that ask for a GPU do not tolerate its taint: a plugin adds that, to the next pod as well",
			(&scene{}).node("n", words("disk=ssd", "example.com/gpu=:NoSchedule"), words("example.com/gpu=:NoSchedule")).
				node("m", words("disk=ssd", "example.com/gpu=:NoSchedule"), words("disk=ssd", "example.com/gpu=:NoSchedule")).
				workload("Deployment", "web", asking("disk=ssd"), "n").
				pods(func(pod *inventory.Pod) {
					pod.Scheduling = with(pod.Scheduling, bears("example.com/gpu:NoSchedule"))
				}),
			lost(inShop("Deployment", "web"), "the node has no label disk=ssd", false, "web-on-n n"),
		},
		"what an earlier class has added": {
			"a toleration of one value is of a RuntimeClass as it was when the pod was made, and the next pod has it not",
			(&scene{}).node("n", nil, words(noSchedule)).
				class(newClass("gpu", "runc", asking()), newClass("gpu", "runc", asking())).
				workload("Deployment", "web", naming("gpu", asking()), "n").
				pods(func(pod *inventory.Pod) { pod.Scheduling = with(pod.Scheduling, bears(noSchedule)) }),
			lost(inShop("Deployment", "web"), "does not tolerate gpu=yes:NoSchedule", true, "web-on-n n"),
		},
		"what the class has added": {
			"and what the RuntimeClass brings goes with it, whatever its operator",
			(&scene{}).node("n", words(noSchedule), words(noSchedule)).
				class(newClass("gpu", "runc", bearing(bears("gpu:NoSchedule"))), newClass("gpu", "runc", asking())).
				workload("Deployment", "web", naming("gpu", asking()), "n"),
			lost(inShop("Deployment", "web"), "does not tolerate gpu=yes:NoSchedule", true, "web-on-n n"),
		},
		"an unknown workload": {
			"without a template, the pod itself counts",
			(&scene{}).node("n", words("disk=ssd"), nil).bare("p", "n", asking("disk=ssd")).
				pods(func(pod *inventory.Pod) { pod.Owner = inventory.Owner{Kind: "Rollout", Namespace: "shop", Name: "web"} }),
			lost(inShop("Rollout", "web"), "the node has no label disk=ssd", true, "p n"),
		},
		"several nodes": {
			"pods that have lost their place for one reason are listed together, sorted",
			(&scene{}).node("b", nil, words(noSchedule)).node("a", nil, words(noSchedule)).node("c", words("disk=ssd"), nil).
				workload("Deployment", "web", asking(), "b", "a", "c"),
			lost(inShop("Deployment", "web"), "does not tolerate gpu=yes:NoSchedule", false, "web-on-a a", "web-on-b b"),
		},
		"several reasons": {
			"and apart for different ones",
			(&scene{}).node("a", nil, words("b=:NoSchedule")).node("b", nil, words("a=:NoSchedule")).
				workload("Deployment", "web", asking(), "a", "b"),
			Impact{Unschedulable: []Unschedulable{
				{Workload: inShop("Deployment", "web"), Reason: Words("does not tolerate a:NoSchedule"), Pods: on("web-on-b b"), NoFeasibleNode: true},
				{Workload: inShop("Deployment", "web"), Reason: Words("does not tolerate b:NoSchedule"), Pods: on("web-on-a a"), NoFeasibleNode: true},
			}},
		},
		"evicted": {
			"a pod that is evicted does not go on running",
			(&scene{}).node("n", nil, words("gpu=yes:NoExecute", "a=:NoSchedule")).workload("Deployment", "web", asking(), "n"),
			Impact{Evictions: []Eviction{{Workload: inShop("Deployment", "web"), Taints: words("gpu=yes:NoExecute"), Pods: on("web-on-n n"), NoFeasibleNode: true}}},
		},
		"idle and static": {
			"what has finished, is being deleted or comes from a file is not scheduled again",
			(&scene{}).node("n", nil, words(noSchedule)).
				bare("finished", "n", asking()).bare("terminating", "n", asking()).bare("static", "n", asking()).
				pods(func(pod *inventory.Pod) {
					pod.Finished, pod.Terminating, pod.Static = pod.Name == "finished", pod.Name == "terminating", pod.Name == "static"
				}),
			Impact{},
		},
		"a pod of a DaemonSet": {
			"its controller leaves it under a NoSchedule taint, and makes none in its place when it ends",
			(&scene{}).node("n", nil, words(noSchedule)).workload("DaemonSet", "logs", asking(), "n"),
			Impact{Unschedulable: []Unschedulable{{Workload: inShop("DaemonSet", "logs"), Reason: Words("does not tolerate gpu=yes:NoSchedule"), Pods: on("logs-on-n n"), NoFeasibleNode: true}}},
		},
	}
	for _, name := range sortedNames(cases) {
		c := cases[name]
		t.Run(name, func(t *testing.T) { expectEqual(t, c.reason, c.want, c.scene.of()) })
	}
}
