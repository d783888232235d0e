package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

const sourceName = "platform"

// createSource points the program at the repository, with the default interval, and
// returns when the spare pool has been taken from it.
func (w *world) createSource(ctx context.Context) error {
	source := &v1.NodePoolSource{
		ObjectMeta: metav1.ObjectMeta{Name: sourceName},
		Spec: v1.NodePoolSourceSpec{
			URL: w.repository.address(), Ref: &v1.GitRef{Branch: "main"}, Path: "pools",
			Interval: metav1.Duration{Duration: v1.DefaultInterval},
		},
	}
	if w.size.rollouts { // every node gets a NoExecute taint, and that is meant
		source.Spec.ReleaseLimit = ptr.To(intstr.FromString("100%"))
	}
	if err := w.records.Create(ctx, source); err != nil {
		return fmt.Errorf("create the source: %w", err)
	}
	return w.poll(ctx, "the source is ready", func(ctx context.Context) error {
		if err := w.records.Get(ctx, client.ObjectKeyFromObject(source), source); err != nil {
			return err
		}
		if !apimeta.IsStatusConditionTrue(source.Status.Conditions, v1.ReadyCondition) {
			return fmt.Errorf("it is not: %v", source.Status.Conditions)
		}
		return nil
	})
}

// forget takes all pools and the source away, from the repository and the API server,
// as if nothing had been pushed yet, and the RuntimeClasses of the pools, which no
// garbage collector runs here to take. The program must not run, and the nodes must be
// bare: nobody cleans up after the pools.
func (w *world) forget(ctx context.Context) error {
	if err := w.repository.remove(ctx, w.fleet.pools); err != nil {
		return err
	}
	for _, list := range []client.ObjectList{&v1.NodePoolSourceList{}, &v1.NodePoolList{}, &nodev1.RuntimeClassList{}} {
		if err := w.records.List(ctx, list); err != nil {
			return err
		}
		objects, err := apimeta.ExtractList(list)
		if err != nil {
			return err
		}
		for _, o := range objects {
			if err := w.forgetRecord(ctx, o.(client.Object)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *world) forgetRecord(ctx context.Context, o client.Object) error {
	o.SetFinalizers(nil)
	if err := w.records.Update(ctx, o); err != nil {
		return err
	}
	return w.records.Delete(ctx, o)
}

// pushed is how the nodes followed a push.
type pushed struct {
	first, last time.Duration // from the return of git push
	settled     time.Duration // from the last node until every pool says that it is carried out
	early       int           // nodes that followed before the last pool was written
	cpu         float64       // seconds of the program until the last
	spent       processors    // until the last
	writes      nodeWrites
	others      int // writes of the program that are not of nodes
	// requests of the program, patches of nodes left out.
	requests []cluster.Request
}

// push commits and pushes pools, notifies the source, as a webhook of the Git
// server would, and waits for the nodes. Time counts from the return of git push.
// Were the source not notified, the wait for its next poll would come on top: that is
// a setting, and no speed.
func (w *world) push(ctx context.Context, pools []*pool, nodes []string) (p pushed, err error) {
	if err := w.repository.commit(ctx, pools); err != nil {
		return p, err
	}
	if err := w.settle(ctx); err != nil {
		return p, err
	}
	before, err := w.mark(ctx)
	if err != nil {
		return p, err
	}
	right := w.observer.expect("the nodes follow a push", nodes, w.fleet.right)
	if len(right.pending) != len(nodes) {
		return p, fmt.Errorf("%d of %d nodes are right before the push", len(nodes)-len(right.pending), len(nodes))
	}
	if err := w.repository.push(ctx); err != nil {
		return p, err
	}
	start := time.Now()
	spent, err := everybody()
	if err != nil {
		return p, err
	}
	if err := w.notify(ctx); err != nil {
		return p, err
	}
	if err := right.wait(ctx, w.waitTimeout()); err != nil {
		return p, err
	}
	use, err := w.runs.use()
	if err != nil {
		return p, err
	}
	after, err := everybody()
	if err != nil {
		return p, err
	}
	p.spent = after.since(spent)
	p.first, p.last, p.cpu = right.first.Sub(start), right.last.Sub(start), use.cpu-before.use.cpu
	if err := w.poolsReady(ctx); err != nil {
		return p, err
	}
	p.settled = time.Since(right.last)
	now, err := w.mark(ctx)
	if err != nil {
		return p, err
	}
	p.writes = now.nodeWrites(before)
	if p.requests, err = w.asked(before); err != nil {
		return p, err
	}
	written := lastWrite(p.requests, "nodepools")
	if written.IsZero() {
		return p, errors.New("a push was carried out, and no pool was written for it")
	}
	p.early = right.before(written)
	p.others = writesOf(p.requests, "nodes", "leases").outside
	return p, nil
}

// notify asks the source to poll at once.
func (w *world) notify(ctx context.Context) error {
	source := &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: sourceName}}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1.RequestedAtAnnotation, time.Now().Format(time.RFC3339Nano))
	if err := w.records.Patch(ctx, source, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		return fmt.Errorf("notify the source of the push: %w", err)
	}
	return nil
}

// poolsReady waits until every pool of the fleet says that it is carried out. Thousands of
// pools are listed only after one that was not ready is: a list four times a second would
// take more of the API server's time than what is waited for.
func (w *world) poolsReady(ctx context.Context) error {
	late := &v1.NodePool{}
	return w.poll(ctx, "every pool is ready", func(ctx context.Context) error {
		if late.Name != "" {
			if err := w.records.Get(ctx, client.ObjectKeyFromObject(late), late); err != nil {
				late.Name = "" // it may be gone: another one next time
				return err
			}
			if err := poolReady(late); err != nil {
				return err
			}
		}
		list := &v1.NodePoolList{}
		if err := w.records.List(ctx, list); err != nil {
			return err
		}
		if len(list.Items) != len(w.fleet.pools)+1 { // and the spare one
			return fmt.Errorf("there are %d pools, expected %d", len(list.Items), len(w.fleet.pools)+1)
		}
		var unready []*v1.NodePool
		for i := range list.Items {
			if poolReady(&list.Items[i]) != nil {
				unready = append(unready, &list.Items[i])
			}
		}
		if len(unready) == 0 {
			return nil
		}
		late = unready[rand.IntN(len(unready))]
		return poolReady(late)
	})
}

func poolReady(p *v1.NodePool) error {
	if p.Status.ObservedGeneration != p.Generation || !apimeta.IsStatusConditionTrue(p.Status.Conditions, v1.ReadyCondition) {
		return fmt.Errorf("pool %q is not: %v", p.Name, p.Status.Conditions)
	}
	return nil
}

// poll waits until check returns nil.
func (w *world) poll(ctx context.Context, what string, check func(context.Context) error) error {
	deadline := time.Now().Add(w.waitTimeout())
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: not within %s: %w", what, w.waitTimeout(), err)
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// wrong reports of a node what right does not, for a node that has been made wrong.
func (w *world) wrong(node *corev1.Node) error {
	if w.fleet.right(node) == nil {
		return fmt.Errorf("node %q is right", node.Name)
	}
	return nil
}
