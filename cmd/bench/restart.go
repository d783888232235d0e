package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// restTime is how long the program is watched after a start for writes that nobody
// needs, and is let come to rest: several times what it needs to look at all nodes.
const restTime = 15 * time.Second

// restartRows start the program twice: with one node that was made wrong while it
// was down, and with none. In the end it runs.
func restartRows(ctx context.Context, w *world) ([]Figure, error) {
	if w.runs != nil {
		if _, err := w.stopProgram(); err != nil {
			return nil, err
		}
	}
	node := w.fleet.members[len(w.fleet.members)/2].name
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:"drifted"}}}`, tierLabel)
	if _, err := w.client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		return nil, fmt.Errorf("make a node wrong: %w", err)
	}
	if err := w.until(ctx, "the node is wrong", []string{node}, w.wrong); err != nil {
		return nil, err
	}
	if err := w.settle(ctx); err != nil {
		return nil, err
	}
	right := w.observer.expect("the node is put right after a start", []string{node}, func(n *corev1.Node) error { return w.fleet.right(n) })
	start := time.Now()
	if err := w.startProgram(); err != nil {
		return nil, err
	}
	if err := right.wait(ctx, w.waitTimeout()); err != nil {
		return nil, err
	}
	took := right.last.Sub(start)
	if err := pause(ctx, restTime); err != nil {
		return nil, err
	}
	if _, err := w.stopProgram(); err != nil {
		return nil, err
	}

	before, err := w.mark(ctx)
	if err != nil {
		return nil, err
	}
	if err := w.startProgram(); err != nil {
		return nil, err
	}
	if err := pause(ctx, restTime); err != nil {
		return nil, err
	}
	nodeWrites, others, err := w.written(ctx, before)
	if err != nil {
		return nil, err
	}
	return []Figure{
		{
			Row: "restart", Name: fmt.Sprintf("start to the first write, %s nodes", number(float64(w.size.nodes))),
			Value: took.Seconds(), Unit: "s", Target: &Target{AtMost: 3},
		},
		{
			Row: "restart", Name: fmt.Sprintf("writes in %.0f s, nothing wrong", restTime.Seconds()),
			Value: float64(nodeWrites + others), Unit: "writes", Target: &Target{AtMost: 0},
		},
	}, nil
}

// written counts the writes since a mark, of nodes by anybody and of all else by the
// program. A leader's lease is renewed all the time, and left out.
func (w *world) written(ctx context.Context, since mark) (nodes, others int, err error) {
	now, err := w.mark(ctx)
	if err != nil {
		return 0, 0, err
	}
	requests, err := w.asked(since)
	return now.nodeWrites(since).all(), writesOf(requests, "nodes", "leases").outside, err
}
