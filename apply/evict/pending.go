package evict

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	resources "k8s.io/component-helpers/resource"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/apply/plan"
)

// pageSize bounds how many pods are read at once.
const pageSize = 500

// withoutNode selects pods that have no node yet.
var withoutNode = fields.SelectorFromSet(fields.Set{"spec.nodeName": "", "status.phase": string(corev1.PodPending)})

// Pending returns the pods that have no node, and of which a scheduler has said that none would
// do. Those of DaemonSets are left out: none of them was evicted. It fails with [ErrNoRights]
// where pods may not be listed.
//
// The reader must not be a cache: nobody watches all pods for this.
func Pending(ctx context.Context, live client.Reader) ([]plan.PendingPod, error) {
	var pending []plan.PendingPod
	pods := &corev1.PodList{}
	for {
		err := live.List(ctx, pods, client.MatchingFieldsSelector{Selector: withoutNode}, client.Limit(pageSize), client.Continue(pods.Continue))
		if apierrors.IsForbidden(err) {
			return nil, ErrNoRights
		}
		if err != nil {
			return nil, fmt.Errorf("list pods without a node: %w", err)
		}
		for i := range pods.Items {
			if pod := &pods.Items[i]; findsNoPlace(pod) {
				pending = append(pending, pendingPod(pod))
			}
		}
		if pods.Continue == "" {
			return pending, nil
		}
	}
}

func findsNoPlace(pod *corev1.Pod) bool {
	if owner := metav1.GetControllerOf(pod); pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || owner != nil && owner.Kind == "DaemonSet" {
		return false
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled {
			return condition.Status == corev1.ConditionFalse && condition.Reason == corev1.PodReasonUnschedulable
		}
	}
	return false
}

// pendingPod keeps of a pod what says which nodes it fits.
func pendingPod(pod *corev1.Pod) plan.PendingPod {
	kept := &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: pod.Spec.NodeSelector, Tolerations: pod.Spec.Tolerations}}
	if affinity := pod.Spec.Affinity; affinity != nil && affinity.NodeAffinity != nil {
		kept.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
		}}
	}
	requests := resources.PodRequests(pod, resources.PodResourcesOptions{})
	shape, err := json.Marshal([]any{kept.Spec, requests})
	if err != nil {
		shape = []byte(pod.UID) // never: the API server has sent it so
	}
	required := nodeaffinity.GetRequiredNodeAffinity(kept)
	return plan.PendingPod{
		Namespace: pod.Namespace, Name: pod.Name, Created: pod.CreationTimestamp.Time, Shape: string(shape),
		Fits: func(node *plan.NodeState) bool {
			if _, untolerated := schedulinghelper.FindMatchingUntoleratedTaint(klog.Logger{}, node.Taints, kept.Spec.Tolerations, keepsOff, true); untolerated {
				return false
			}
			matches, err := required.Match(node.Object())
			return matches && err == nil && node.Allocatable.Holds(requests)
		},
	}
}

// keepsOff reports whether a taint keeps pods off a node that do not tolerate it.
func keepsOff(taint *corev1.Taint) bool { return taint.Effect != corev1.TaintEffectPreferNoSchedule }
