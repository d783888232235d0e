package apply

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// absent is a resourceVersion that no object has. An apply that carries it
// creates the object, or is refused with a conflict when there is one: an
// object that somebody else has just created under that name is not taken over.
const absent = "1"

// Pools executes what a revision does to the NodePools: [Applier.DryRunPools],
// then [Applier.WritePools].
func (a *Applier) Pools(ctx context.Context, p *plan.PoolsPlan) error {
	if err := a.DryRunPools(ctx, p); err != nil {
		return err
	}
	_, err := a.WritePools(ctx, p)
	return err
}

// DryRunPools sends every change as a dry run, so that a revision with a change
// that the API server refuses changes nothing. Many changes are sent only where
// one may be refused: see [Applier.ReadingAdmission]. If one is refused all the
// same, because admission has just changed, the revision is written in part,
// and the error is that of [Applier.WritePools].
func (a *Applier) DryRunPools(ctx context.Context, p *plan.PoolsPlan) error {
	if a.admission != nil && len(p.Changes) >= manyPools {
		// If it is not known, every change gets its dry run.
		if takesAll, err := a.refusesNothing(ctx); err == nil && takesAll {
			return nil
		}
	}
	return eachPool(p.Changes, func(change plan.PoolChange) error { return a.DryRunPool(ctx, change) })
}

// WritePools updates, then creates pools one after the other, and deletes last. It returns the resource
// versions of the written pools, by name, without the deleted ones. A pool that a revision drops is
// marked, and deleted once the number of the revision counts.
//
// A pool that has changed since the plan was made is not written, and the error
// satisfies [IsConflict]: the caller reads and plans again. Other updates are written
// all the same, but after an error no pool is created or deleted.
func (a *Applier) WritePools(ctx context.Context, p *plan.PoolsPlan) (versions map[string]string, err error) {
	var mu sync.Mutex
	versions = map[string]string{}
	write := func(change plan.PoolChange) error {
		written, err := a.pool(ctx, change)
		if written != nil {
			mu.Lock()
			defer mu.Unlock()
			versions[change.Name] = written.ResourceVersion
		}
		return err
	}
	var creates, updates, deletes []plan.PoolChange
	for _, change := range p.Changes {
		switch change.Action {
		case plan.Create:
			creates = append(creates, change)
		case plan.Delete:
			deletes = append(deletes, change)
		default:
			updates = append(updates, change)
		}
	}
	if err := eachPool(updates, write); err != nil {
		return versions, err
	}
	if len(creates) > 0 {
		if err := a.awaitSecond(ctx, creates[0], p.NotBefore.Time); err != nil {
			return versions, err
		}
	}
	for _, change := range append(creates, deletes...) {
		if err := eachPool([]plan.PoolChange{change}, write); err != nil {
			return versions, err
		}
	}
	return versions, nil
}

const (
	// clockSkew is more than clocks differ by. What was created longer ago is
	// older by any clock.
	clockSkew = time.Minute
	// maxSeconds is how often awaitSecond waits for the next second.
	maxSeconds = 3
)

