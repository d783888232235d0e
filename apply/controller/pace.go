package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pace says when the pool loop may tell what it knows. It is for one worker.
type pace struct {
	cached client.Reader
	tally  *tally
	now    func() time.Time

	// complete is true once every node was looked at since the start; asked is
	// when that was last found not to be so.
	complete bool
	asked    time.Time
	// waiting are the pools whose nodes are being looked at.
	waiting map[string]wait
}

// wait is since when the nodes are waited for that a change of a pool concerns.
type wait struct {
	since uint64
	began time.Time
}

func newPace(cached client.Reader, t *tally) *pace {
	return &pace{cached: cached, tally: t, now: time.Now, waiting: map[string]wait{}}
}

// everyNodeLooked tells whether the node loop has been at every node since the
// start. Once that is so it stays so: a node that joins changes the figures when
// it has been looked at.
func (p *pace) everyNodeLooked(ctx context.Context) (bool, error) {
	if p.complete || p.now().Sub(p.asked) < retryPeriod {
		return p.complete, nil
	}
	var nodes corev1.NodeList
	if err := p.cached.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("list nodes: %w", err)
	}
	for i := range nodes.Items {
		if !p.tally.looked(nodes.Items[i].Name) {
			p.asked = p.now()
			return false, nil
		}
	}
	p.complete = true
	return true, nil
}

// wait tells whether to say nothing yet about a change: for the first moment.
func (p *pace) wait(pool string, since uint64) bool {
	w, waiting := p.waiting[pool]
	if !waiting || w.since != since {
		w = wait{since: since, began: p.now()}
		p.waiting[pool] = w
	}
	return p.now().Sub(w.began) < statusPeriod
}

func (p *pace) forget(pool string) { delete(p.waiting, pool) }
