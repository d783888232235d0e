package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// changeRows changes the value of one label: of one pool, then of all.
func changeRows(ctx context.Context, w *world, c *convergence) ([]Figure, error) {
	if err := w.ensureRunning(ctx); err != nil {
		return nil, err
	}
	one := []*pool{w.fleet.usual()}
	figures, err := w.change(ctx, c, "t1", one, w.fleet.membersOf(one[0]))
	if err != nil {
		return nil, err
	}
	all, err := w.change(ctx, c, "t2", w.fleet.pools, w.fleet.names())
	return append(figures, all...), err
}

// usual is the pool of which the number of nodes is nearest to that of nodes for each
// pool: of 5,000 nodes and 100 pools, one that has 50.
func (f *fleet) usual() *pool {
	distance := func(p *pool) int {
		off := len(f.membersOf(p)) - len(f.members)/len(f.pools)
		return max(off, -off)
	}
	return slices.MinFunc(f.pools, func(a, b *pool) int { return cmp.Compare(distance(a), distance(b)) })
}

// change gives the label of some pools another value. What it is compared with is
// the bare client's share for as many nodes: an apply that changes one label is as
// big as the first one.
func (w *world) change(ctx context.Context, c *convergence, tier string, pools []*pool, nodes []string) ([]Figure, error) {
	status("change a label of %d pools", len(pools))
	for _, p := range pools {
		p.tier = tier
	}
	p, err := w.push(ctx, pools, nodes)
	if err != nil {
		return nil, err
	}
	share := c.floor() * float64(len(nodes)) / float64(c.size.nodes)
	of := fmt.Sprintf("%d pools", len(pools))
	if len(pools) == 1 {
		of = "one pool"
	}
	return []Figure{
		{
			Row: "change", Name: fmt.Sprintf("a label of %s, %s nodes", of, number(float64(len(nodes)))), Value: p.last.Seconds(), Unit: "s",
			Baseline: &Baseline{Name: "bare client, its share", Value: share},
		},
		{Row: "change", Name: "push to the first node, " + of, Value: p.first.Seconds(), Unit: "s"},
		{Row: "change", Name: "writes per changed node, " + of, Value: float64(p.writes.all()) / float64(len(nodes)), Unit: "writes", Target: &Target{AtMost: 1}},
	}, nil
}

// ensureRunning starts the program where it does not run, and lets it come to rest.
func (w *world) ensureRunning(ctx context.Context) error {
	if w.runs != nil {
		return nil
	}
	if err := w.startProgram(); err != nil {
		return err
	}
	return pause(ctx, restTime)
}
