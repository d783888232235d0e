package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// rowNames are the rows that can be measured, in the order of the table.
var rowNames = []string{"converge", "kubectl", "change", "steady", "join", "restart", "growth"}

func chooseRows(list string) (map[string]bool, error) {
	chosen := map[string]bool{}
	for name := range strings.SplitSeq(list, ",") {
		if !slices.Contains(rowNames, name) {
			return nil, fmt.Errorf("there is no row %q; there are %s", name, strings.Join(rowNames, ", "))
		}
		chosen[name] = true
	}
	return chosen, nil
}

// rows measures what was chosen. After an error it returns what it has got so far.
func rows(ctx context.Context, o options) ([]Figure, error) {
	figures, err := everything(ctx, o)
	return known(figures), err
}

// known leaves out figures that this system does not tell.
func known(figures []Figure) []Figure {
	return slices.DeleteFunc(figures, func(f Figure) bool {
		return math.IsNaN(f.Value) || f.Baseline != nil && math.IsNaN(f.Baseline.Value)
	})
}

// everything is the one place where rows are gathered.
func everything(ctx context.Context, o options) ([]Figure, error) {
	figures, main, err := mainRows(ctx, o)
	if err != nil {
		return figures, err
	}
	if o.rows["growth"] {
		more, err := growthRows(ctx, o, main)
		figures = append(figures, more...)
		if err != nil {
			return figures, err
		}
	}
	return figures, nil
}

// mainRows measures all that is measured on the fleet of the chosen size, in one
// world: each row leaves it as the next one needs it.
func mainRows(ctx context.Context, o options) (figures []Figure, c *convergence, err error) {
	if len(o.rows) == 1 && o.rows["growth"] {
		return nil, nil, nil
	}
	ctx, gone := context.WithCancelCause(ctx)
	defer gone(nil)
	w, err := newWorld(ctx, o, o.size, gone)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		err = errors.Join(w.explain(ctx, err), w.close())
	}()
	if c, err = converge(ctx, w); err != nil {
		return nil, nil, err
	}
	if o.rows["converge"] || o.rows["kubectl"] {
		figures = append(figures, c.figures()...)
	}
	peak := c.use.peak
	for _, row := range []struct {
		name    string
		measure func(context.Context, *world) ([]Figure, error)
	}{
		{"restart", restartRows},
		{"change", func(ctx context.Context, w *world) ([]Figure, error) { return changeRows(ctx, w, c) }},
		{"steady", steadyRows},
		{"join", joinRows},
	} {
		if !o.rows[row.name] {
			continue
		}
		status("%s", row.name)
		more, err := row.measure(ctx, w)
		figures = append(figures, more...)
		if err != nil {
			return figures, nil, fmt.Errorf("%s: %w", row.name, err)
		}
		if w.runs != nil {
			use, err := w.runs.use()
			if err != nil {
				return figures, nil, err
			}
			peak = max(peak, use.peak)
		}
	}
	if err := w.checkAll(ctx); err != nil {
		return figures, nil, err
	}
	figures = append(figures, Figure{
		Row: "memory", Name: fmt.Sprintf("peak of all of the above, %s nodes", thousands(o.size.nodes)),
		Value: peak, Unit: "MiB", Target: peakTarget(o.size.nodes),
	})
	return figures, c, nil
}

// peakTarget is how much memory the program may use in MiB, where the project has
// said so.
func peakTarget(nodes int) *Target {
	switch {
	case nodes <= 5000:
		return &Target{AtMost: 90}
	case nodes <= 15000:
		return &Target{AtMost: 200}
	}
	return nil
}
