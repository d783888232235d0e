package evict

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/apply/plan"
)

// Waiting returns the pods that have no node and name a RuntimeClass. It fails with
// [ErrNoRights] where pods may not be listed, which is asked for first: nothing is refused then
// that an audit log would report.
//
// The reader must not be a cache: nobody watches all pods for this.
func Waiting(ctx context.Context, live client.Reader, reviews client.Writer, class string) ([]plan.WaitingPod, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Resource: "pods"},
	}}
	if err := reviews.Create(ctx, review); err != nil {
		return nil, fmt.Errorf("review the right to list pods: %w", err)
	}
	if !review.Status.Allowed {
		return nil, ErrNoRights
	}
	var waiting []plan.WaitingPod
	noNode := client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("spec.nodeName", "")}
	for pods := (&corev1.PodList{}); ; {
		err := live.List(ctx, pods, noNode, client.Limit(500), client.Continue(pods.Continue))
		if err != nil {
			return nil, fmt.Errorf("list pods without a node: %w", err)
		}
		for i := range pods.Items {
			if pod, waits := plan.WaitingPodOf(&pods.Items[i]); waits && pod.RuntimeClass == class {
				waiting = append(waiting, pod)
			}
		}
		if pods.Continue == "" {
			return waiting, nil
		}
	}
}
