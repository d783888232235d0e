package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// reaction shows a command and measures, by watching a node, the time from the
// moment when began holds for it to the moment when done does.
func (s *stage) reaction(ctx context.Context, node, command string, began, done func(*corev1.Node) error) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, waitTimeout, fmt.Errorf("expected a reaction on node %s within %s", node, waitTimeout))
	defer cancel()
	watcher, err := s.client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + node})
	if err != nil {
		return 0, fmt.Errorf("watch node %s: %w", node, err)
	}
	defer watcher.Stop()

	type measured struct {
		took time.Duration
		err  error
	}
	result := make(chan measured, 1)
	go func() {
		took, err := measure(watcher.ResultChan(), began, done)
		result <- measured{took, err}
	}()
	if err := s.sh.show(ctx, command); err != nil {
		return 0, err
	}
	select {
	case m := <-result:
		return m.took, m.err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// measure reads events until both have held, one after the other.
func measure(events <-chan watch.Event, began, done func(*corev1.Node) error) (time.Duration, error) {
	var start time.Time
	for event := range events {
		node, ok := event.Object.(*corev1.Node)
		if !ok {
			return 0, fmt.Errorf("watch ended with %v", event.Object)
		}
		if start.IsZero() && began(node) == nil {
			start = time.Now()
		}
		if !start.IsZero() && done(node) == nil {
			return time.Since(start), nil
		}
	}
	return 0, errors.New("watch ended early")
}

// millis is for what is too fast for seconds.
func millis(d time.Duration) string { return fmt.Sprintf("%d ms", max(1, d.Milliseconds())) }
