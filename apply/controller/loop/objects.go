package loop

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/sanitize"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// SetFinalizer sets a finalizer, or removes it, by one of the functions of
// controllerutil, in a patch that the API server refuses when the object has changed:
// the list of finalizers is everybody's. It returns the object as the API server has it
// then.
func SetFinalizer[T client.Object](ctx context.Context, c client.Client, object T, finalizer string, set func(client.Object, string) bool) (T, error) {
	changed := object.DeepCopyObject().(T)
	if !set(changed, finalizer) {
		return object, nil
	}
	patch := client.MergeFromWithOptions(object, client.MergeFromWithOptimisticLock{})
	return changed, c.Patch(ctx, changed, patch, client.FieldOwner(v1.FieldManager))
}

// maxMessage bounds the message of a condition, in characters. The schema takes
// 32,768, and a status that is refused would go on reporting what was before.
const maxMessage = 8192

// Conditions sets the conditions of one object, observed at one generation.
type Conditions struct {
	List       *[]metav1.Condition
	Generation int64
}

// Set sets a condition. Its message is cut to what a status has room for.
func (c Conditions) Set(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(c.List, metav1.Condition{
		Type: kind, Status: status, ObservedGeneration: c.Generation, Reason: reason, Message: sanitize.ClipRunes(message, maxMessage),
	})
}

// SetTo sets a condition to true or false.
func (c Conditions) SetTo(kind string, on bool, reason, message string) {
	status := metav1.ConditionFalse
	if on {
		status = metav1.ConditionTrue
	}
	c.Set(kind, status, reason, message)
}

// SetReleaseBlocked reports what waits for an approval. Where nothing ever did, it
// reports nothing.
func (c Conditions) SetReleaseBlocked(block *plan.ReleaseBlock) {
	switch {
	case block != nil:
		c.Set(v1.ReleaseBlockedCondition, metav1.ConditionTrue, v1.ReleaseBlockedReason, block.Error())
	case meta.FindStatusCondition(*c.List, v1.ReleaseBlockedCondition) != nil:
		c.Set(v1.ReleaseBlockedCondition, metav1.ConditionFalse, v1.SucceededReason, "nothing is held back")
	}
}

// maxNote is what the API server takes as the note of an event, in bytes.
const maxNote = 1024

// Event records an event of an object. Its note is cut to what the API server takes.
func Event(recorder events.EventRecorder, object client.Object, kind, reason, action, format string, args ...any) {
	recorder.Eventf(object, nil, kind, reason, action, "%s", sanitize.Clip(fmt.Sprintf(format, args...), maxNote))
}

// ListPools lists the pools that there are.
func ListPools(ctx context.Context, from client.Reader, options ...client.ListOption) ([]*v1.NodePool, error) {
	var list v1.NodePoolList
	if err := from.List(ctx, &list, options...); err != nil {
		return nil, fmt.Errorf("list pools: %w", err)
	}
	pools := make([]*v1.NodePool, 0, len(list.Items))
	for i := range list.Items {
		pools = append(pools, &list.Items[i])
	}
	return pools, nil
}
