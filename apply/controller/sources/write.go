package sources

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/plan"
)

// write makes the changes of a plan and reports them. That a prune was approved is
// reported before: whatever comes in between, it is known whose word it was.
func (r *Reconciler) write(ctx context.Context, src *v1.NodePoolSource, state *fetchState, p *plan.PoolsPlan) error {
	if len(p.Changes) == 0 {
		return nil
	}
	if p.ConfirmsSource() {
		if err := r.confirm(ctx, src); err != nil {
			return err
		}
	}
	if p.ReleaseApproved {
		r.event(src, corev1.EventTypeNormal, v1.ReleaseApprovedReason, "apply", "the releases of %s are approved; applying %s", state.good, describePools(p))
	}
	if p.Approved {
		if before := len(state.approved); state.approve(p.Deletes()) {
			r.event(src, corev1.EventTypeNormal, v1.PruneApprovedReason, "prune", "%s", describeApproval(state.good, state.approved[before:]))
		}
	}
	if err := refused(r.writeRevision(ctx, src, p)); err != nil {
		return err
	}
	log.FromContext(ctx).Info("applied revision", "revision", state.good, "changes", len(p.Changes))
	r.event(src, corev1.EventTypeNormal, "Applied", "apply", "%s at %s", describePools(p), state.good)
	return nil
}

// writeRevision writes the pools of a revision, and then its number, when the cache has all of
// them: that is the moment at which nodes follow it, and all of it. Where the cache has not, because
// somebody else was faster with some or it is behind, the error is one of [apply.IsConflict].
func (r *Reconciler) writeRevision(ctx context.Context, src *v1.NodePoolSource, p *plan.PoolsPlan) error {
	if err := r.applier.DryRunPools(ctx, p); err != nil {
		return err
	}
	versions, err := r.applier.WritePools(ctx, p)
	if err != nil || p.Number == 0 {
		return err
	}
	if err := awaitCache(ctx, func() (bool, error) { return r.hasCached(ctx, p, versions) }); err != nil {
		return fmt.Errorf("source %q: %w", src.Name, err)
	}
	status := *src.Status.DeepCopy()
	status.Number = p.Number
	written, err := r.writeStatus(ctx, src, status)
	if err == nil && !written {
		return fmt.Errorf("source %q is gone: %w", src.Name, loop.ErrBehind)
	}
	return err
}

// cacheLag is how long a pass waits for the cache to have what it has written; far
// longer than that takes. Then a later pass goes on waiting.
const cacheLag = 2 * time.Second

// awaitCache waits until the cache has what was written. The error is loop.ErrBehind
// where it has not within cacheLag.
func awaitCache(ctx context.Context, has func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, cacheLag)
	defer cancel()
	for {
		if seen, err := has(); err != nil || seen {
			return err
		}
		select {
		case <-ctx.Done():
			return loop.ErrBehind
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// hasCached reports whether the cache has what was written: these versions of the pools,
// or later ones.
func (r *Reconciler) hasCached(ctx context.Context, p *plan.PoolsPlan, versions map[string]string) (bool, error) {
	live, err := loop.ListPools(ctx, r.client, client.UnsafeDisableDeepCopy)
	if err != nil {
		return false, err
	}
	cached := map[string]*v1.NodePool{}
	for _, pool := range live {
		cached[pool.Name] = pool
	}
	for _, change := range p.Changes {
		version, written := versions[change.Name]
		if !written { // it is gone
			continue
		}
		pool, found := cached[change.Name]
		if !found {
			return false, nil
		}
		order, err := resourceversion.CompareResourceVersion(pool.ResourceVersion, version)
		if err != nil || order < 0 {
			return false, err
		}
	}
	return true, nil
}

// confirm is refused with a conflict where a source is not as the cache has it.
func (r *Reconciler) confirm(ctx context.Context, src *v1.NodePoolSource) error {
	now, err := r.reread(ctx, src)
	if err == nil && (now == nil || now.ResourceVersion != src.ResourceVersion) {
		err = loop.ErrBehind
	}
	if err != nil {
		return fmt.Errorf("source %q: %w", src.Name, err)
	}
	return nil
}

// refused marks what the API server will not take however often it is asked.
func refused(err error) error {
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) {
		return &refusal{reason: v1.ApplyReason, err: err}
	}
	return err
}
