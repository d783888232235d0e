package plan

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"

	"github.com/nodepools/nodepools/render"
)

func TestStranded(t *testing.T) {
	const role = "node-role.kubernetes.io/gpu"
	class := func(labels string, taints ...corev1.Taint) *nodev1.RuntimeClass {
		scheduling := &nodev1.Scheduling{NodeSelector: labelsOf(labels)}
		for _, taint := range taints {
			scheduling.Tolerations = append(scheduling.Tolerations, render.Toleration(taint))
		}
		return &nodev1.RuntimeClass{Scheduling: scheduling}
	}
	node := func(labels string, taints ...corev1.Taint) *NodeState {
		return &NodeState{Name: "n1", Labels: labelsOf(labels), Taints: taints}
	}
	dedicated := corev1.Taint{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule}
	moved := corev1.Taint{Key: "dedicated", Value: "ml", Effect: corev1.TaintEffectNoSchedule}
	notReady := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
	cordoned := node(role + ",tier=old")
	cordoned.Unschedulable = true
	anything := []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	for name, c := range map[string]struct {
		reason  string
		was, is *nodev1.RuntimeClass
		// own is what the template says itself.
		own         string
		tolerations []corev1.Toleration
		affinity    *corev1.NodeSelector
		nodes       []*NodeState
		want        bool
	}{
		"label changes":             {"the copied selector matches no node", class(role + ",tier=old"), class(role + ",tier=new"), "", nil, nil, []*NodeState{node(role + ",tier=new")}, true},
		"label goes":                {"nothing carries it any more", class(role + ",tier=old"), class(role), "", nil, nil, []*NodeState{node(role)}, true},
		"label goes, pool is empty": {"a node that joins does not have it", class(role + ",tier=old"), class(role), "", nil, nil, nil, true},
		"label comes":               {"the pod selects less, and fits", class(role), class(role + ",tier=new"), "", nil, nil, []*NodeState{node(role + ",tier=new")}, false},
		"taint comes":               {"the pod does not tolerate it", class(role), class(role, dedicated), "", nil, nil, []*NodeState{node(role, dedicated)}, true},
		"taint has another value":   {"the pod tolerates the earlier value", class(role, dedicated), class(role, moved), "", nil, nil, []*NodeState{node(role, moved)}, true},
		"taint goes":                {"the pod tolerates too much, and fits", class(role, dedicated), class(role), "", nil, nil, []*NodeState{node(role)}, false},
		"tolerates everything":      {"the pod needs no copy", class(role), class(role, dedicated), "", anything, nil, nil, false},
		"one node waits":            {"a node that waits for its turn takes the pod", class(role + ",tier=old"), class(role + ",tier=new"), "", nil, nil, []*NodeState{node(role + ",tier=new"), node(role + ",tier=old")}, false},
		"that node is cordoned":     {"it may be uncordoned", class(role + ",tier=old"), class(role + ",tier=new"), "", nil, nil, []*NodeState{cordoned}, false},
		"that node is not ready":    {"it may become ready", class(role + ",tier=old"), class(role + ",tier=new"), "", nil, nil, []*NodeState{node(role+",tier=old", notReady)}, false},
		"no node, same class":       {"the pod waits for a node that joins", class(role), class(role), "", nil, nil, nil, false},
		"no node for the template":  {"a pod made anew selects the same", class(role), class(role), "zone=a", nil, nil, []*NodeState{node(role)}, false},
		"class is gone":             {"no node has the role label", class(role), nil, "", nil, nil, []*NodeState{node("")}, true},
		"no class":                  {"the pod has copied nothing", nil, nil, "tier=old", nil, nil, []*NodeState{node("")}, false},
		"affinity to another node": {
			"the outdated pod selects what nodes have, but not this one", class(role), class(role + ",tier=new"), "", nil,
			&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}}}}}},
			[]*NodeState{node(role + ",tier=new,zone=b")}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := WaitingPod{Namespace: "team", Name: "train-0", PodScheduling: PodScheduling{RuntimeClass: "nodepool-gpu", NodeSelector: labelsOf(c.own), Affinity: c.affinity, Tolerations: c.tolerations}}
			if c.was != nil {
				for key, value := range c.was.Scheduling.NodeSelector {
					pod.NodeSelector[key] = value
				}
				pod.Tolerations = append(pod.Tolerations, c.was.Scheduling.Tolerations...)
			}
			classes := func(class *nodev1.RuntimeClass) Classes {
				if class == nil {
					return Classes{}
				}
				return Classes{"nodepool-gpu": class}
			}
			if got := len(Stranded([]WaitingPod{pod}, classes(c.was), classes(c.is), c.nodes)) == 1; got != c.want {
				t.Errorf("stranded is %v, want %v: %s", got, c.want, c.reason)
			}
		})
	}
}

func labelsOf(text string) map[string]string {
	labels := map[string]string{}
	for _, label := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		key, value, _ := strings.Cut(label, "=")
		labels[key] = value
	}
	return labels
}

func TestDescribeStranded(t *testing.T) {
	pods := []WaitingPod{{Namespace: "team", Name: "train-0"}, {Namespace: "team", Name: "train-1"}}
	ofJob := []WaitingPod{{Namespace: "team", Name: "train-0", Job: true}}
	for want, got := range map[string]string{
		"pod team/train-0 is stranded: it was created before its RuntimeClass changed, and no node takes it":                                                                      DescribeStranded(pods[:1]),
		"pod team/train-0 is stranded: it was created before its RuntimeClass changed, and no node takes it; a Job counts a deleted pod as failed, so see its backoffLimit first": DescribeStranded(ofJob),
		"2 pods are stranded, pod team/train-0 is the first: they were created before their RuntimeClass changed, and no node takes them":                                         DescribeStranded(pods),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
