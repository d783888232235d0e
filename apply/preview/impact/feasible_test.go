package impact

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// TestFeasible asks whether the next pod of a workload that is evicted from one
// node finds another.
func TestFeasible(t *testing.T) {
	cases := map[string]struct {
		reason string
		other  []string
		asks   inventory.Scheduling
		want   bool
	}{
		"a plain node":        {"any node takes a pod that asks for nothing", nil, asking(), false},
		"a label":             {"a node with the label takes it", words("disk=ssd"), asking("disk=ssd"), false},
		"no label":            {"one without does not", nil, asking("disk=ssd"), true},
		"one label of two":    {"nor one with half of what it selects", words("disk=ssd"), asking("disk=ssd", "zone=a"), true},
		"NoSchedule":          {"nor one with a taint that it does not tolerate", words("a=:NoSchedule"), asking(), true},
		"PreferNoSchedule":    {"a taint that keeps nothing out does not matter", words("a=:PreferNoSchedule"), asking(), false},
		"tolerated":           {"one with a taint that it tolerates takes it", words("a=:NoSchedule"), bearing(bears("a:NoSchedule")), false},
		"tolerated a while":   {"the scheduler asks not for how long", words("a=:NoExecute"), bearing(bearsFor(1, "a:NoExecute")), false},
		"cordoned":            {"one that is cordoned does not", words("cordoned"), asking(), true},
		"cordon tolerated":    {"unless the pod tolerates that", words("cordoned"), bearing(bears("node.kubernetes.io/unschedulable:NoSchedule")), false},
		"affinity In":         {"the affinity names the value", words("disk=nvme"), needing(asking(), labelled("disk", corev1.NodeSelectorOpIn, "ssd", "nvme")), false},
		"affinity In, no":     {"or another one", words("disk=hdd"), needing(asking(), labelled("disk", corev1.NodeSelectorOpIn, "ssd", "nvme")), true},
		"affinity NotIn":      {"the affinity names no value that a node could be found by", nil, needing(asking(), labelled("disk", corev1.NodeSelectorOpNotIn, "hdd")), false},
		"affinity, two terms": {"one term of two is enough", words("zone=a"), needing(asking(), labelled("disk", corev1.NodeSelectorOpIn, "ssd"), labelled("zone", corev1.NodeSelectorOpExists)), false},
		"affinity by name":    {"a pod that asks for this node", nil, needing(asking(), onNode("other")), false},
		"affinity by another": {"or for one that is not there", nil, needing(asking(), onNode("gone")), true},
		"affinity of nothing": {"an empty term matches nothing", nil, needing(asking(), corev1.NodeSelectorTerm{}), true},
		"affinity and label":  {"both have to match", words("disk=ssd"), needing(asking("disk=ssd"), labelled("zone", corev1.NodeSelectorOpIn, "a")), true},
	}
	for _, name := range sortedNames(cases) {
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			s := (&scene{}).node("n", nil, words("gpu=yes:NoExecute")).node("other", c.other, c.other).
				workload("Deployment", "web", c.asks, "n")
			expectEqual(t, c.reason, Impact{Evictions: []Eviction{{
				Workload: inShop("Deployment", "web"), Taints: words("gpu=yes:NoExecute"), Pods: on("web-on-n n"), NoFeasibleNode: c.want,
			}}}, s.of())
		})
	}
}
