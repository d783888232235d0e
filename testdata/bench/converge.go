package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// convergence is how a fleet of bare nodes became what the pools say: by the program,
// a round at a time, and by a bare client, before the first round and after each. A
// machine is faster at one moment than at another, so one round tells little.
type convergence struct {
	size    size
	kubectl time.Duration // 0 where it was not asked for
	floors  []floored     // of the bare client: one more than rounds
	rounds  []round       // of the program
	sparing []floored     // of a client that asks as the program does, before all rounds and after them; none at sizes that are only for growth
}

// round is one push to the program, from its start to its end.
type round struct {
	pushed
	peak float64 // MiB
}

// converge measures a world of bare nodes: kubectl, then the bare client and the
// program in turn, with the nodes bare before each. In the end the program does not
// run, and the nodes are as it would have them.
func converge(ctx context.Context, w *world) (*convergence, error) {
	c := &convergence{size: w.size}
	if w.o.rows["kubectl"] {
		status("kubectl labels and taints")
		var err error
		if c.kubectl, err = w.kubectl(ctx); err != nil {
			return nil, fmt.Errorf("kubectl: %w", err)
		}
		if err := w.reset(ctx); err != nil {
			return nil, fmt.Errorf("reset: %w", err)
		}
	}
	main := w.size == w.o.size
	if main {
		if err := c.addSparing(ctx, w); err != nil {
			return nil, err
		}
		if err := w.reset(ctx); err != nil {
			return nil, fmt.Errorf("reset: %w", err)
		}
	}
	if err := c.addFloor(ctx, w); err != nil {
		return nil, err
	}
	for range w.o.rounds {
		if err := c.addRound(ctx, w); err != nil {
			return nil, err
		}
	}
	if main {
		if err := w.reset(ctx); err != nil {
			return nil, fmt.Errorf("reset: %w", err)
		}
		if err := c.addSparing(ctx, w); err != nil {
			return nil, err
		}
	}
	return c, w.checkAll(ctx)
}

// addRound lets the program have its turn, and after it the bare client.
func (c *convergence) addRound(ctx context.Context, w *world) error {
	if err := w.reset(ctx); err != nil {
		return fmt.Errorf("reset: %w", err)
	}
	if len(c.rounds) > 0 {
		if err := w.forget(ctx); err != nil {
			return fmt.Errorf("forget the round before: %w", err)
		}
	}
	if err := c.addProgram(ctx, w); err != nil {
		return fmt.Errorf("converge: %w", err)
	}
	if err := w.reset(ctx); err != nil {
		return fmt.Errorf("reset: %w", err)
	}
	return c.addFloor(ctx, w)
}

// addSparing lets the client that asks for as little have its turn, outside the
// rounds, so that they are the same at all sizes.
func (c *convergence) addSparing(ctx context.Context, w *world) error {
	return addFloor(ctx, w, &c.sparing, "a client that asks as little", w.sparingly)
}

func (c *convergence) addFloor(ctx context.Context, w *world) error {
	return addFloor(ctx, w, &c.floors, "the bare client", w.plainly)
}

func addFloor(ctx context.Context, w *world, to *[]floored, who string, send writer) error {
	status("%s writes %s nodes", who, number(float64(w.size.nodes)))
	f, err := w.floor(ctx, send)
	if err != nil {
		return fmt.Errorf("%s: %w", who, err)
	}
	status("that took %.2f s", f.took.Seconds())
	*to = append(*to, f)
	return nil
}

func (c *convergence) addProgram(ctx context.Context, w *world) error {
	status("nodepools follows a push of %d pools", len(w.fleet.pools))
	if err := w.startProgram(); err != nil {
		return err
	}
	if err := w.createSource(ctx); err != nil {
		return err
	}
	p, err := w.push(ctx, w.fleet.pools, w.fleet.names())
	if err != nil {
		return err
	}
	status("that took %.2f s", p.last.Seconds())
	if err := w.checkAll(ctx); err != nil {
		return err
	}
	use, err := w.stopProgram()
	c.rounds = append(c.rounds, round{p, use.peak})
	return err
}

// beside is how long the bare client takes around a round, in seconds.
func (c *convergence) beside(i int) float64 {
	return (c.floors[i].seconds() + c.floors[i+1].seconds()) / 2
}

// middle is the round of which the ratio to the bare client is the median of all
// rounds; of an even number of them, the worse of the two in the middle. A ratio of
// medians would compare moments that have nothing to do with each other.
func (c *convergence) middle() int {
	order := make([]int, len(c.rounds))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Compare(c.rounds[i].seconds()/c.beside(i), c.rounds[j].seconds()/c.beside(j))
	})
	return order[len(order)/2]
}

