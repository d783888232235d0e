package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// PodScheduling is what the spec of a pod says of the nodes that may take it.
type PodScheduling struct {
	// RuntimeClass is the name in the pod's spec; empty for none.
	RuntimeClass string
	NodeSelector map[string]string
	// Affinity is the required node affinity; nil for none.
	Affinity    *corev1.NodeSelector
	Tolerations []corev1.Toleration
}

// PodSchedulingOf returns what the spec of a pod, or of a template, says.
func PodSchedulingOf(spec *corev1.PodSpec) PodScheduling {
	scheduling := PodScheduling{NodeSelector: spec.NodeSelector, Tolerations: spec.Tolerations}
	if spec.RuntimeClassName != nil {
		scheduling.RuntimeClass = *spec.RuntimeClassName
	}
	if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		scheduling.Affinity = spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return scheduling
}

// WaitingPod is a pod that has no node.
type WaitingPod struct {
	Namespace, Name string
	// Job reports that a Job controls the pod.
	Job bool
	PodScheduling
}

// WaitingPodOf returns a pod as one that has no node, and whether it waits for one. Pods of
// DaemonSets do not count: most of those that wait are for nodes on which their RuntimeClass
// lets none run.
func WaitingPodOf(pod *corev1.Pod) (WaitingPod, bool) {
	owner := metav1.GetControllerOfNoCopy(pod)
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || pod.DeletionTimestamp != nil
	if pod.Spec.NodeName != "" || ended || owner != nil && owner.Kind == "DaemonSet" {
		return WaitingPod{}, false
	}
	return WaitingPod{Namespace: pod.Namespace, Name: pod.Name, Job: owner != nil && owner.Kind == "Job", PodScheduling: PodSchedulingOf(&pod.Spec)}, true
}

// Classes are RuntimeClasses by name.
type Classes map[string]*nodev1.RuntimeClass

// ClassesOf returns RuntimeClasses by name.
func ClassesOf(list []*nodev1.RuntimeClass) Classes {
	classes := make(Classes, len(list))
	for _, class := range list {
		classes[class.Name] = class
	}
	return classes
}

// Stranded returns those of some pods that never get a node, sorted. Kubernetes copies the
// selector and the tolerations of a RuntimeClass into a pod once, when the pod is created. A
// pod is stranded if its copy is outdated, as the RuntimeClasses were some and are others, and
// no node takes the pod.
//
// Cordons, and taints by which Kubernetes marks a transient state of a node, do not count: a
// node that has one may take the pod later. What is free on nodes does not count either.
func Stranded(pods []WaitingPod, were, are Classes, nodes []*NodeState) []WaitingPod {
	var stranded []WaitingPod
	homeless := map[string]bool{} // by what pods require: a few thousand may require the same
	for _, pod := range pods {
		if !outdated(&pod.PodScheduling, were[pod.RuntimeClass], are[pod.RuntimeClass]) {
			continue
		}
		required, err := json.Marshal(pod.PodScheduling)
		none, known := homeless[string(required)]
		if !known || err != nil {
			none = !slices.ContainsFunc(nodes, pod.fits())
			homeless[string(required)] = none
		}
		if none {
			stranded = append(stranded, pod)
		}
	}
	slices.SortFunc(stranded, func(a, b WaitingPod) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return stranded
}

// outdated reports whether a pod made now would get something else of its RuntimeClass.
func outdated(pod *PodScheduling, was, is *nodev1.RuntimeClass) bool {
	if is == nil {
		return was != nil // the pod would be refused
	}
	gave, gives := classScheduling(was), classScheduling(is)
	for key, value := range gave.NodeSelector {
		if hasLabel(pod.NodeSelector, key, value) && !hasLabel(gives.NodeSelector, key, value) {
			return true
		}
	}
	for key, value := range gives.NodeSelector {
		if !hasLabel(pod.NodeSelector, key, value) {
			return true
		}
	}
	// Admission leaves out a toleration that another one of the pod includes.
	return slices.ContainsFunc(gives.Tolerations, func(given corev1.Toleration) bool {
		taint := corev1.Taint{Key: given.Key, Value: given.Value, Effect: given.Effect}
		return !schedulinghelper.TolerationsTolerateTaint(logr.Discard(), pod.Tolerations, &taint, true)
	})
}

func classScheduling(class *nodev1.RuntimeClass) nodev1.Scheduling {
	if class == nil || class.Scheduling == nil {
		return nodev1.Scheduling{}
	}
	return *class.Scheduling
}

func hasLabel(labels map[string]string, key, value string) bool {
	found, exists := labels[key]
	return exists && found == value
}

// fits returns the function that reports whether the scheduler accepts a node for the pod, by
// labels and lasting taints.
func (s *PodScheduling) fits() func(*NodeState) bool {
	affinity := nodeaffinity.RequiredNodeAffinity{}
	if s.Affinity != nil {
		affinity = nodeaffinity.NewRequiredNodeAffinity(nil, &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: s.Affinity,
		}})
	}
	return func(node *NodeState) bool {
		for key, value := range s.NodeSelector {
			if !hasLabel(node.Labels, key, value) {
				return false
			}
		}
		if _, found := schedulinghelper.FindMatchingUntoleratedTaint(logr.Discard(), node.Taints, s.Tolerations, keepsOut, true); found {
			return false
		}
		if s.Affinity == nil {
			return true
		}
		// The scheduler accepts no node for an invalid affinity.
		matches, err := affinity.Match(node.Object())
		return matches && err == nil
	}
}

// keepsOut reports whether the scheduler keeps pods off a node for a taint, and not for a
// transient state of the node alone.
func keepsOut(taint *corev1.Taint) bool {
	return taint.Effect != corev1.TaintEffectPreferNoSchedule && !strings.HasPrefix(taint.Key, "node.kubernetes.io/")
}

// DescribeStranded counts stranded pods and names the first, and what to know before it is
// deleted.
func DescribeStranded(pods []WaitingPod) string {
	first := pods[0].Namespace + "/" + pods[0].Name
	text := fmt.Sprintf("%d pods are stranded, pod %s is the first: they were created before their RuntimeClass changed, and no node takes them", len(pods), first)
	if len(pods) == 1 {
		text = fmt.Sprintf("pod %s is stranded: it was created before its RuntimeClass changed, and no node takes it", first)
	}
	if pods[0].Job {
		text += "; " + JobsCount
	}
	return text
}

// JobsCount is what to know before a pod of a Job is deleted.
const JobsCount = "a Job counts a deleted pod as failed, so see its backoffLimit first"
