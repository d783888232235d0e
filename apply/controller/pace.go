package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pace says when the pool loop may tell what it knows.
type pace struct {
	cached client.Reader
	tally  *tally
	now    func() time.Time

	mu sync.Mutex
	// complete is true once every node was looked at since the start; asked is
	// when that was last found not to be so, and pending are the names of those
	// that were not looked at when the nodes were last listed, or some of them.
	complete bool
	asked    time.Time
	pending  []string
	// waiting are the pools whose nodes are being looked at. The last of them is to
	// tell for the first time at first, and once more at again.
	waiting      map[string]wait
	first, again time.Time
}

// wait is since when the nodes are waited for that a change of a pool concerns, and
// when it is next told how far they are.
type wait struct {
	since uint64
	next  time.Time
}

func newPace(cached client.Reader, t *tally) *pace {
	return &pace{cached: cached, tally: t, now: time.Now, waiting: map[string]wait{}}
}

// everyNodeLooked tells whether the node loop has been at every node since the
// start. Once that is so it stays so: a node that joins changes the figures when
// it has been looked at.
func (p *pace) everyNodeLooked(ctx context.Context) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.complete || p.now().Sub(p.asked) < retryPeriod {
		return p.complete, nil
	}
	// A list of all nodes is large, and asked for again and again while the node
	// loop has most to do: one at the start, and one when it is through.
	if known, err := p.pendingLooked(ctx); err != nil || !known {
		p.asked = p.now()
		return false, err
	}
	if err := p.listPending(ctx); err != nil {
		return false, err
	}
	p.complete = len(p.pending) == 0
	p.asked = p.now()
	return p.complete, nil
}

// pendingLooked tells whether each of the pending nodes was looked at or is gone.
func (p *pace) pendingLooked(ctx context.Context) (bool, error) {
	for len(p.pending) > 0 {
		if !p.tally.looked(p.pending[0]) {
			err := p.cached.Get(ctx, types.NamespacedName{Name: p.pending[0]}, &corev1.Node{}, client.UnsafeDisableDeepCopy)
			if !apierrors.IsNotFound(err) {
				return false, err
			}
		}
		p.pending = p.pending[1:]
	}
	return true, nil
}

func (p *pace) listPending(ctx context.Context) error {
	var nodes corev1.NodeList
	if err := p.cached.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	p.pending = nil
	for i := range nodes.Items {
		if name := nodes.Items[i].Name; !p.tally.looked(name) {
			p.pending = append(p.pending, name)
		}
	}
	return nil
}

// wait is how long to say nothing yet of a change that is being carried out; 0 when
// it is time to tell how far it is. That is for the first time after statusPeriod,
// and from then on once in progressPeriod. What is told costs a write that nodes
// could have: where many pools have changed they take turns.
func (p *pace) wait(pool string, since uint64) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	w, waiting := p.waiting[pool]
	if !waiting || w.since != since {
		w = wait{since: since, next: turn(&p.first, now.Add(statusPeriod))}
	}
	left := w.next.Sub(now)
	if left <= 0 {
		left, w.next = 0, turn(&p.again, now.Add(progressPeriod))
	}
	p.waiting[pool] = w
	return left
}

// turn is the first moment from a time on that comes after the last turn, but not
// much later than that time: turns are not given back.
func turn(last *time.Time, from time.Time) time.Time {
	next := last.Add(progressGap)
	if next.Before(from) {
		next = from
	}
	if latest := from.Add(maxTurn); next.After(latest) {
		next = latest
	}
	*last = next
	return next
}

func (p *pace) forget(pool string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, pool)
}
