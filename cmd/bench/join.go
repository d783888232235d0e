package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// joinRows create nodes one after the other, each when the one before is right.
//
// What counts is the time from when the bare informer sees that a node is there to
// when it sees the node with labels and taints: both have come the same way, so the
// delay of a watch is in neither. It may be that a node is right before its ADDED
// event: the time is then 0. Most of it is the API server's own, for the one apply:
// so the same is asked of a bare client which applies as soon as its informer has
// the node, and of one that asks for as little as the program does. In the end the
// program does not run.
func joinRows(ctx context.Context, w *world) ([]Figure, error) {
	if err := w.ensureRunning(ctx); err != nil {
		return nil, err
	}
	program, err := w.joins(ctx, 0, w.o.joins, nil)
	if err != nil {
		return nil, err
	}
	if _, err := w.stopProgram(); err != nil {
		return nil, err
	}
	pools := w.fleet.expand()
	by := func(send writer) func(*corev1.Node) error {
		return func(node *corev1.Node) error {
			write, err := firstApply(node, pools)
			if err != nil {
				return err
			}
			return send(ctx, write)
		}
	}
	client, err := w.joins(ctx, w.o.joins, w.o.joins, by(w.plainly))
	if err != nil {
		return nil, fmt.Errorf("bare client: %w", err)
	}
	sparing, err := w.joins(ctx, 2*w.o.joins, w.o.joins, by(w.sparingly))
	if err != nil {
		return nil, fmt.Errorf("client that asks as little: %w", err)
	}
	above := func(name string, j joinTimes, p float64) *Baseline {
		return &Baseline{Name: name, Value: percentile(j.above, p)}
	}
	const atOnce, asLittle = "bare client that applies at once", "one that asks as little"
	return []Figure{
		{Row: "join", Name: fmt.Sprintf("above a bare informer, p50 of %d", w.o.joins), Value: percentile(program.above, 50), Unit: "ms", Target: &Target{AtMost: 5}},
		{Row: "join", Name: "above a bare informer, p99", Value: percentile(program.above, 99), Unit: "ms", Target: &Target{AtMost: 15}},
		{Row: "join", Name: "above a bare informer, max", Value: percentile(program.above, 100), Unit: "ms"},
		{Row: "join", Name: "p50, against a client", Value: percentile(program.above, 50), Unit: "ms", Baseline: above(atOnce, client, 50)},
		{Row: "join", Name: "p99, against a client", Value: percentile(program.above, 99), Unit: "ms", Baseline: above(atOnce, client, 99)},
		{Row: "join", Name: "p50, the same", Value: percentile(program.above, 50), Unit: "ms", Baseline: above(asLittle, sparing, 50)},
		{Row: "join", Name: "p99, the same", Value: percentile(program.above, 99), Unit: "ms", Baseline: above(asLittle, sparing, 99)},
		{Row: "join", Name: "from the answer to its creation, p50", Value: percentile(program.whole, 50), Unit: "ms"},
		{Row: "join", Name: "from the answer to its creation, p99", Value: percentile(program.whole, 99), Unit: "ms"},
		{Row: "join", Name: "a bare informer sees it after, p50", Value: percentile(program.bare, 50), Unit: "ms"},
		{Row: "join", Name: "a bare informer sees it after, p99", Value: percentile(program.bare, 99), Unit: "ms"},
	}, nil
}

// joinTimes are, node by node, how long a bare informer took to see it from the answer
// to its creation on, how long it took to be right from there on, and how much of
// that was above the bare informer; in ms.
type joinTimes struct{ bare, whole, above []float64 }

// joins lets nodes join, from the first on. Where react is given, it is what makes a
// node right that is there; else the program does.
func (w *world) joins(ctx context.Context, first, count int, react func(*corev1.Node) error) (j joinTimes, err error) {
	k, err := newKubelets(w)
	if err != nil {
		return j, err
	}
	if err := w.settle(ctx); err != nil {
		return j, err
	}
	for i := range count {
		if err := j.add(ctx, w, k, w.fleet.join(first+i), react); err != nil {
			return j, err
		}
		if err := pause(ctx, joinPause); err != nil {
			return j, err
		}
	}
	return j, nil
}

func (j *joinTimes) add(ctx context.Context, w *world, k kubelets, m *member, react func(*corev1.Node) error) error {
	there := make(chan *corev1.Node, 1)
	right := w.observer.expect("a node that joins gets what its pool says", []string{m.name}, func(node *corev1.Node) error {
		select {
		case there <- node:
		default: // it was there before
		}
		return w.fleet.right(node)
	})
	if err := k.register(ctx, m); err != nil {
		return err
	}
	created := time.Now()
	if react != nil {
		select {
		case node := <-there:
			if err := react(node); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := right.wait(ctx, joinPatience); err != nil {
		return err
	}
	seen, ok := w.observer.addedAt(m.name)
	if !ok {
		return fmt.Errorf("node %q is right, and was never seen to be added", m.name)
	}
	j.bare = append(j.bare, millis(seen.Sub(created)))
	j.whole = append(j.whole, millis(right.last.Sub(created)))
	j.above = append(j.above, millis(right.last.Sub(seen)))
	return nil
}

const (
	joinPatience = time.Minute
	joinPause    = 20 * time.Millisecond // for what follows a join to be over before the next
)

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
