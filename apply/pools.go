package apply

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// absent is a resourceVersion that no object has. An apply that carries it
// creates the object, or is refused with a conflict when there is one: what
// somebody else has just made under that name is not taken over.
const absent = "1"

// Pools carries out what a revision does to the NodePools: [Applier.RehearsePools],
// then [Applier.WritePools].
func (a *Applier) Pools(ctx context.Context, p *plan.PoolsPlan) error {
	if err := a.RehearsePools(ctx, p); err != nil {
		return err
	}
	_, err := a.WritePools(ctx, p)
	return err
}

// RehearsePools asks the API server about every change, so that a revision of
// which it would refuse one changes none. Of many it asks only where it may refuse
// one: see [Applier.ReadingAdmission]. Should it refuse one all the same, because that
// has just changed, the revision is written in part, and the error is that of
// [Applier.WritePools].
func (a *Applier) RehearsePools(ctx context.Context, p *plan.PoolsPlan) error {
	if a.admission != nil && len(p.Changes) >= manyPools {
		// What is not known is asked.
		if takesAll, err := a.refusesNothing(ctx); err == nil && takesAll {
			return nil
		}
	}
	return eachPool(p.Changes, func(change plan.PoolChange) error { return a.RehearsePool(ctx, change) })
}

// WritePools writes every change, and deletes last. It returns the resource
// versions that it has made, by pool; of those that it deletes there is none.
//
// A pool that is no longer as the plan has seen it is left alone, and the error
// is then one of [IsConflict]: the way on is to read and plan again. The other
// pools are written all the same, but nothing is deleted.
func (a *Applier) WritePools(ctx context.Context, p *plan.PoolsPlan) (versions map[string]string, err error) {
	var mu sync.Mutex
	versions = map[string]string{}
	order := newCreations(p.Changes)
	write := func(change plan.PoolChange) (err error) {
		defer func() { order.done(change, err) }()
		if err := order.await(ctx, change); err != nil {
			return err
		}
		if err := a.awaitSecond(ctx, change); err != nil {
			return err
		}
		written, err := a.pool(ctx, change)
		if written != nil {
			mu.Lock()
			defer mu.Unlock()
			versions[change.Name] = written.ResourceVersion
		}
		return err
	}
	deletes := p.Deletes()
	if err := eachPool(p.Changes[:len(p.Changes)-len(deletes)], write); err != nil {
		return versions, err
	}
	for _, change := range p.Changes[len(p.Changes)-len(deletes):] {
		if err := eachPool([]plan.PoolChange{change}, write); err != nil {
			return versions, err
		}
	}
	return versions, nil
}

// PoolsAtOnce is how many pools are asked about, or written, at the same time.
const PoolsAtOnce = 8

// eachPool does something about each pool, about several at the same time. A
// failure that is no conflict keeps those from it that have not begun. Of several
// errors it returns the first by the order of the pools, and of a failure and a
// conflict the failure.
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

// RehearsePool asks the API server whether it would take a change, and changes
// nothing. It asks for the pool by its identity alone: while nodes move, its status,
// and with it the resourceVersion, changes all the time.
func (a *Applier) RehearsePool(ctx context.Context, change plan.PoolChange) error {
	if change.Action == plan.Delete {
		uid := change.Live.GetUID()
		return client.IgnoreNotFound(a.client.Delete(ctx, change.Live.DeepCopy(), client.Preconditions{UID: &uid}, client.DryRunAll))
	}
	want := poolRecord(change)
	if change.Live != nil {
		// A finalizer on a pool that is being deleted by now would be refused, as
		// nothing that another revision could mend.
		want.ResourceVersion, want.Finalizers = "", nil
	}
	_, err := a.applyPool(ctx, want, client.DryRunAll)
	if inTheWay(err, change) {
		_, err = a.exactSpec(ctx, change.Live, change.Want.Spec, client.DryRunAll)
	}
	return err
}

// pool carries out one change, and returns what the pool then is; nil where it is
// deleted.
func (a *Applier) pool(ctx context.Context, change plan.PoolChange) (*v1.NodePool, error) {
	if change.Action == plan.Delete {
		live, err := a.approveRelease(ctx, change)
		if err != nil {
			return nil, client.IgnoreNotFound(err)
		}
		return nil, a.deleteExactly(ctx, live)
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

// approveRelease marks a pool that is about to be deleted, where that has been
// approved: its nodes must not wait for another approval. It returns the pool as it
// is then.
func (a *Applier) approveRelease(ctx context.Context, change plan.PoolChange) (*v1.NodePool, error) {
	if !change.ApproveRelease {
		return change.Live, nil
	}
	marked := change.Live.DeepCopy()
	metav1.SetMetaDataAnnotation(&marked.ObjectMeta, v1.ApproveReleaseAnnotation, v1.DeletionApproval)
	patch := client.MergeFromWithOptions(change.Live, client.MergeFromWithOptimisticLock{})
	if err := a.client.Patch(ctx, marked, patch, client.FieldOwner(v1.FieldManager)); err != nil {
		return nil, err
	}
	return marked, nil
}

// inTheWay reports whether the API server may have refused a pool for what
// somebody has put there by hand: an apply leaves that, and what is good by
// itself may be wrong beside it.
func inTheWay(err error, change plan.PoolChange) bool {
	return apierrors.IsInvalid(err) && change.Live != nil && !equality.Semantic.DeepEqual(change.Live.Spec, change.Want.Spec)
}

// poolRecord is what is applied for a change: all that a source says of a pool,
// and the pool for which that was planned.
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

// exactSpec takes out of the spec what somebody has put there by hand. Git says
// all that there is to say of a pool; an apply leaves what others added.
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