// awaitSecond waits until a new pool would be younger than those that were created at a time.
// Only the clock of the API server counts: a dry run returns it.
func (a *Applier) awaitSecond(ctx context.Context, change plan.PoolChange, created time.Time) error {
	if time.Since(created) > clockSkew {
		return nil
	}
	for range maxSeconds {
		would, err := a.applyPool(ctx, poolRecord(change), client.DryRunAll)
		if err != nil {
			return err
		}
		if would.CreationTimestamp.After(created) {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// PoolsAtOnce is how many dry runs or writes of pools are in flight at the same time.
const PoolsAtOnce = 8

// eachPool calls do for each change, for several at the same time. A failure
// other than a conflict keeps the remaining ones from starting. Of several
// errors it returns the first in the order of the pools, and a failure rather
// than a conflict.
func eachPool(changes []plan.PoolChange, do func(plan.PoolChange) error) error {
	var (
		errs     = make([]error, len(changes))
		failed   atomic.Bool
		underway sync.WaitGroup
		free     = make(chan struct{}, PoolsAtOnce)
	)
	for i, change := range changes {
		free <- struct{}{}
		if failed.Load() {
			break
		}
		underway.Go(func() {
			defer func() { <-free }()
			if err := do(change); err != nil {
				errs[i] = fmt.Errorf("%s pool %q: %w", change.Action, change.Name, err)
				failed.CompareAndSwap(false, !IsConflict(err))
			}
		})
	}
	underway.Wait()
	var conflict error
	for _, err := range errs {
		if err != nil && !IsConflict(err) {
			return err
		}
		conflict = cmp.Or(conflict, err)
	}
	return conflict
}

// DryRunPool returns an error if the API server would refuse a change. It
// identifies the pool by its UID alone: while nodes join and leave, its status,
// and with it the resourceVersion, changes all the time.
func (a *Applier) DryRunPool(ctx context.Context, change plan.PoolChange) error {
	if change.Action == plan.Delete {
		uid := change.Live.GetUID()
		return client.IgnoreNotFound(a.client.Delete(ctx, change.Live.DeepCopy(), client.Preconditions{UID: &uid}, client.DryRunAll))
	}
	want := poolRecord(change)
	if change.Live != nil {
		// A finalizer on a pool that is being deleted by now would be refused, which
		// no other revision could fix.
		want.ResourceVersion, want.Finalizers = "", nil
	}
	_, err := a.applyPool(ctx, want, client.DryRunAll)
	if inTheWay(err, change) {
		_, err = a.exactSpec(ctx, change.Live, change.Want.Spec, client.DryRunAll)
	}
	return err
}

// pool executes one change, and returns the written pool; nil where it is deleted.
func (a *Applier) pool(ctx context.Context, change plan.PoolChange) (*v1.NodePool, error) {
	switch {
	case change.Action == plan.Delete && change.Drops != "":
		return a.annotatePool(ctx, change.Live, v1.RevisionNumberAnnotation, change.Drops)
	case change.Action == plan.Delete && change.ApproveRelease:
		live, err := a.annotatePool(ctx, change.Live, v1.ApproveReleaseAnnotation, v1.DeletionApproval)
		if err != nil || live == nil {
			return nil, err
		}
		return nil, a.deleteExactly(ctx, live)
	case change.Action == plan.Delete:
		return nil, a.deleteExactly(ctx, change.Live)
	}
	want := poolRecord(change)
	written, err := a.applyPool(ctx, want)
	if inTheWay(err, change) {
		if written, err = a.exactSpec(ctx, change.Live, change.Want.Spec); err != nil {
			return nil, err
		}
		want.ResourceVersion = written.ResourceVersion
		written, err = a.applyPool(ctx, want)
	}
	if err != nil {
		return nil, err
	}
	return a.exactSpec(ctx, written, change.Want.Spec)
}

// annotatePool annotates a pool that has not changed, and returns it as it is written; nil where
// it is gone.
func (a *Applier) annotatePool(ctx context.Context, live *v1.NodePool, key, value string) (*v1.NodePool, error) {
	marked := live.DeepCopy()
	metav1.SetMetaDataAnnotation(&marked.ObjectMeta, key, value)
	patch := client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{})
	if err := a.client.Patch(ctx, marked, patch, client.FieldOwner(v1.FieldManager)); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return marked, nil
}

// DropPool deletes a pool that its source has dropped, if nobody has changed it since.
func (a *Applier) DropPool(ctx context.Context, pool *v1.NodePool) error {
	return a.deleteExactly(ctx, pool)
}

// inTheWay reports whether the API server may have refused a pool because of
// fields that somebody has set by hand: an apply keeps them, and a valid spec
// may be invalid in combination with them.
func inTheWay(err error, change plan.PoolChange) bool {
	return apierrors.IsInvalid(err) && change.Live != nil && !equality.Semantic.DeepEqual(change.Live.Spec, change.Want.Spec)
}

// poolRecord returns the object to apply for a change: all that a source
// defines of a pool, and the identity of the pool that the change was planned
// for.
func poolRecord(change plan.PoolChange) *v1.NodePool {
	want := &v1.NodePool{
		TypeMeta: change.Want.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Name:            change.Want.Name,
			Labels:          maps.Clone(change.Want.Labels),
			Annotations:     maps.Clone(change.Want.Annotations),
			Finalizers:      slices.Clone(change.Want.Finalizers),
			ResourceVersion: absent,
		},
		Spec: change.Want.Spec,
	}
	if change.Live != nil {
		want.UID, want.ResourceVersion = change.Live.UID, change.Live.ResourceVersion
	}
	return want
}

func (a *Applier) applyPool(ctx context.Context, want *v1.NodePool, options ...client.ApplyOption) (*v1.NodePool, error) {
	answer, err := a.apply(ctx, want, options...)
	if err != nil {
		return nil, err
	}
	written := &v1.NodePool{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(answer.Object, written); err != nil {
		return nil, err
	}
	return written, nil
}

// exactSpec removes fields of the spec that somebody has set by hand. Git
// defines a pool completely, but an apply keeps what others have added.
func (a *Applier) exactSpec(ctx context.Context, pool *v1.NodePool, spec v1.NodePoolSpec, options ...client.UpdateOption) (*v1.NodePool, error) {
	if equality.Semantic.DeepEqual(pool.Spec, spec) {
		return pool, nil
	}
	exact := pool.DeepCopy()
	exact.Spec = *spec.DeepCopy()
	if err := a.client.Update(ctx, exact, options...); err != nil {
		return nil, err
	}
	return exact, nil
}
