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
// machine is faster at one moment than at another, so one round shows little.
type convergence struct {
	size    size
	kubectl time.Duration // 0 where it was not asked for
	rounds  []round       // of the program
	// turns of the bare client, and of one that asks as the program does: one more of
	// each than rounds.
	floors, sparing turns
}

// turns of a client, the first before all rounds and one after each.
type turns []floored

// round is one push to the program, from its start to its end.
type round struct {
	pushed
	peak   float64 // MiB
	scrape scraped
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
	if err := c.addClients(ctx, w); err != nil {
		return nil, err
	}
	for range w.o.rounds {
		if err := c.addRound(ctx, w); err != nil {
			return nil, err
		}
	}
	return c, w.checkAll(ctx)
}

// addRound lets the program have its turn, and after it the clients.
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
	return c.addClients(ctx, w)
}

// addClients lets both clients have their turns. The nodes must be bare.
func (c *convergence) addClients(ctx context.Context, w *world) error {
	if err := c.floors.add(ctx, w, "the bare client", w.plainly); err != nil {
		return err
	}
	if err := w.reset(ctx); err != nil {
		return fmt.Errorf("reset: %w", err)
	}
	return c.sparing.add(ctx, w, "a client that asks as little", w.sparingly)
}

func (t *turns) add(ctx context.Context, w *world, who string, send writer) error {
	status("%s writes %s nodes", who, number(float64(w.size.nodes)))
	f, err := w.floor(ctx, send)
	if err != nil {
		return fmt.Errorf("%s: %w", who, err)
	}
	status("that took %.2f s", f.took.Seconds())
	*t = append(*t, f)
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
	use, err := w.runs.use()
	if err != nil {
		return err
	}
	s, err := w.scrape(ctx)
	if err != nil {
		return err
	}
	c.rounds = append(c.rounds, round{p, use.peak, s})
	_, err = w.stopProgram()
	return err
}

// beside is how long the client takes around a round, in seconds.
func (t turns) beside(i int) float64 { return (t[i].seconds() + t[i+1].seconds()) / 2 }

// middle is the round of which the ratio to a client is the median of all rounds; of
// an even number of them, the worse of the two in the middle. A ratio of medians would
// compare moments that have nothing to do with each other.
func (c *convergence) middle(client turns) int {
	order := make([]int, len(c.rounds))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Compare(c.rounds[i].seconds()/client.beside(i), c.rounds[j].seconds()/client.beside(j))
	})
	return order[len(order)/2]
}

// took is how long the program takes, and floor the bare client beside it, in seconds.
func (c *convergence) took() float64  { return c.rounds[c.middle(c.floors)].seconds() }
func (c *convergence) floor() float64 { return c.floors.beside(c.middle(c.floors)) }

// ratio of the program's time to the bare client's.
func (c *convergence) ratio() float64 { return c.took() / c.floor() }

// sparingRatio is that to the time of the client that asks as little.
func (c *convergence) sparingRatio() float64 {
	i := c.middle(c.sparing)
	return c.rounds[i].seconds() / c.sparing.beside(i)
}

// peak is the most that the program has used in any round, in MiB.
func (c *convergence) peak() float64 {
	return slices.Max(c.ofRounds(func(r round) float64 { return r.peak }))
}

func (r round) seconds() float64 { return r.last.Seconds() }

func (c *convergence) ofRounds(value func(round) float64) []float64 { return each(c.rounds, value) }

func (c *convergence) ofFloors(value func(floored) float64) []float64 { return each(c.floors, value) }

// sparingTarget bounds what the program takes beyond the very same requests.
var sparingTarget = &Target{AtMost: 1.1}

const floorName = "bare client, same applies"

// figures are, of times, those of the middle round, of what must not be more than so
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
	i := c.middle(c.sparing)
	figures = append(figures, Figure{
		Row: "converge", Name: "the same, against a client that asks as little", Value: c.rounds[i].seconds(), Unit: "s",
		Baseline: &Baseline{Name: "client, same requests", Value: c.sparing.beside(i)}, Target: sparingTarget,
	})
	for i, r := range c.rounds {
		figures = append(figures, Figure{
			Row: "converge", Name: fmt.Sprintf("round %d of %d", i+1, len(c.rounds)), Value: r.seconds(), Unit: "s",
			Baseline: &Baseline{Name: "bare client before and after", Value: c.floors.beside(i)},
		}, Figure{
			Row: "converge", Name: fmt.Sprintf("round %d of %d, the same requests", i+1, len(c.rounds)), Value: r.seconds(), Unit: "s",
			Baseline: &Baseline{Name: "client before and after", Value: c.sparing.beside(i)},
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

// processorFigures show where the time of the processors has gone, the bare client's
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
