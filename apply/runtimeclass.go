package apply

import (
	"context"
	"fmt"
	"maps"

	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/apply/plan"
)

// RuntimeClass carries out the change of a RuntimeClass. A replacement deletes
// and creates: pods that run are not touched, pods that are created in between
// are refused. Labels, annotations and the overhead that others have set are
// carried over.
func (a *Applier) RuntimeClass(ctx context.Context, change plan.RuntimeClassChange) error {
	switch change.Action {
	case plan.None:
		return nil
	case plan.Create:
		return a.createRuntimeClass(ctx, change.Want.DeepCopy())
	case plan.Update:
		return a.updateRuntimeClass(ctx, change)
	case plan.Replace:
		if err := a.rehearseRuntimeClass(ctx, successor(change)); err != nil {
			return fmt.Errorf("replace RuntimeClass %q: %w", change.Name(), err)
		}
		if err := a.deleteExactly(ctx, change.Live); err != nil {
			return fmt.Errorf("replace RuntimeClass %q: %w", change.Name(), err)
		}
		return a.createRuntimeClass(ctx, successor(change))
	case plan.Delete:
		if err := a.deleteExactly(ctx, change.Live); err != nil {
			return fmt.Errorf("delete RuntimeClass %q: %w", change.Name(), err)
		}
		return nil
	default:
		return fmt.Errorf("RuntimeClass %q: unknown action %q", change.Name(), change.Action)
	}
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

func (a *Applier) updateRuntimeClass(ctx context.Context, change plan.RuntimeClassChange) error {
	want := change.Want.DeepCopy()
	want.UID, want.ResourceVersion = change.Live.UID, change.Live.ResourceVersion
	if _, err := a.apply(ctx, want); err != nil {
		return fmt.Errorf("update RuntimeClass %q: %w", want.Name, err)
	}
	return nil
}

// successor is the new RuntimeClass with what others have set on the old one.
func successor(change plan.RuntimeClassChange) *nodev1.RuntimeClass {
	class := change.Want.DeepCopy()
	class.Labels = maps.Clone(change.Live.Labels)
	class.Annotations = maps.Clone(change.Live.Annotations)
	class.Overhead = change.Live.Overhead.DeepCopy()
	return class
}

// deleteExactly deletes an object only as it was seen.
func (a *Applier) deleteExactly(ctx context.Context, object client.Object) error {
	uid, version := object.GetUID(), object.GetResourceVersion()
	return client.IgnoreNotFound(a.client.Delete(ctx, object, client.Preconditions{UID: &uid, ResourceVersion: &version}))
}
