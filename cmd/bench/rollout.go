package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// rolloutRows measure what rollouts cost, in a world of their own. What they are compared
// with is the same without rollouts, in the same world.
func rolloutRows(ctx context.Context, o options) (_ []Figure, err error) {
	ctx, gone := context.WithCancelCause(ctx)
	defer gone(nil)
	o.rows = maps.Clone(o.rows)
	delete(o.rows, "kubectl")
	w, err := newWorld(ctx, o, o.rolling(), gone)
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(w.explain(ctx, err), w.close())
	}()
	if err := w.startProgram(); err != nil {
		return nil, err
	}
	if err := w.createSource(ctx); err != nil {
		return nil, err
	}
	if _, err := w.push(ctx, w.fleet.pools, w.fleet.names()); err != nil {
		return nil, err
	}
	figures, err := w.heldFigures(ctx)
	if err != nil {
		return figures, fmt.Errorf("held nodes: %w", err)
	}
	more, err := w.waveFigures(ctx)
	if figures = append(figures, more...); err != nil {
		return figures, fmt.Errorf("waves: %w", err)
	}
	return figures, w.checkAll(ctx)
}

// heldTime is how long held nodes are looked at: the runtime collects garbage once in two
// minutes where little is allocated, so that each such time has as many collections.
const heldTime = 2 * time.Minute

// held is what it costs to hold the nodes of a fleet, for one reason.
type held struct {
	resting
	by     string
	status int // bytes of the largest status of a pool
}

// heldFigures hold a change of every pool on every node: outside of windows, and by a budget
// that is spent. In the end the nodes have followed.
func (w *world) heldFigures(ctx context.Context) ([]Figure, error) {
	beating, err := w.newBeating(ctx)
	if err != nil {
		return nil, err
	}
	lasts := min(heldTime, w.o.steady)
	status("nothing is held for %s", lasts)
	free := held{}
	if free.resting, err = w.rest(ctx, beating, lasts); err != nil {
		return nil, err
	}
	if _, free.status, err = w.statuses(ctx); err != nil {
		return nil, err
	}
	all := []held{{by: "windows"}, {by: "budgets"}}
	for i, rollout := range []*v1.Rollout{closed(time.Now()), {MaxUnavailable: new(intstr.FromInt32(0))}} {
		status("every node is held by %s for %s", all[i].by, lasts)
		if err := w.hold(ctx, rollout, fmt.Sprintf("held-%d", i)); err != nil {
			return nil, err
		}
		if all[i].resting, err = w.rest(ctx, beating, lasts); err != nil {
			return nil, err
		}
		status("the peak of memory is %.0f MiB, after %.0f MiB before", all[i].peak, free.peak)
		if _, all[i].status, err = w.statuses(ctx); err != nil {
			return nil, err
		}
	}
	for _, p := range w.fleet.pools {
		p.rollout = nil
	}
	status("every node follows")
	followed, err := w.push(ctx, w.fleet.pools, w.fleet.names())
	if err != nil {
		return nil, err
	}
	return w.figuresOfHeld(free, all, followed), nil
}

// statusTarget is how large the status of a pool may be, in KiB, however many nodes it has.
const statusTarget = 4

// heldTarget is how much of a processor held nodes may use, of what they use at rest.
const heldTarget = 1.2

func (w *world) figuresOfHeld(free held, all []held, followed pushed) []Figure {
	const row = "rollout, held"
	figures := []Figure{}
	nodes := number(float64(w.size.nodes)) + " nodes"
	for _, h := range all {
		figures = append(figures,
			Figure{Row: row, Name: fmt.Sprintf("writes in %s, %s held by %s", h.lasted, nodes, h.by), Value: h.writes(), Unit: "writes", Target: &Target{AtMost: 0}},
			Figure{Row: row, Name: "of which of nodes", Value: float64(h.nodeWrites), Unit: "writes", Target: &Target{AtMost: 0}},
			Figure{
				Row: row, Name: "all requests, the leader's lease included", Value: float64(h.nodeWrites + h.asked.all), Unit: "requests",
				Baseline: &Baseline{Name: "nothing held", Value: float64(free.nodeWrites + free.asked.all)},
			},
			Figure{
				Row: row, Name: "processor time, of one core", Value: h.share(), Unit: "%",
				Baseline: &Baseline{Name: "nothing held", Value: free.share()}, Target: &Target{AtMost: heldTarget},
			},
			Figure{Row: row, Name: "largest status of a pool", Value: float64(h.status) / 1024, Unit: "KiB", Target: &Target{AtMost: statusTarget}},
		)
	}
	return append(figures,
		Figure{Row: row, Name: "largest status of a pool, nothing held", Value: float64(free.status) / 1024, Unit: "KiB"},
		Figure{
			Row: row, Name: "writes per node, held no longer", Unit: "writes", Target: &Target{AtMost: 1},
			Value: float64(followed.writes.all()) / float64(w.size.nodes),
		},
		Figure{Row: row, Name: "peak memory before any is held", Value: free.peak, Unit: "MiB", Target: peakTarget(w.size.nodes)},
		Figure{Row: row, Name: "peak memory since the start", Value: all[len(all)-1].peak, Unit: "MiB", Target: peakTarget(w.size.nodes)},
	)
}

// closed is a rollout with a window that is half a day away.
func closed(now time.Time) *v1.Rollout {
	hour := (now.UTC().Hour() + 12) % 24
	return &v1.Rollout{Windows: []v1.Window{{
		Schedule: v1.Schedule(fmt.Sprintf("0 %d * * *", hour)), Duration: metav1.Duration{Duration: time.Hour},
	}}}
}

// hold pushes another label of every pool, with a rollout that lets no node follow, and
// returns when every pool reports that all of its nodes wait.
func (w *world) hold(ctx context.Context, rollout *v1.Rollout, tier string) error {
	for _, p := range w.fleet.pools {
		p.rollout, p.tier = rollout, tier
	}
	if err := w.repository.commit(ctx, w.fleet.pools); err != nil {
		return err
	}
	if err := w.repository.push(ctx); err != nil {
		return err
	}
	if err := w.notify(ctx); err != nil {
		return err
	}
	members := map[string]int{}
	for _, p := range w.fleet.pools {
		members[p.name] = len(w.fleet.membersOf(p))
	}
	return w.poll(ctx, "every node is held", func(ctx context.Context) error {
		pools, _, err := w.statuses(ctx)
		if err != nil {
			return err
		}
		for _, p := range pools {
			if p.Name == spare.name {
				continue
			}
			if p.Spec.Labels[tierLabel] != v1.LabelValue(tier) && p.Spec.Labels[channelLabel] != v1.LabelValue(tier) {
				return fmt.Errorf("pool %q is not changed yet", p.Name)
			}
			if is := p.Status.Rollout; p.Status.ObservedGeneration != p.Generation || is == nil || int(is.Waiting) != members[p.Name] {
				return fmt.Errorf("pool %q reports %+v, expected %d nodes that wait", p.Name, is, members[p.Name])
			}
		}
		return nil
	})
}

// statuses are all pools, and how many bytes the largest status of them has.
func (w *world) statuses(ctx context.Context) (pools []v1.NodePool, largest int, err error) {
	list := &v1.NodePoolList{}
	if err := w.records.List(ctx, list); err != nil {
		return nil, 0, err
	}
	for _, p := range list.Items {
		text, err := json.Marshal(p.Status)
		if err != nil {
			return nil, 0, err
		}
		largest = max(largest, len(text))
	}
	return list.Items, largest, nil
}
