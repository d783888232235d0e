package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
)

// poolRows change a label of very many pools at once, in a world of their own.
func poolRows(ctx context.Context, o options) (_ []Figure, err error) {
	ctx, gone := context.WithCancelCause(ctx)
	defer gone(nil)
	o.rows = maps.Clone(o.rows)
	delete(o.rows, "kubectl")
	w, err := newWorld(ctx, o, o.crowded(), gone)
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
	of := number(float64(w.size.pools)) + " pools"
	status("nodepools follows a push of %s", of)
	created, err := w.push(ctx, w.fleet.pools, w.fleet.names())
	if err != nil {
		return nil, err
	}
	status("change a label of %s", of)
	for _, p := range w.fleet.pools {
		p.tier = "t1"
	}
	changed, err := w.push(ctx, w.fleet.pools, w.fleet.names())
	if err != nil {
		return nil, err
	}
	use, err := w.runs.use()
	if err != nil {
		return nil, err
	}
	seconds := func(name string, value float64, target *Target) Figure {
		return Figure{Row: "pools", Name: name, Value: value, Unit: "s", Target: target}
	}
	return []Figure{
		seconds("poll to the first node, "+of+" created", created.first.Seconds(), nil),
		seconds("poll to the last node, "+of+" created", created.last.Seconds(), nil),
		seconds("poll to the first node, a label of "+of, changed.first.Seconds(), &Target{AtMost: 2}),
		seconds("poll to the last node, a label of "+of, changed.last.Seconds(), nil),
		seconds("last node to every status of "+of, changed.settled.Seconds(), &Target{AtMost: 10}),
		{
			Row: "pools", Name: "writes per changed node", Unit: "writes", Target: &Target{AtMost: 1},
			Value: float64(changed.writes.all()) / float64(w.size.nodes),
		},
		{Row: "pools", Name: "other writes per pool", Value: float64(changed.others) / float64(w.size.pools), Unit: "writes"},
		{Row: "pools", Name: fmt.Sprintf("peak memory, %s", of), Value: use.peak, Unit: "MiB"},
	}, w.checkAll(ctx)
}
