package sources

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/plan"
)

// setFinalizer sets the finalizer of a source, or removes it. It comes before the source has any
// pools: these are deleted with the source, or have to count without its number.
func (r *Reconciler) setFinalizer(ctx context.Context, src *v1.NodePoolSource, set func(client.Object, string) bool) error {
	changed, err := loop.SetFinalizer(ctx, r.client, src, v1.SourceFinalizer, set)
	if err != nil {
		return fmt.Errorf("finalizer of source %q: %w", src.Name, err)
	}
	if changed != src {
		*src = *changed
	}
	return nil
}

// reconcileDeletion takes one pass over a source that is being deleted: it deletes its pools where
// the source says so, waits for pools, and then removes the finalizer.
// Each pool that goes leads to another pass.
//
// All is read past the cache, which may not have seen yet that somebody has
// thought better of it, nor a pool that was made just before.
func (r *Reconciler) reconcileDeletion(ctx context.Context, cached *v1.NodePoolSource) (reconcile.Result, error) {
	r.writing.Lock()
	defer r.writing.Unlock()
	src, err := r.reread(ctx, cached)
	if err != nil || src == nil {
		return reconcile.Result{}, err
	}
	live, err := loop.ListPools(ctx, r.live)
	if err != nil {
		return reconcile.Result{}, err
	}
	deletion := plan.Deletion(src, live)
	if !deletion.Waits() {
		return reconcile.Result{}, r.removeFinalizer(ctx, src, deletion)
	}
	failure := r.deletePools(ctx, src, deletion)
	if apply.IsConflict(failure) {
		// Somebody was faster with one of the pools. What is waited for is reported
		// all the same.
		_, err := r.writeStatus(ctx, src, deletingStatus(src, deletion, nil))
		return reconcile.Result{}, errors.Join(failure, err)
	}
	if written, err := r.writeStatus(ctx, src, deletingStatus(src, deletion, failure)); err != nil {
		return reconcile.Result{}, err
	} else if written && failure != nil {
		r.event(src, corev1.EventTypeWarning, v1.ApplyReason, "delete", "%s", describe(failure))
	}
	return reconcile.Result{RequeueAfter: r.period(src, plan.Poll{At: r.now(), Failures: 1})}, nil
}

// reread reads a source past the cache; nil where it is gone.
func (r *Reconciler) reread(ctx context.Context, cached *v1.NodePoolSource) (*v1.NodePoolSource, error) {
	var list v1.NodePoolSourceList
	if err := r.live.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list sources: %w", err)
	}
	for i := range list.Items {
		if src := &list.Items[i]; src.UID == cached.UID {
			return src, nil
		}
	}
	return nil, nil
}

// deletePools deletes the pools that shall go and are not deleted yet. It records
// that before: whatever comes in between, it is known why they go.
func (r *Reconciler) deletePools(ctx context.Context, src *v1.NodePoolSource, deletion *plan.SourceDeletion) error {
	if len(deletion.Changes) == 0 {
		return nil
	}
	if ready := meta.FindStatusCondition(src.Status.Conditions, v1.ReadyCondition); ready == nil || ready.Reason != v1.DeletingReason {
		r.event(src, corev1.EventTypeNormal, v1.DeletingReason, "delete", "spec.deletionPolicy is %s: %s", v1.DeletePools, describeDeletion(deletion))
	}
	if err := refused(r.writeRevision(ctx, src, &plan.PoolsPlan{Changes: deletion.Changes})); err != nil {
		return err
	}
	log.FromContext(ctx).Info("deleted the pools of a source that is being deleted", "pools", len(deletion.Changes))
	return nil
}

// removeFinalizer removes the finalizer, and records which pools are kept.
func (r *Reconciler) removeFinalizer(ctx context.Context, src *v1.NodePoolSource, deletion *plan.SourceDeletion) error {
	if err := r.setFinalizer(ctx, src, controllerutil.RemoveFinalizer); err != nil {
		return client.IgnoreNotFound(err)
	}
	if len(deletion.Kept) > 0 {
		r.event(src, corev1.EventTypeNormal, "PoolsKept", "delete", "the source is deleted; %s", describeKept(deletion))
	}
	return nil
}

// deletingStatus says what a source that is being deleted waits for.
func deletingStatus(src *v1.NodePoolSource, deletion *plan.SourceDeletion, failure error) v1.NodePoolSourceStatus {
	status := *src.Status.DeepCopy()
	status.ObservedGeneration = src.Generation
	set := loop.Conditions{List: &status.Conditions, Generation: src.Generation}.SetTo
	message, refused := describeDeletion(deletion), (*refusal)(nil)
	if failure != nil {
		message = describe(failure) + "; " + message
	}
	stalled := errors.As(failure, &refused)
	set(v1.ReadyCondition, false, v1.DeletingReason, message)
	set(v1.ReconcilingCondition, !stalled, v1.DeletingReason, message)
	set(v1.StalledCondition, stalled, v1.DeletingReason, message)
	return status
}
