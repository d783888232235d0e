package evict

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodepools/nodepools/apply/plan"
)

// Of pods without a node those count that the scheduler has given up for now, and that a drain
// can have evicted.
func TestPending(t *testing.T) {
	waits := func(name, reason string, change func(*corev1.Pod)) corev1.Pod {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason}}
		if change != nil {
			change(&pod)
		}
		return pod
	}
	server := lists{pods: []corev1.Pod{
		waits("none", corev1.PodReasonUnschedulable, nil),
		waits("gated", corev1.PodReasonSchedulingGated, nil),
		waits("new", "", func(pod *corev1.Pod) { pod.Status.Conditions = nil }),
		waits("going", corev1.PodReasonUnschedulable, func(pod *corev1.Pod) { pod.DeletionTimestamp = new(metav1.Now()) }),
		waits("daemon", corev1.PodReasonUnschedulable, func(pod *corev1.Pod) {
			pod.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Controller: new(true)}}
		}),
	}}
	pods, err := Pending(t.Context(), server)
	if err != nil || len(pods) != 1 || pods[0].Name != "none" || pods[0].Namespace != "shop" {
		t.Errorf("%+v, %v", pods, err)
	}
}

// A pod fits a node by its selector, its required affinity, its tolerations and its requests.
func TestPendingPodFits(t *testing.T) {
	taint := corev1.Taint{Key: "alone", Effect: corev1.TaintEffectNoExecute}
	gpus := func(count string) []corev1.Container {
		return []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(count)}}}}
	}
	node := &plan.NodeState{Name: "n", Allocatable: "nvidia.com/gpu=8,", Labels: map[string]string{"disk": "ssd"}, Taints: []corev1.Taint{taint, {Key: "soft", Effect: corev1.TaintEffectPreferNoSchedule}}}
	tolerates := []corev1.Toleration{{Key: "alone", Operator: corev1.TolerationOpExists}}
	affinity := func(value string) *corev1.Affinity {
		return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{value}}}}},
		}}}
	}
	shapes := map[string]bool{}
	for name, c := range map[string]struct {
		spec corev1.PodSpec
		want bool
	}{
		"tolerates":        {corev1.PodSpec{Tolerations: tolerates}, true},
		"does not":         {corev1.PodSpec{}, false},
		"selects it":       {corev1.PodSpec{Tolerations: tolerates, NodeSelector: node.Labels}, true},
		"selects another":  {corev1.PodSpec{Tolerations: tolerates, NodeSelector: map[string]string{"disk": "hdd"}}, false},
		"requires it":      {corev1.PodSpec{Tolerations: tolerates, Affinity: affinity("ssd")}, true},
		"has room":         {corev1.PodSpec{Tolerations: tolerates, Containers: gpus("8")}, true},
		"is too big":       {corev1.PodSpec{Tolerations: tolerates, Containers: gpus("9")}, false},
		"requires another": {corev1.PodSpec{Tolerations: tolerates, Affinity: affinity("hdd")}, false},
	} {
		pod := pendingPod(&corev1.Pod{Spec: c.spec})
		if got := pod.Fits(node); got != c.want {
			t.Errorf("%s: it fits: %t", name, got)
		}
		if shapes[pod.Shape] {
			t.Errorf("%s: it has the shape of another one, %s", name, pod.Shape)
		}
		shapes[pod.Shape] = true
	}
}
