package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
)

// growthRows converge fleets of several sizes, each on a control plane of its own;
// main is the one of the other rows, measured already, or nil.
func growthRows(ctx context.Context, o options, main *convergence) ([]Figure, error) {
	var grown []*convergence
	for _, nodes := range o.growth {
		if main != nil && nodes == o.size.nodes {
			grown = append(grown, main)
			continue
		}
		c, err := convergeAlone(ctx, o, o.grown(nodes))
		if err != nil {
			return growthFigures(grown), fmt.Errorf("growth: %s nodes: %w", number(float64(nodes)), err)
		}
		grown = append(grown, c)
	}
	return growthFigures(grown), nil
}

// convergeAlone measures convergence and nothing else, in a world of its own.
func convergeAlone(ctx context.Context, o options, s size) (c *convergence, err error) {
	ctx, gone := context.WithCancelCause(ctx)
	defer gone(nil)
	o.rows = maps.Clone(o.rows)
	delete(o.rows, "kubectl")
	w, err := newWorld(ctx, o, s, gone)
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(w.explain(ctx, err), w.close())
	}()
	return converge(ctx, w)
}

// growthFigures compare each size with the smallest one. What is to stay flat is
// what a node costs: time as a multiple of the bare client's at the same size, as
// the server itself is slower when it is fuller, and the memory that each further
// node needs. The memory per node as such falls with every node: the program needs
// some before the first.
func growthFigures(grown []*convergence) []Figure {
	if len(grown) == 0 {
		return nil
	}
	var figures []Figure
	first := grown[0]
	smallest := fmt.Sprintf("%s nodes", number(float64(first.size.nodes)))
	flat := &Target{AtMost: 1.2}
	compared := func(name, unit string, value func(*convergence) float64, target *Target) {
		for i, c := range grown {
			f := Figure{Row: "growth", Name: fmt.Sprintf("%s, %s nodes", name, number(float64(c.size.nodes))), Value: value(c), Unit: unit}
			if i > 0 {
				f.Baseline, f.Target = &Baseline{Name: smallest, Value: value(first)}, target
			}
			figures = append(figures, f)
		}
	}
	compared("time, of the bare client's", "×", (*convergence).ratio, flat)
	for _, c := range grown {
		figures = append(figures, Figure{
			Row: "growth", Name: fmt.Sprintf("time, of that of the same requests, %s nodes", number(float64(c.size.nodes))),
			Value: c.sparingRatio(), Unit: "×", Target: sparingTarget,
		})
	}
	compared("time per node", "ms", func(c *convergence) float64 { return 1000 * c.took() / float64(c.size.nodes) }, nil)
	compared("processor time per node", "ms", func(c *convergence) float64 {
		return 1000 * median(c.ofRounds(func(r round) float64 { return r.cpu })) / float64(c.size.nodes)
	}, nil)
	for _, c := range grown {
		s := scraped{cpu: median(c.ofRounds(func(r round) float64 { return r.scrape.cpu })), bytes: c.rounds[0].scrape.bytes}
		figures = append(figures, s.figures("growth", number(float64(c.size.nodes))+" nodes")...)
	}
	compared("writes of all but nodes", "writes", func(c *convergence) float64 {
		return median(c.ofRounds(func(r round) float64 { return float64(r.others) }))
	}, nil)
	for _, c := range grown {
		figures = append(figures, Figure{
			Row: "growth", Name: fmt.Sprintf("peak memory, %s nodes", number(float64(c.size.nodes))),
			Value: c.peak(), Unit: "MiB", Target: peakTarget(c.size.nodes),
		})
	}
	var marginal []float64
	for i := 1; i < len(grown); i++ {
		from, to := grown[i-1], grown[i]
		marginal = append(marginal, 1024*(to.peak()-from.peak())/float64(to.size.nodes-from.size.nodes))
		f := Figure{
			Row: "growth", Name: fmt.Sprintf("memory per node, %s to %s", number(float64(from.size.nodes)), number(float64(to.size.nodes))),
			Value: marginal[i-1], Unit: "KiB",
		}
		if i > 1 {
			f.Baseline = &Baseline{Name: fmt.Sprintf("%s to %s", number(float64(first.size.nodes)), number(float64(grown[1].size.nodes))), Value: marginal[0]}
			f.Target = flat
		}
		figures = append(figures, f)
	}
	return figures
}
