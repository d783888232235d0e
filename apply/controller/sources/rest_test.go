package sources

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

// cached is a cache of pools. It hands out the pools that it has, as one does that copies
// nothing. Other methods than List panic: nothing is written.
type cached struct {
	client.Client
	pools []v1.NodePool
}

func (c *cached) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if of, isPools := list.(*v1.NodePoolList); isPools {
		of.Items = c.pools
	}
	return nil
}

// A poll that finds neither another revision nor another pool parses nothing of the pools.
// To parse managed fields takes dozens of allocations for each pool: a pass at rest makes
// fewer than there are pools, whatever their number. A pass is made in full again when any
// version is another one, and when the revision is.
func TestRestParsesNoPool(t *testing.T) {
	const count = 1000
	src := &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: "team", UID: "uid", ResourceVersion: "1"}}
	state, cache := &fetchState{source: src.UID, good: "main@sha1:1"}, &cached{}
	for i := range count {
		name := fmt.Sprint("pool-", i)
		state.pools = append(state.pools, render.Definition{Pool: &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}, File: name + ".yaml"})
	}
	r := New(cache, cache, fleet.New(cache, nil), nil, Options{})
	r.now = time.Now
	first, err := plan.Pools(plan.RevisionOf(src, state.good, state.pools), nil)
	if err != nil {
		t.Fatal(err)
	}
	src.Status.Number = first.Number
	for _, change := range first.Changes {
		pool := *change.Want
		pool.UID, pool.ResourceVersion, pool.Generation = types.UID("uid of "+pool.Name), "1", 1
		pool.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: v1.FieldManager, Operation: metav1.ManagedFieldsOperationApply,
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:` + v1.SourceUIDAnnotation + `":{},"f:` + v1.RevisionNumberAnnotation + `":{}},"f:labels":{"f:` + v1.SourceLabel + `":{}}}}`),
		}}
		cache.pools = append(cache.pools, pool)
	}
	pass := func() sourceFacts {
		t.Helper()
		facts := r.carryOut(t.Context(), src, state)
		if facts.failure != nil || facts.plan == nil || facts.plan.OwnedAfter != count {
			t.Fatalf("got plan %+v and failure %v, want a plan for %d pools", facts.plan, facts.failure, count)
		}
		return facts
	}
	once := pass()
	if got := testing.AllocsPerRun(5, func() { pass() }); got >= count {
		t.Errorf("a pass at rest makes %.0f allocations for %d pools: it parses them", got, count)
	}
	if pass().plan != once.plan {
		t.Error("a pass at rest has made another plan")
	}
	for _, c := range []struct {
		what   string
		change func()
	}{
		{"another version of a pool", func() { cache.pools[count/2].ResourceVersion = "2" }},
		{"another version of the source", func() { src.ResourceVersion = "2" }},
		{"a pool in the place of another", func() { cache.pools[count/3].UID = "another" }},
		{"a pool of somebody else", func() {
			cache.pools = append(cache.pools, v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "other", UID: "other"}})
		}},
		{"a pool of somebody else that is gone", func() { cache.pools = cache.pools[:count] }},
	} {
		before := pass().plan
		c.change()
		if pass().plan == before {
			t.Errorf("%s: the plan is the one from before", c.what)
		}
	}
}
