package controller

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/plan"
)

// hold puts the finalizer on a source, or takes it off, as its outcome says.
func (l *sourceLoop) hold(ctx context.Context, src *v1.NodePoolSource, outcome plan.SourceOutcome) error {
	switch outcome.Finalizer {
	case plan.FinalizerEnsured:
		return l.setFinalizer(ctx, src, controllerutil.AddFinalizer)
	case plan.FinalizerReleased:
		return l.setFinalizer(ctx, src, controllerutil.RemoveFinalizer)
	default:
		return nil
	}
}

// setFinalizer adds or removes the finalizer in a patch that the API server
// refuses when the source has changed: the list of finalizers is everybody's.
func (l *sourceLoop) setFinalizer(ctx context.Context, src *v1.NodePoolSource, set func(client.Object, string) bool) error {
	changed := src.DeepCopy()
	if !set(changed, v1.DeletePoolsFinalizer) {
		return nil
	}
	patch := client.MergeFromWithOptions(src, client.MergeFromWithOptimisticLock{})
	if err := l.client.Patch(ctx, changed, patch, client.FieldOwner(v1.FieldManager)); err != nil {
		return fmt.Errorf("finalizer of source %q: %w", src.Name, err)
	}
	*src = *changed
	return nil
}

// leave takes one pass over a source that is being deleted and holds its pools to
// the end: delete those that shall go, wait until they are gone, then let the
// source go. Each pool that goes leads to another pass.
//
// All is read past the cache, which may not have seen yet that somebody has
// thought better of it, nor a pool that was made just before.
func (l *sourceLoop) leave(ctx context.Context, cached *v1.NodePoolSource) (reconcile.Result, error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	src, err := l.reread(ctx, cached)
	if err != nil || src == nil {
		return reconcile.Result{}, err
	}
	live, err := listPools(ctx, l.live)
	if err != nil {
		return reconcile.Result{}, err
	}
	deletion := plan.Deletion(src, live)
	if !deletion.Waits() {
		return reconcile.Result{}, l.letGo(ctx, src, deletion)
	}
	failure := l.deletePools(ctx, src, deletion)
	if apply.IsConflict(failure) {
		// Somebody was faster with one of the pools. What is waited for is told all
		// the same.
		_, err := l.writeStatus(ctx, src, deletingStatus(src, deletion, nil))
		return reconcile.Result{}, errors.Join(failure, err)
	}
	if written, err := l.writeStatus(ctx, src, deletingStatus(src, deletion, failure)); err != nil {
		return reconcile.Result{}, err
	} else if written && failure != nil {
		l.event(src, corev1.EventTypeWarning, v1.ApplyReason, "delete", "%s", describe(failure))
	}
	return reconcile.Result{RequeueAfter: l.period(src, 1)}, nil
}

// reread reads a source past the cache; nil where it is gone.
func (l *sourceLoop) reread(ctx context.Context, cached *v1.NodePoolSource) (*v1.NodePoolSource, error) {
	var list v1.NodePoolSourceList
	if err := l.live.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list sources: %w", err)
	}
	for i := range list.Items {
		if src := &list.Items[i]; src.UID == cached.UID {
			return src, nil
		}
	}
	return nil, nil
}

// deletePools deletes the pools that shall go and are not deleted yet. It tells
// so before: whatever comes in between, it is known why they go.
func (l *sourceLoop) deletePools(ctx context.Context, src *v1.NodePoolSource, deletion *plan.SourceDeletion) error {
	if ready := meta.FindStatusCondition(src.Status.Conditions, v1.ReadyCondition); ready == nil || ready.Reason != v1.DeletingReason {
		l.event(src, corev1.EventTypeNormal, v1.DeletingReason, "delete", "spec.deletionPolicy is %s: %s", v1.DeletePools, describeDeletion(deletion))
	}
	if len(deletion.Changes) == 0 {
		return nil
	}
	if err := refused(l.writeWhole(ctx, src, &plan.PoolsPlan{Changes: deletion.Changes}, "")); err != nil {
		return err
	}
	log.FromContext(ctx).Info("deleted the pools of a source that is being deleted", "pools", len(deletion.Changes))
	return nil
}

// letGo takes off the finalizer, and tells which pools stay behind.
func (l *sourceLoop) letGo(ctx context.Context, src *v1.NodePoolSource, deletion *plan.SourceDeletion) error {
	if err := l.setFinalizer(ctx, src, controllerutil.RemoveFinalizer); err != nil {
		return client.IgnoreNotFound(err)
	}
	if len(deletion.Kept) > 0 {
		l.event(src, corev1.EventTypeNormal, "PoolsKept", "delete", "the source is deleted; %s", describeKept(deletion))
	}
	return nil
}

// deletingStatus says what a source that is being deleted waits for.
func deletingStatus(src *v1.NodePoolSource, deletion *plan.SourceDeletion, failure error) v1.NodePoolSourceStatus {
	status := *src.Status.DeepCopy()
	status.ObservedGeneration = src.Generation
	set := func(kind string, on bool, reason, message string) {
		condition := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, ObservedGeneration: src.Generation, Reason: reason, Message: clip(message)}
		if on {
			condition.Status = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&status.Conditions, condition)
	}
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
