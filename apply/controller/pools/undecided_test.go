package pools

import (
	"context"
	"testing"
	"time"

	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/nodecache"
	"github.com/nodepools/nodepools/apply/plan"
)

// racing is a cluster of one pool, and nothing but what the reconciler asks for.
type racing struct {
	client.Client
	pool    *v1.NodePool
	class   *nodev1.RuntimeClass
	onPatch func()
	wrote   []string
}

func (c *racing) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch into := into.(type) {
	case *v1.NodePool:
		c.pool.DeepCopyInto(into)
	case *nodev1.RuntimeClass:
		c.class.DeepCopyInto(into)
	}
	return nil
}

func (c *racing) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	if list, is := into.(*v1.NodePoolList); is {
		list.Items = []v1.NodePool{*c.pool}
	}
	return nil
}

func (c *racing) note(object client.Object) {
	if _, is := object.(*nodev1.RuntimeClass); is {
		c.wrote = append(c.wrote, "RuntimeClass")
	}
}

func (c *racing) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	c.note(object)
	return nil
}

func (c *racing) Delete(_ context.Context, object client.Object, _ ...client.DeleteOption) error {
	c.note(object)
	return nil
}

func (c *racing) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
	c.note(object)
	if pool, is := object.(*v1.NodePool); is {
		c.pool = pool.DeepCopy()
		if c.onPatch != nil {
			c.onPatch()
		}
	}
	return nil
}

func (c *racing) Update(context.Context, client.Object, ...client.UpdateOption) error { return nil }

// The last pass over a node ends between the moment at which it is decided that the
// RuntimeClass stays, as it is not known which nodes wait, and the report: it is decided
// anew though nothing happens.
func TestUndecidedRuntimeClassIsDecidedLater(t *testing.T) {
	now := time.Now()
	pool := &v1.NodePool{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1.GroupVersion.String(), Kind: v1.NodePoolKind},
		ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p", Generation: 2, CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))},
		Spec: v1.NodePoolSpec{
			Labels:  map[string]v1.LabelValue{"example.com/k": "2"},
			Rollout: &v1.Rollout{Exclusions: []v1.Exclusion{{Start: &metav1.Time{Time: now.Add(-time.Hour)}, End: &metav1.Time{Time: now.Add(time.Hour)}}}},
		},
	}
	v1.SetNodePoolDefaults(pool)
	pool.Status.Accepted = plan.AcceptedSpecOf(pool)
	class := &nodev1.RuntimeClass{
		ObjectMeta: metav1.ObjectMeta{Name: v1.RuntimeClassName("p"), UID: "c", OwnerReferences: []metav1.OwnerReference{plan.OwnerReference(pool)}},
		Handler:    "runc", Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{v1.RoleLabel("p"): "", "example.com/k": "1"}},
	}
	for _, late := range []bool{false, true} {
		c := &racing{pool: pool.DeepCopy(), class: class}
		view := fleet.New(c, nodecache.Live(c))
		view.Expect("n")
		ends := func() {
			view.Report("n", fleet.Observation{Epoch: 1, UID: types.UID("n"), FollowerState: plan.FollowerState{Ready: true}}, nil)
		}
		if late {
			c.onPatch = ends
		} else {
			ends()
		}
		r := New(rw{c}, view, events.NewFakeRecorder(99))
		result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "p"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("late %t: wrote %v, again after %v", late, c.wrote, result.RequeueAfter)
		if len(c.wrote) == 0 && result.RequeueAfter == 0 {
			t.Errorf("the RuntimeClass is another one than wanted, nothing was written, and nothing leads to the pool again")
		}
	}
}

// rw gives the status writer of its own.
type rw struct{ *racing }

func (c rw) Status() client.SubResourceWriter { return statusWriter{} }

type statusWriter struct{ client.SubResourceWriter }

func (statusWriter) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	return nil
}
