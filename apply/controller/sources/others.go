package sources

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/plan"
)

// wakes lead to passes of a source for the sake of another one: where a plan depends on
// what the other one has, that is polled, and the source has its next pass after it. They
// are guarded by the mutex of the [Reconciler].
type wakes struct {
	// queue is nil until the passes begin.
	queue loop.Queue
	// polls are the sources that are to be polled, if they were not since.
	polls map[string]time.Time
	// waiting are the sources that wait for polls of others.
	waiting map[string]bool
}

func newWakes() wakes { return wakes{polls: map[string]time.Time{}, waiting: map[string]bool{}} }

// keepQueue keeps the queue of passes: see [source.Func].
func (r *Reconciler) keepQueue(_ context.Context, queue loop.Queue) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wakes.queue, r.places.queue = queue, queue
	return nil
}

// others are the other sources, as the last good revision of a source has to take them
// into account, and the numbers of all. That of the source is as its pass knows it, which may be
// newer than the cache.
func (r *Reconciler) others(ctx context.Context, src *v1.NodePoolSource, state *fetchState) ([]plan.OtherSource, plan.Numbers, error) {
	var list v1.NodePoolSourceList
	if err := r.client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, fmt.Errorf("list sources: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	readings, sources := make([]plan.Reading, 0, len(list.Items)), []*v1.NodePoolSource{src}
	for i := range list.Items {
		other := &list.Items[i]
		if other.UID != src.UID {
			sources = append(sources, other)
		}
		if state := r.states[other.Name]; state != nil && state.source == other.UID {
			readings = append(readings, state.reading(other))
		} else {
			readings = append(readings, plan.Reading{Source: other})
		}
	}
	return plan.OtherSources(state.reading(src), readings, r.now()), plan.NumbersOf(sources), nil
}

// reading is what is known of a source, for the plans of others.
func (state *fetchState) reading(src *v1.NodePoolSource) plan.Reading {
	return plan.Reading{
		Source: src, Generation: state.generation, At: state.at, Good: state.good, Pools: state.pools, Since: state.taken,
		Unreachable: state.unreachable != nil, Refused: state.refused != nil,
	}
}

// await has the sources polled that an outcome depends on. What was polled since the
// revision was read is not polled again.
func (r *Reconciler) await(src *v1.NodePoolSource, state *fetchState, outcome plan.RevisionOutcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.wakes.waiting, src.Name)
	for _, name := range outcome.Awaited {
		r.wakes.waiting[src.Name] = true
		if r.wakes.polls[name].Before(state.taken) {
			r.wakes.polls[name] = state.taken
		}
		r.wakes.pass(name)
	}
	if outcome.Plan != nil {
		for _, handed := range outcome.Plan.Handed {
			r.wakes.pass(handed.To)
		}
	}
}

// isAwaited reports whether another source waits for a poll of this one. One that cannot be
// polled is asked when its own period is over.
func (r *Reconciler) isAwaited(src *v1.NodePoolSource, state *fetchState) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return state.unreachable == nil && state.at.Before(r.wakes.polls[src.Name])
}

// polled leads to passes of those that wait for a source which was polled, or is gone.
func (w *wakes) polled(source string, at time.Time) {
	if !at.Before(w.polls[source]) {
		delete(w.polls, source)
	}
	for name := range w.waiting {
		if name != source {
			w.pass(name)
		}
	}
}

func (w *wakes) pass(source string) {
	if w.queue != nil {
		w.queue.Add(loop.RequestFor(source))
	}
}
