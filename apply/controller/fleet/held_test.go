package fleet

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/nodecache"
	"github.com/nodepools/nodepools/apply/plan"
)

// definition is a definition of pools, or why it cannot be read. It takes the place of an API
// server, as a real one deletes all pools of a definition within milliseconds, and cannot be had
// to be interrupted after the first.
type definition struct {
	client.Reader
	deleted *metav1.Time
	err     error
}

func (d definition) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if key.Name != "nodepools.nodes.lailin.xyz" {
		return fmt.Errorf("asked for %s", key)
	}
	object.SetDeletionTimestamp(d.deleted)
	return d.err
}

func (definition) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// The first pool of a definition that is being deleted is not taken for one that somebody has
// deleted alone, however long the next one takes.
func TestSlowDeletionOfADefinition(t *testing.T) {
	resource := schema.GroupResource{Resource: "customresourcedefinitions"}
	gone, forbidden := apierrors.NewNotFound(resource, "x"), apierrors.NewForbidden(resource, "x", errors.New("no right"))
	for name, c := range map[string]struct {
		live      client.Reader
		few       bool // nodes carry keys of the pool
		held, err bool
	}{
		"it is being deleted":   {live: definition{deleted: &metav1.Time{Time: time.Unix(1, 0)}}, held: true},
		"of a few nodes":        {live: definition{deleted: &metav1.Time{Time: time.Unix(1, 0)}}, few: true, held: true},
		"it is gone":            {live: definition{err: gone}, held: true},
		"it stays":              {live: definition{}},
		"it may not be read":    {live: definition{err: forbidden}},
		"nobody is asked":       {},
		"nobody answers for it": {live: definition{err: errors.New("away")}, err: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			cache := &poolList{pools: map[string]*v1.NodePool{}, saysItself: true}
			for _, pool := range []string{"a", "b"} {
				cache.pools[pool] = &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: pool, UID: types.UID(pool), Finalizers: []string{v1.ReleaseFinalizer}, Generation: 1}}
				cache.pools[pool].Status.Accepted = plan.AcceptedSpecOf(cache.pools[pool])
			}
			cache.pools["a"].DeletionTimestamp, cache.pools["a"].Generation = &metav1.Time{Time: time.Unix(1, 0)}, 2
			for i := range 14 {
				record := `{"version":1,"pools":{"` + map[bool]string{true: "a", false: "b"}[i < 10 != c.few] + `":{"labels":{"x":"1"}}}}`
				cache.nodes = append(cache.nodes, plan.NodeState{Name: fmt.Sprint("n", i), Labels: map[string]string{"x": "1"}, Annotations: map[string]string{v1.AppliedAnnotation: record}})
			}
			view := New(cache, nodecache.Live(cache)).WithLive(c.live)
			snapshot, err := view.Snapshot(t.Context())
			if (err != nil) != c.err {
				t.Fatalf("%s: %v", name, err)
			}
			if err == nil && !(snapshot.Accepted.Pending("a") != nil) {
				t.Errorf("%s: nodes do not wait for other deletions", name)
			}
			time.Sleep(2 * deletionGap)
			snapshot, err = view.Snapshot(t.Context())
			if (err != nil) != c.err {
				t.Fatalf("%s: %v", name, err)
			}
			if err == nil && (snapshot.Accepted.Pending("a") != nil) != c.held {
				t.Errorf("%s: after that, pool a is held: %t", name, !c.held)
			}
		})
	}
}
