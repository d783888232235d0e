package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	nodev1 "k8s.io/api/node/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

const sourceName = "platform"

// createSource points the program at the repository, and returns when it has taken the
// spare pool from there.
func (w *world) createSource(ctx context.Context) error {
	source := &v1.NodePoolSource{
		ObjectMeta: metav1.ObjectMeta{Name: sourceName},
		Spec: v1.NodePoolSourceSpec{
			URL: w.repository.address(), Ref: &v1.GitRef{Branch: "main"}, Path: "pools",
			Interval: metav1.Duration{Duration: v1.DefaultInterval},
			// All nodes get a NoExecute taint in the row rollout, and that is intended.
			ReleaseLimit: ptr.To(intstr.FromString("100%")),
		},
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

// forget removes all pools and the source, from the repository and the API server, as if
// nothing had been pushed yet, and the RuntimeClasses of the pools, as no garbage collector
// runs here. The program must not run, and the nodes must be bare.
func (w *world) forget(ctx context.Context) error {
	if err := w.repository.remove(ctx, w.fleet.pools); err != nil {
		return err
	}
	for _, list := range []client.ObjectList{&v1.NodePoolSourceList{}, &v1.NodePoolList{}, &nodev1.RuntimeClassList{}} {
		if err := w.records.List(ctx, list); err != nil {
			return err
		}
		err := apimeta.EachListItem(list, func(o runtime.Object) error {
			object := o.(client.Object)
			object.SetFinalizers(nil)
			if err := w.records.Update(ctx, object); err != nil {
				return err
			}
			return w.records.Delete(ctx, object)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pushed is how the nodes followed a push.
type pushed struct {
	first, last float64 // seconds from the return of git push to the first and the last node
	settled     float64 // seconds from the last node until every pool reports it
	cpu         float64 // seconds of the program until the last node
	writes      float64 // of nodes
	// requests of the program, without patches of nodes; others are the writes among them.
	requests []cluster.Request
	others   float64
}

// push changes pools in the repository, notifies the source, as a webhook of the Git server
// does, and waits until all nodes have followed. The wait for the next poll is a setting,
// and would come on top.
func (w *world) push(ctx context.Context, pools []*v1.NodePool) (p pushed, err error) {
	if err := w.repository.write(ctx, pools); err != nil {
		return p, err
	}
	if err := settle(ctx); err != nil {
		return p, err
	}
	before, err := w.mark(ctx)
	if err != nil {
		return p, err
	}
	right := w.observer.expect("the nodes follow a push", w.fleet.names(), w.fleet.right)
	if len(right.pending) != len(w.fleet.members) {
		return p, fmt.Errorf("%d nodes are right before the push", len(w.fleet.members)-len(right.pending))
	}
	if err := w.repository.push(ctx); err != nil {
		return p, err
	}
	start := time.Now()
	if err := w.notify(ctx); err != nil {
		return p, err
	}
	if err := right.wait(ctx, w.waitTimeout()); err != nil {
		return p, err
	}
	use, err := w.use()
	if err != nil {
		return p, err
	}
	p.first, p.last, p.cpu = right.first.Sub(start).Seconds(), right.last.Sub(start).Seconds(), use.cpu-before.use.cpu
	if err := w.poolsReady(ctx); err != nil {
		return p, err
	}
	p.settled = time.Since(right.last).Seconds()
	p.writes, p.requests, err = w.since(ctx, before)
	p.others = countWrites(p.requests)
	status("%.2f s to the first node, %.2f s to the last, %.2f s of the processor", p.first, p.last, p.cpu)
	return p, err
}

// notify asks the source to poll at once.
func (w *world) notify(ctx context.Context) error {
	return w.patchSource(ctx, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1.RequestedAtAnnotation, time.Now().Format(time.RFC3339Nano)))
}

func (w *world) patchSource(ctx context.Context, patch string) error {
	source := &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: sourceName}}
	if err := w.records.Patch(ctx, source, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		return fmt.Errorf("patch the source: %w", err)
	}
	return nil
}

// poolsReady waits until every pool reports that it is carried out.
func (w *world) poolsReady(ctx context.Context) error {
	return w.poll(ctx, "every pool is ready", func(ctx context.Context) error {
		list := &v1.NodePoolList{}
		if err := w.records.List(ctx, list); err != nil {
			return err
		}
		if len(list.Items) != len(w.fleet.pools)+1 { // and the spare one
			return fmt.Errorf("there are %d pools, expected %d", len(list.Items), len(w.fleet.pools)+1)
		}
		for _, p := range list.Items {
			if p.Status.ObservedGeneration != p.Generation || !apimeta.IsStatusConditionTrue(p.Status.Conditions, v1.ReadyCondition) {
				return fmt.Errorf("pool %q is not: %v", p.Name, p.Status.Conditions)
			}
		}
		return nil
	})
}

// poll waits until check returns nil. It checks every half second: a list of thousands of
// pools costs the API server time.
func (w *world) poll(ctx context.Context, what string, check func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 500*time.Millisecond, w.waitTimeout(), true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w: %w", what, err, last)
	}
	return nil
}

// mark is where the counters stood at a moment.
type mark struct {
	counts cluster.Counts
	audit  int64
	use    usage
}

func (w *world) mark(ctx context.Context) (m mark, err error) {
	if m.counts, err = w.cluster.RequestCounts(ctx); err != nil {
		return m, err
	}
	if m.audit, err = w.cluster.AuditMark(); err != nil {
		return m, err
	}
	m.use, err = w.use()
	return m, err
}

// since returns how often anybody has written nodes since a mark, statuses left out, which
// kubelets write, and what else the program has requested.
func (w *world) since(ctx context.Context, m mark) (writes float64, requests []cluster.Request, err error) {
	counts, err := w.cluster.RequestCounts(ctx)
	if err != nil {
		return 0, nil, err
	}
	for kind, count := range counts.Since(m.counts).Writes() {
		if kind.Resource == "nodes" && kind.Subresource == "" {
			writes += float64(count)
		}
	}
	requests, err = w.cluster.Audit(m.audit)
	return writes, slices.DeleteFunc(requests, func(r cluster.Request) bool { return r.User != w.launch.user() }), err
}

// countWrites is how many requests write, the leader's lease left out.
func countWrites(requests []cluster.Request) (count float64) {
	for _, r := range requests {
		if r.Write() && r.Object.Resource != "leases" && r.Object.Resource != "nodes" {
			count++
		}
	}
	return count
}
