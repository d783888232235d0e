package main

import (
	"context"
	"fmt"
	"slices"
)

// convergeRow lets a script, nodepools and a bare client make bare nodes what their pools
// specify. A machine is faster at one moment than at another: each time of the client stands
// beside the mean of nodepools before and after it, and the time of the median ratio is
// shown. In the end the program runs.
func convergeRow(ctx context.Context, w *world) ([]Figure, error) {
	script, err := w.kubectl(ctx)
	if err != nil {
		return nil, err
	}
	if err := w.reset(ctx); err != nil {
		return nil, err
	}
	p, err := w.converge(ctx)
	if err != nil {
		return nil, err
	}
	var clients, took, ratios []float64
	all := []pushed{p}
	for range w.o.rounds {
		client, err := w.clientRound(ctx)
		if err != nil {
			return nil, err
		}
		if p, err = w.converge(ctx); err != nil {
			return nil, err
		}
		all, clients, took = append(all, p), append(clients, client), append(took, (all[len(all)-1].last+p.last)/2)
		ratios = append(ratios, took[len(took)-1]/client)
	}
	of := func(value func(pushed) float64) (values []float64) {
		for _, p := range all {
			values = append(values, value(p))
		}
		return values
	}
	nodes, middle := float64(w.size.nodes), slices.Index(ratios, median(ratios))
	return []Figure{
		{Row: "converge", Name: fmt.Sprintf("push to the last of %s nodes right", number(nodes)), Value: took[middle], Unit: "s",
			Baseline: &Baseline{bareClient, clients[middle]}, Target: &Target{1.15}},
		{Row: "converge", Name: "the same, against a script", Value: took[middle], Unit: "s",
			Baseline: &Baseline{"kubectl label + taint per pool", script}, Target: &Target{0.2}},
		{Row: "converge", Name: "push to the first node right", Value: median(of(func(p pushed) float64 { return p.first })), Unit: "s"},
		{Row: "converge", Name: "processor time of nodepools for a node's write", Unit: "ms", Target: &Target{0.45},
			Value: 1000 * median(of(func(p pushed) float64 { return p.cpu })) / nodes},
		{Row: "converge", Name: "writes per changed node", Unit: "writes", Target: &Target{1},
			Value: slices.Max(of(func(p pushed) float64 { return p.writes })) / nodes},
	}, nil
}

// converge starts the program, and lets it make bare nodes what their pools specify.
func (w *world) converge(ctx context.Context) (p pushed, err error) {
	if err := w.startProgram(); err != nil {
		return p, err
	}
	if err := w.createSource(ctx); err != nil {
		return p, err
	}
	if p, err = w.push(ctx, w.fleet.pools); err != nil {
		return p, err
	}
	return p, w.checkAll(ctx)
}

// clientRound stops the program, and lets the bare client write the nodes. The nodes are bare
// before and after.
func (w *world) clientRound(ctx context.Context) (seconds float64, err error) {
	if err := w.stopProgram(); err != nil {
		return 0, err
	}
	if err := w.reset(ctx); err != nil {
		return 0, err
	}
	if err := w.forget(ctx); err != nil {
		return 0, err
	}
	if seconds, err = w.bareClient(ctx); err != nil {
		return 0, err
	}
	return seconds, w.reset(ctx)
}
