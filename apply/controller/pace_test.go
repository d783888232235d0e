package controller

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

// The pool loop tells nothing before every node of the cache was looked at, those
// too that came meanwhile, and does not list all of them again and again to know.
func TestPaceWaitsForEveryNode(t *testing.T) {
	cached, figures, now := &cachedNodes{names: map[string]bool{}}, newTally(), time.Now()
	p := newPace(cached, figures)
	p.now = func() time.Time { return now }
	ask := func() bool {
		t.Helper()
		now = now.Add(retryPeriod)
		known, err := p.everyNodeLooked(t.Context())
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
			t.Fatalf("it tells when %d of %d nodes were looked at", i, count)
		}
		if i == 50 { // it goes before it was looked at
			delete(cached.names, name(i))
			continue
		}
		figures.report(name(i), note{}, nil)
	}
	cached.names["late"] = true
	if ask() {
		t.Fatal("it tells before the node was looked at that came last")
	}
	figures.report("late", note{}, nil)
	if !ask() {
		t.Error("it tells nothing though every node was looked at")
	}
	if cached.lists > 3 {
		t.Errorf("the nodes were listed %d times, want at most 3: first, when those were looked at, and once for the one that came", cached.lists)
	}
	cached.names["later"] = true
	if !ask() {
		t.Error("a node that joins later is waited for")
	}
}

func TestProgressIsToldNowAndThen(t *testing.T) {
	now := time.Unix(1000, 0)
	p := &pace{now: func() time.Time { return now }, waiting: map[string]wait{}}
	for _, tc := range []struct {
		after time.Duration // since the step before
		since uint64
		want  time.Duration
		why   string
	}{
		{0, 1, statusPeriod, "the change has just begun"},
		{statusPeriod / 4, 1, statusPeriod * 3 / 4, "less than statusPeriod has passed"},
		{statusPeriod * 3 / 4, 1, 0, "it takes longer"},
		{0, 1, progressPeriod, "it was just told"},
		{progressPeriod / 2, 1, progressPeriod / 2, "it was told not long ago"},
		{progressPeriod, 1, 0, "it was told long ago"},
		{statusPeriod, 2, statusPeriod, "another change has begun"},
	} {
		now = now.Add(tc.after)
		if got := p.wait("p", tc.since); got != tc.want {
			t.Errorf("wait is %s, want %s: %s", got, tc.want, tc.why)
		}
	}
	p.forget("p")
	now = now.Add(statusPeriod)
	if got := p.wait("p", 2); got != statusPeriod {
		t.Errorf("a pool that is forgotten waits %s, want %s", got, statusPeriod)
	}
}

// Many pools that change at once do not all tell at once how far they are.
func TestProgressIsToldInTurns(t *testing.T) {
	now := time.Unix(1000, 0)
	p := &pace{now: func() time.Time { return now }, waiting: map[string]wait{}}
	const pools = 1000
	turns := map[time.Duration]int{}
	for i := range pools {
		turns[p.wait(fmt.Sprint(i), 1)]++
	}
	for wait, count := range turns {
		if wait < statusPeriod || wait > statusPeriod+maxTurn || count > 1 && wait < statusPeriod+maxTurn {
			t.Errorf("%d pools wait %s", count, wait)
		}
	}
	if want := int(maxTurn/progressGap) + 1; len(turns) != want {
		t.Errorf("there are %d turns, want %d", len(turns), want)
	}
	now = now.Add(time.Minute)
	if wait := p.wait("later", 1); wait != statusPeriod {
		t.Errorf("a pool that changes by itself waits %s, want %s", wait, statusPeriod)
	}
}
