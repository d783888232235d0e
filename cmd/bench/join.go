package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// restTime is how long the program comes to rest after a start: several times what it needs
// to look at all nodes.
const restTime = 15 * time.Second

// joinRow creates nodes one after the other, each when the one before is right.
//
// The time counts from when a bare informer sees a node to when it sees the node with
// labels and taints: both have come the same way, so that the delay of a watch is in
// neither. Most of the time is the API server's own, for the one apply: so it stands beside
// a bare client which applies as soon as its informer has the node. In the end the program
// runs.
func joinRow(ctx context.Context, w *world) ([]Figure, error) {
	if err := pause(ctx, restTime); err != nil {
		return nil, err
	}
	program, err := w.joins(ctx, nil)
	if err != nil {
		return nil, err
	}
	if err := w.stopProgram(); err != nil {
		return nil, err
	}
	pools := w.fleet.expand()
	client, err := w.joins(ctx, func(node *corev1.Node) error {
		patch, err := firstApply(node, pools)
		if err != nil {
			return err
		}
		return w.patch(ctx, node.Name, patch, v1.FieldManager)
	})
	if err != nil {
		return nil, fmt.Errorf("bare client: %w", err)
	}
	at := func(name string, p float64, atMost float64) []Figure {
		value := percentile(program, p)
		return []Figure{
			{Row: "join", Name: "above a bare informer, " + name, Value: value, Unit: "ms", Target: &Target{atMost}},
			{Row: "join", Name: name[:3] + ", against a client", Value: value, Unit: "ms",
				Baseline: &Baseline{"bare client that applies at once", percentile(client, p)}},
		}
	}
	return append(at(fmt.Sprintf("p50 of %d", w.o.joins), 50, 5), at("p99", 99, 15)...), w.startProgram()
}

// joins lets nodes join, and returns how long each took to be right, in ms. With react, that
// makes a node right that is there; else the program does.
func (w *world) joins(ctx context.Context, react func(*corev1.Node) error) (took []float64, err error) {
	k, err := newKubelets(w)
	if err != nil {
		return nil, err
	}
	if err := settle(ctx); err != nil {
		return nil, err
	}
	for range w.o.joins {
		m := w.fleet.join()
		there := make(chan *corev1.Node, 1)
		right := w.observer.expect("a node that joins gets what its pool specifies", []string{m.name}, func(node *corev1.Node) error {
			select {
			case there <- node:
			default: // it was there before
			}
			return w.fleet.right(node)
		})
		if err := k.register(ctx, m); err != nil {
			return nil, err
		}
		if react != nil {
			select {
			case node := <-there:
				err = react(node)
			case <-ctx.Done():
				err = context.Cause(ctx)
			}
			if err != nil {
				return nil, err
			}
		}
		if err := right.wait(ctx, time.Minute); err != nil {
			return nil, err
		}
		took = append(took, float64(right.last.Sub(w.observer.addedAt(m.name)))/float64(time.Millisecond))
		if err := pause(ctx, 20*time.Millisecond); err != nil { // what follows a join is over before the next
			return nil, err
		}
	}
	return took, nil
}
