package main

import (
	"context"
	"fmt"
	"time"
)

// convergence is how a fleet of bare nodes became what the pools say.
type convergence struct {
	size    size
	floors  []floored     // the bare client, just before the program and just after
	kubectl time.Duration // 0 where it was not asked for
	program pushed
	use     usage // of the program, from its start to its end
}

// converge measures a world of bare nodes: kubectl, the bare client, the program,
// and the bare client again, with the nodes bare before each. In the end the program
// does not run, and the nodes are as it would have them.
func converge(ctx context.Context, w *world) (*convergence, error) {
	c := &convergence{size: w.size}
	var err error
	if w.o.rows["kubectl"] {
		status("kubectl labels and taints")
		if c.kubectl, err = w.kubectl(ctx); err != nil {
			return nil, fmt.Errorf("kubectl: %w", err)
		}
		if err := w.reset(ctx); err != nil {
			return nil, fmt.Errorf("reset: %w", err)
		}
	}
	if err := c.addFloor(ctx, w); err != nil {
		return nil, err
	}
	if err := w.reset(ctx); err != nil {
		return nil, fmt.Errorf("reset: %w", err)
	}
	if err := c.addProgram(ctx, w); err != nil {
		return nil, fmt.Errorf("converge: %w", err)
	}
	if err := w.reset(ctx); err != nil {
		return nil, fmt.Errorf("reset: %w", err)
	}
	if err := c.addFloor(ctx, w); err != nil {
		return nil, err
	}
	return c, w.checkAll(ctx)
}

func (c *convergence) addFloor(ctx context.Context, w *world) error {
	status("the bare client writes %s nodes", number(float64(w.size.nodes)))
	f, err := w.floor(ctx)
	if err != nil {
		return fmt.Errorf("bare client: %w", err)
	}
	status("that took %.2f s", f.took.Seconds())
	c.floors = append(c.floors, f)
	return nil
}

func (c *convergence) addProgram(ctx context.Context, w *world) (err error) {
	status("nodepools follows a push of %d pools", len(w.fleet.pools))
	if err := w.startProgram(); err != nil {
		return err
	}
	if err := w.createSource(ctx); err != nil {
		return err
	}
	if c.program, err = w.push(ctx, w.fleet.pools, w.fleet.names()); err != nil {
		return err
	}
	status("that took %.2f s", c.program.last.Seconds())
	if err := w.checkAll(ctx); err != nil {
		return err
	}
	c.use, err = w.stopProgram()
	return err
}

// floor is the mean of before and after, in seconds.
func (c *convergence) floor() float64 {
	return mean(c.floors, func(f floored) float64 { return f.took.Seconds() })
}

func mean(floors []floored, of func(floored) float64) float64 {
	var sum float64
	for _, f := range floors {
		sum += of(f)
	}
	return sum / float64(len(floors))
}

// ratio of the program's time to the bare client's.
func (c *convergence) ratio() float64 { return c.program.last.Seconds() / c.floor() }

const floorName = "bare client, same applies"

func (c *convergence) figures() []Figure {
	p := c.program
	nodes := float64(c.size.nodes)
	figures := []Figure{{
		Row: "converge", Name: fmt.Sprintf("push to the last of %s nodes right", number(float64(c.size.nodes))),
		Value: p.last.Seconds(), Unit: "s",
		Baseline: &Baseline{Name: floorName, Value: c.floor()}, Target: &Target{AtMost: 1.15},
	}}
	if c.kubectl > 0 {
		figures = append(figures, Figure{
			Row: "converge", Name: "the same, against a script",
			Value: p.last.Seconds(), Unit: "s",
			Baseline: &Baseline{Name: "kubectl label + taint per pool", Value: c.kubectl.Seconds()}, Target: &Target{AtMost: 0.2},
		})
	}
	return append(figures,
		Figure{Row: "converge", Name: "push to the first node right", Value: p.first.Seconds(), Unit: "s"},
		Figure{Row: "converge", Name: "bare client before", Value: c.floors[0].took.Seconds(), Unit: "s"},
		Figure{Row: "converge", Name: "bare client after", Value: c.floors[1].took.Seconds(), Unit: "s"},
		Figure{
			Row: "converge", Name: "processor time, server included", Value: p.everybody, Unit: "s",
			Baseline: &Baseline{Name: floorName, Value: mean(c.floors, func(f floored) float64 { return f.everybody })},
		},
		Figure{Row: "converge", Name: "processor time of the program", Value: p.cpu, Unit: "s"},
		Figure{Row: "memory", Name: "peak of converging", Value: c.use.peak, Unit: "MiB", Target: peakTarget(c.size.nodes)},
		Figure{Row: "writes", Name: "writes per changed node", Value: float64(p.writes.all()) / nodes, Unit: "writes", Target: &Target{AtMost: 1}},
		Figure{Row: "writes", Name: "of which refused as conflicts", Value: float64(p.writes.conflicts), Unit: "writes"},
		Figure{Row: "writes", Name: "other writes per pool", Value: float64(p.others) / float64(c.size.pools), Unit: "writes"},
	)
}
