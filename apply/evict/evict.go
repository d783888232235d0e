// Package evict evicts the pods of a node that would not tolerate taints which are about to
// come, and says what is left. It asks the Eviction API, which respects
// PodDisruptionBudgets, and deletes nothing.
package evict

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/apply/plan"
)

// Result is what became of an eviction.
type Result int

// What becomes of evictions. Blocked: a PodDisruptionBudget does not allow it now. Gone: the
// pod is gone, or another one has its name. NotAsked: the pod is being deleted already, or comes
// again.
const (
	Evicted Result = iota
	Blocked
	Gone
	Failed
	NotAsked
)

// Left is a pod that is still on a node, what became of its eviction, and why.
type Left struct {
	Namespace, Name string
	Result          Result
	// Reason is what the API server says; empty where the pod is about to go.
	Reason string
}

// String names the pod, and says why it is still there.
func (l Left) String() string {
	if l.Reason == "" {
		return fmt.Sprintf("pod %s/%s is about to go", l.Namespace, l.Name)
	}
	return fmt.Sprintf("pod %s/%s: %s", l.Namespace, l.Name, l.Reason)
}

// ErrNoRights says that pods may not be listed: then they may not be evicted either.
var ErrNoRights = errors.New("the controller may not list and evict pods: run nodepools install --rollout")

// Pods evicts each pod of a node that does not tolerate all taints of a drain, once, and
// returns those that are still there, by namespace and name. Pods that tolerate the taints
// for some time only, and those of DaemonSets, are left to the taints, static ones alone, and
// so are those that have ended. Those that are being deleted already are still there, too, and
// so are those that come again, by what is known of evictions before: these are left for a while.
//
// The reader must not be a cache: what has come to the node a moment ago counts.
func Pods(ctx context.Context, live client.Reader, evictions client.SubResourceWriter, node string, drain *plan.Drain, known *plan.Evictions, now time.Time) ([]Left, error) {
	pods := &corev1.PodList{}
	// Not in pages: those an API server of some versions does not answer from its cache, and it
	// reads all pods of the cluster for those of one node.
	err := live.List(ctx, pods, client.MatchingFieldsSelector{Selector: runningOn(node)})
	if apierrors.IsForbidden(err) {
		return nil, ErrNoRights
	}
	if err != nil {
		return nil, fmt.Errorf("list the pods of node %s: %w", node, err)
	}
	var left []Left
	round := plan.NewEvictionRound(drain)
	for i := range pods.Items {
		pod := &pods.Items[i]
		found := drainable(pod)
		if !found.GoneBefore(drain.Taints...) {
			continue
		}
		if until := known.LeavesUntil(drain, found, now); !found.Terminating && !until.IsZero() {
			round.Left[found.UID] = until
			left = append(left, Left{pod.Namespace, pod.Name, NotAsked, comesAgain(drain, found, until)})
			continue
		}
		result, reason := evict(ctx, evictions, pod)
		left = append(left, Left{pod.Namespace, pod.Name, result, reason})
		if round.Asked[found.UID] = true; result == Evicted && found.Owner != "" {
			round.Granted[found.Owner] = true
		}
	}
	known.Note(round, now)
	slices.SortFunc(left, func(a, b Left) int { return strings.Compare(a.String(), b.String()) })
	return left, nil
}

// runningOn selects the pods of a node that have not ended.
func runningOn(node string) fields.Selector {
	return fields.AndSelectors(
		fields.OneTermEqualSelector("spec.nodeName", node),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
	)
}

// comesAgain is why a pod is not evicted now.
func comesAgain(drain *plan.Drain, pod plan.DrainablePod, until time.Time) string {
	at := slices.IndexFunc(drain.Taints, func(taint corev1.Taint) bool { return !pod.Tolerates(&taint) })
	taint := drain.Taints[at]
	twin := plan.Twin(taint)
	return fmt.Sprintf("it has come in place of one that was evicted, as it tolerates %s, and not %s; it is evicted at %s",
		twin.ToString(), taint.Effect, until.UTC().Format(time.RFC3339))
}

func drainable(pod *corev1.Pod) plan.DrainablePod {
	_, static := pod.Annotations[corev1.MirrorPodAnnotationKey]
	found := plan.DrainablePod{
		UID: pod.UID, Static: static, Terminating: pod.DeletionTimestamp != nil, Finished: pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed,
		Tolerates: func(taint *corev1.Taint) bool {
			return schedulinghelper.TolerationsTolerateTaint(klog.Logger{}, pod.Spec.Tolerations, taint, true)
		},
	}
	if owner := metav1.GetControllerOf(pod); owner != nil {
		found.Controller, found.Owner = owner.Kind, owner.UID
	}
	return found
}

// evict asks for the eviction of one pod, and returns what became of that, and why it is
// refused, by a budget or by anybody else; empty where it is not. Whether the pod is gone is
// known when it is listed again. What has come by the same name meanwhile is another pod.
func evict(ctx context.Context, evictions client.SubResourceWriter, pod *corev1.Pod) (Result, string) {
	if until := pod.DeletionTimestamp; until != nil {
		return NotAsked, "it is being deleted, and was to be gone by " + until.UTC().Format(time.RFC3339)
	}
	err := evictions.Create(ctx, pod, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))},
	})
	switch {
	case err == nil:
		return Evicted, ""
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		return Gone, ""
	case apierrors.IsTooManyRequests(err):
		return Blocked, reason(err)
	}
	return Failed, reason(err)
}

// reason is what the API server says of a refusal, with the budget that it names.
func reason(err error) string {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return err.Error()
	}
	text := status.Status().Message
	if details := status.Status().Details; details != nil {
		for _, cause := range details.Causes {
			text += " " + cause.Message
		}
	}
	return text
}

// RetryPeriod is after what time evictions are tried again.
const RetryPeriod = 5 * time.Second
