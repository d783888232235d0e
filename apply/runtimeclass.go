package apply

import (
	"context"
	"fmt"

	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// RuntimeClass executes the change of a pool's RuntimeClass. A replacement
// deletes and creates: running pods are not affected, pods that are created in
// between are refused. Labels, annotations and the overhead that others have
// set are carried over; meanwhile they are recorded in the status of the pool,
// which costs two writes of it where there is anything to record. The pool is
// updated to the result of these writes.
func (a *Applier) RuntimeClass(ctx context.Context, pool *v1.NodePool, change plan.RuntimeClassChange) error {
	switch change.Action {
	case plan.None:
	case plan.Create:
		if err := a.createRuntimeClass(ctx, change.Want.DeepCopy()); err != nil {
			return err
		}
	case plan.Update:
		if err := a.updateRuntimeClass(ctx, change); err != nil {
			return err
		}
	case plan.Replace:
		if err := a.replaceRuntimeClass(ctx, pool, change); err != nil {
			return fmt.Errorf("replace RuntimeClass %q: %w", change.Name(), err)
		}
	case plan.Delete:
		if err := a.deleteExactly(ctx, change.Live); err != nil {
			return fmt.Errorf("delete RuntimeClass %q: %w", change.Name(), err)
		}
	default:
		return fmt.Errorf("RuntimeClass %q: unknown action %q", change.Name(), change.Action)
	}
	return a.recordReplaced(ctx, pool, nil)
}

func (a *Applier) replaceRuntimeClass(ctx context.Context, pool *v1.NodePool, change plan.RuntimeClassChange) error {
	if err := a.dryRunRuntimeClass(ctx, change.Want.DeepCopy()); err != nil {
		return err
	}
	if err := a.recordReplaced(ctx, pool, change.Replaced); err != nil {
		return err
	}
	if err := a.deleteExactly(ctx, change.Live); err != nil {
		return err
	}
	return a.createRuntimeClass(ctx, change.Want.DeepCopy())
}

// recordReplaced writes into the status of the pool what its next RuntimeClass
// inherits; nil removes it.
func (a *Applier) recordReplaced(ctx context.Context, pool *v1.NodePool, replaced *v1.ReplacedRuntimeClass) error {
	if equality.Semantic.DeepEqual(pool.Status.ReplacedRuntimeClass, replaced) {
		return nil
	}
	recorded := pool.DeepCopy()
	recorded.Status.ReplacedRuntimeClass = replaced.DeepCopy()
	if err := a.client.Status().Patch(ctx, recorded, client.MergeFromWithOptions(pool, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("record in the status of pool %q what its RuntimeClass inherits: %w", pool.Name, err)
	}
	*pool = *recorded
	return nil
}

// dryRunRuntimeClass returns an error if the API server would refuse a
// RuntimeClass in place of the existing one, before that one is deleted.
func (a *Applier) dryRunRuntimeClass(ctx context.Context, class *nodev1.RuntimeClass) error {
	if err := a.client.Create(ctx, class, client.DryRunAll); !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil // admission accepts it, and only the old one is in its way
}

// createRuntimeClass does not apply, because an apply would take over an object
// that somebody else has created under that name in the meantime.
func (a *Applier) createRuntimeClass(ctx context.Context, class *nodev1.RuntimeClass) error {
	if err := a.client.Create(ctx, class); err != nil {
		return fmt.Errorf("create RuntimeClass %q: %w", class.Name, err)
	}
	return nil
}

// updateRuntimeClass does not apply either: an apply removes only what earlier
// applies have set, and neither what the creation has set nor what somebody has
// added by hand. The patch is refused when the RuntimeClass has changed since
// it was read.
func (a *Applier) updateRuntimeClass(ctx context.Context, change plan.RuntimeClassChange) error {
	class := change.Live.DeepCopy()
	class.Scheduling = change.Want.Scheduling.DeepCopy()
	patch := client.MergeFromWithOptions(change.Live, client.MergeFromWithOptimisticLock{})
	if err := a.client.Patch(ctx, class, patch); err != nil {
		return fmt.Errorf("update RuntimeClass %q: %w", class.Name, err)
	}
	return nil
}

// deleteExactly deletes an object only if it has not changed since it was read.
func (a *Applier) deleteExactly(ctx context.Context, object client.Object) error {
	uid, version := object.GetUID(), object.GetResourceVersion()
	return client.IgnoreNotFound(a.client.Delete(ctx, object, client.Preconditions{UID: &uid, ResourceVersion: &version}))
}
