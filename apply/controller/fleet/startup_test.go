package fleet

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/nodecache"
)

// cachedNodes are the nodes of a cache, by name, and how often they were listed.
type cachedNodes struct {
	names map[string]bool
	lists int
}

func (c *cachedNodes) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	if !c.names[key.Name] {
		return apierrors.NewNotFound(corev1.Resource("nodes"), key.Name)
	}
	return nil
}

func (c *cachedNodes) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	nodes, ok := list.(*corev1.NodeList)
	if !ok {
		return fmt.Errorf("a list of %T", list)
	}
	c.lists++
	for name := range c.names {
		node := corev1.Node{}
		node.Name = name
		nodes.Items = append(nodes.Items, node)
	}
	return nil
}

// Not every node is observed before those are, too, that came meanwhile; and to know
// that, they are not listed again and again.
func TestEveryNodeIsObserved(t *testing.T) {
	cached, now := &cachedNodes{names: map[string]bool{}}, time.Now()
	figures, _ := newCountsTest()
	s := startup{nodes: nodecache.Live(cached), counts: figures, now: func() time.Time { return now }}
	ask := func() bool {
		t.Helper()
		now = now.Add(loop.RetryPeriod)
		known, err := s.everyNodeObserved(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return known
	}
	const count = 100
	name := func(i int) string { return fmt.Sprintf("n%02d", i) }
	for i := range count {
		cached.names[name(i)] = true
	}
	for i := range count {
		if ask() {
			t.Fatalf("they are all when %d of %d nodes were observed", i, count)
		}
		if i == 50 { // it goes before it was observed
			delete(cached.names, name(i))
			continue
		}
		figures.Report(name(i), Observation{}, nil)
	}
	cached.names["late"] = true
	if ask() {
		t.Fatal("they are all before the node was observed that came last")
	}
	figures.Report("late", Observation{}, nil)
	if !ask() {
		t.Error("they are not all, though every node was observed")
	}
	if cached.lists > 3 {
		t.Errorf("the nodes were listed %d times, want at most 3: first, when those were observed, and once for the one that came", cached.lists)
	}
	cached.names["later"] = true
	if !ask() {
		t.Error("a node that joins later is waited for")
	}
}