// took is how long the program takes, and floor the bare client beside it, in seconds.
func (c *convergence) took() float64  { return c.rounds[c.middle()].seconds() }
func (c *convergence) floor() float64 { return c.beside(c.middle()) }

// ratio of the program's time to the bare client's.
func (c *convergence) ratio() float64 { return c.took() / c.floor() }

// peak is the most that the program has used in any round, in MiB.
func (c *convergence) peak() float64 {
	return slices.Max(c.ofRounds(func(r round) float64 { return r.peak }))
}

func (r round) seconds() float64 { return r.last.Seconds() }

func (c *convergence) ofRounds(value func(round) float64) []float64 { return each(c.rounds, value) }

func (c *convergence) ofFloors(value func(floored) float64) []float64 { return each(c.floors, value) }

const floorName = "bare client, same applies"

// figures tell of times those of the middle round, of what must not be more than so
// much the most of all rounds, and of all else the median.
func (c *convergence) figures() []Figure {
	took, all := c.took(), number(float64(c.size.nodes))
	figures := []Figure{{
		Row: "converge", Name: fmt.Sprintf("push to the last of %s nodes right", all),
		Value: took, Unit: "s",
		Baseline: &Baseline{Name: floorName, Value: c.floor()}, Target: &Target{AtMost: 1.15},
	}}
	if c.kubectl > 0 {
		figures = append(figures, Figure{
			Row: "converge", Name: "the same, against a script",
			Value: took, Unit: "s",
			Baseline: &Baseline{Name: "kubectl label + taint per pool", Value: c.kubectl.Seconds()}, Target: &Target{AtMost: 0.2},
		})
	}
	if len(c.sparing) > 0 {
		figures = append(figures, Figure{
			Row: "converge", Name: "the same, against a client that asks as little",
			Value: took, Unit: "s",
			Baseline: &Baseline{Name: "client, same requests", Value: (c.sparing[0].seconds() + c.sparing[1].seconds()) / 2},
		})
	}
	for i, r := range c.rounds {
		figures = append(figures, Figure{
			Row: "converge", Name: fmt.Sprintf("round %d of %d", i+1, len(c.rounds)), Value: r.seconds(), Unit: "s",
			Baseline: &Baseline{Name: "bare client before and after", Value: c.beside(i)},
		})
	}
	figures = append(figures, Figure{
		Row: "converge", Name: "push to the first node right", Unit: "s",
		Value: median(c.ofRounds(func(r round) float64 { return r.first.Seconds() })),
	})
	figures = append(figures, c.processorFigures()...)
	most := func(value func(round) float64) float64 { return slices.Max(c.ofRounds(value)) }
	return append(figures,
		Figure{Row: "memory", Name: "peak of converging", Value: c.peak(), Unit: "MiB", Target: peakTarget(c.size.nodes)},
		Figure{
			Row: "writes", Name: "writes per changed node", Unit: "writes", Target: &Target{AtMost: 1},
			Value: most(func(r round) float64 { return float64(r.writes.all()) }) / float64(c.size.nodes),
		},
		Figure{
			Row: "writes", Name: "of which refused as conflicts", Unit: "writes",
			Value: most(func(r round) float64 { return float64(r.writes.conflicts) }),
		},
		Figure{
			Row: "writes", Name: "other writes per pool", Unit: "writes",
			Value: most(func(r round) float64 { return float64(r.others) }) / float64(c.size.pools),
		},
	)
}

// processorFigures tell where the time of the processors has gone, the bare client's
// beside it. The server's differs by what else it is asked for, and by what it
// answers with.
func (c *convergence) processorFigures() []Figure {
	var figures []Figure
	add := func(name string, of func(processors) float64) {
		figures = append(figures, Figure{
			Row: "converge", Name: "processor time, " + name, Unit: "s",
			Value:    median(c.ofRounds(func(r round) float64 { return of(r.spent) })),
			Baseline: &Baseline{Name: floorName, Value: median(c.ofFloors(func(f floored) float64 { return of(f.spent) }))},
		})
	}
	add("all together", processors.all)
	add("API server and etcd", func(p processors) float64 { return p.server })
	add("who writes, and who looks on", func(p processors) float64 { return p.clients })
	return append(figures, Figure{
		Row: "converge", Name: "processor time, of nodepools alone", Unit: "s",
		Value: median(c.ofRounds(func(r round) float64 { return r.cpu })),
	})
}
