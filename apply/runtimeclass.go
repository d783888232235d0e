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

// RuntimeClass carries out the change of a pool's RuntimeClass. A replacement
// deletes and creates: pods that run are not touched, pods that are created in
// between are refused. Labels, annotations and the overhead that others have set
// are carried over; meanwhile they are noted in the status of the pool, which costs
// two writes of it where there is anything to note. The pool is brought up to what those make of
// it.
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
	return a.noteReplaced(ctx, pool, nil)
}

func (a *Applier) replaceRuntimeClass(ctx context.Context, pool *v1.NodePool, change plan.RuntimeClassChange) error {
	if err := a.rehearseRuntimeClass(ctx, change.Want.DeepCopy()); err != nil {
		return err
	}
	if err := a.noteReplaced(ctx, pool, change.Replaced); err != nil {
		return err
	}
	if err := a.deleteExactly(ctx, change.Live); err != nil {
		return err
	}
	return a.createRuntimeClass(ctx, change.Want.DeepCopy())
}

// noteReplaced writes into the status of the pool what its next RuntimeClass
// inherits; nil takes it out.
func (a *Applier) noteReplaced(ctx context.Context, pool *v1.NodePool, replaced *v1.ReplacedRuntimeClass) error {
	if equality.Semantic.DeepEqual(pool.Status.ReplacedRuntimeClass, replaced) {
		return nil
	}
	noted := pool.DeepCopy()
	noted.Status.ReplacedRuntimeClass = replaced.DeepCopy()
	if err := a.client.Status().Patch(ctx, noted, client.MergeFromWithOptions(pool, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("note in the status of pool %q what its RuntimeClass inherits: %w", pool.Name, err)
	}
	*pool = *noted
	return nil
}

// rehearseRuntimeClass asks whether the API server would take a RuntimeClass in
// the place of the one that is there, before that one is deleted.
func (a *Applier) rehearseRuntimeClass(ctx context.Context, class *nodev1.RuntimeClass) error {
	if err := a.client.Create(ctx, class, client.DryRunAll); !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil // admission has let it through, and only the old one is in its way
}

// createRuntimeClass does not apply, because an apply would take over what
// somebody else made under that name in the meantime.
func (a *Applier) createRuntimeClass(ctx context.Context, class *nodev1.RuntimeClass) error {
	if err := a.client.Create(ctx, class); err != nil {
		return fmt.Errorf("create RuntimeClass %q: %w", class.Name, err)
	}
	return nil
}

// updateRuntimeClass does not apply either: an apply takes away only what earlier
// applies have set, and neither what the creation did nor what somebody has added
// by hand. The patch is refused when the RuntimeClass is no longer as it was seen.
func (a *Applier) updateRuntimeClass(ctx context.Context, change plan.RuntimeClassChange) error {
	class := change.Live.DeepCopy()
	class.Scheduling = change.Want.Scheduling.DeepCopy()
	patch := client.MergeFromWithOptions(change.Live, client.MergeFromWithOptimisticLock{})
	if err := a.client.Patch(ctx, class, patch); err != nil {
		return fmt.Errorf("update RuntimeClass %q: %w", class.Name, err)
	}
	return nil
}

// deleteExactly deletes an object only as it was seen.
func (a *Applier) deleteExactly(ctx context.Context, object client.Object) error {
	uid, version := object.GetUID(), object.GetResourceVersion()
	return client.IgnoreNotFound(a.client.Delete(ctx, object, client.Preconditions{UID: &uid, ResourceVersion: &version}))
}
