package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// rowNames are the rows that can be measured, in the order of the table.
var rowNames = []string{"converge", "kubectl", "change", "steady", "join", "restart", "growth", "small", "pools", "rollout", "source"}

// elsewhere are the rows that are not measured on the main fleet.
var elsewhere = []string{"growth", "small", "pools", "rollout", "source"}

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

// measure measures what was chosen. After an error it returns what it has got so
// far.
func measure(ctx context.Context, o options) (Report, error) {
	r := Report{Taken: time.Now().UTC(), Machine: thisMachine(), Nodes: o.size.nodes, Pools: o.size.pools}
	var err error
	if r.Program, err = programVersion(ctx, o.program); err != nil {
		return r, err
	}
	r.Kubernetes, r.Figures, err = everything(ctx, o)
	r.Figures = known(r.Figures)
	return r, err
}

// programVersion is the first line of what the program says of itself, less its name.
func programVersion(ctx context.Context, program string) (string, error) {
	out, err := exec.CommandContext(ctx, program, "version").Output()
	if err != nil {
		return "", fmt.Errorf("%s version: %w\nbuild it first, or run: make bench", program, err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimPrefix(line, "nodepools "), nil
}

// known leaves out figures that this system does not report.
func known(figures []Figure) []Figure {
	return slices.DeleteFunc(figures, func(f Figure) bool {
		return math.IsNaN(f.Value) || f.Baseline != nil && math.IsNaN(f.Baseline.Value)
	})
}

// everything is the one place where rows are gathered. It returns the version of the
// control plane, too, where one was started.
func everything(ctx context.Context, o options) (kubernetes string, figures []Figure, err error) {
	var main *convergence
	if o.ofMain() {
		if kubernetes, figures, main, err = mainRows(ctx, o); err != nil {
			return kubernetes, figures, err
		}
	}
	if o.rows["growth"] {
		more, err := growthRows(ctx, o, main)
		figures = append(figures, more...)
		if err != nil {
			return kubernetes, figures, err
		}
	}
	for _, row := range []struct {
		name    string
		measure func(context.Context, options) ([]Figure, error)
	}{
		{"small", smallRows},
		{"pools", poolRows},
		{"rollout", rolloutRows},
		{"source", followRows},
	} {
		if !o.rows[row.name] {
			continue
		}
		more, err := row.measure(ctx, o)
		figures = append(figures, more...)
		if err != nil {
			return kubernetes, figures, fmt.Errorf("%s: %w", row.name, err)
		}
	}
	return kubernetes, figures, nil
}

// ofMain reports whether a row was chosen that is measured on the main fleet.
func (o options) ofMain() bool {
	return slices.ContainsFunc(rowNames, func(row string) bool { return o.rows[row] && !slices.Contains(elsewhere, row) })
}

// followRows measures what following a repository costs.
func followRows(ctx context.Context, _ options) (figures []Figure, err error) {
	status("source")
	dir, err := os.MkdirTemp("", "nodepools-bench-source-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return sourceRows(ctx, dir, longHistory)
}

// mainRows measures all that is measured on the fleet of the chosen size, in one
// world: each row leaves it as the next one needs it.
func mainRows(ctx context.Context, o options) (kubernetes string, figures []Figure, c *convergence, err error) {
	ctx, gone := context.WithCancelCause(ctx)
	defer gone(nil)
	w, err := newWorld(ctx, o, o.size, gone)
	if err != nil {
		return "", nil, nil, err
	}
	defer func() {
		err = errors.Join(w.explain(ctx, err), w.close())
	}()
	server, err := w.client.Discovery().ServerVersion()
	if err != nil {
		return "", nil, nil, fmt.Errorf("ask for the version of the API server: %w", err)
	}
	kubernetes = server.GitVersion
	if c, err = converge(ctx, w); err != nil {
		return kubernetes, nil, nil, err
	}
	if o.rows["converge"] || o.rows["kubectl"] {
		figures = append(figures, c.figures()...)
	}
	peak := c.peak()
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
			return kubernetes, figures, nil, fmt.Errorf("%s: %w", row.name, err)
		}
		if w.runs != nil {
			use, err := w.runs.use()
			if err != nil {
				return kubernetes, figures, nil, err
			}
			peak = max(peak, use.peak)
		}
	}
	if err := w.checkAll(ctx); err != nil {
		return kubernetes, figures, nil, err
	}
	figures = append(figures, Figure{
		Row: "memory", Name: fmt.Sprintf("peak of all of the above, %s nodes", number(float64(o.size.nodes))),
		Value: peak, Unit: "MiB", Target: peakTarget(o.size.nodes),
	})
	return kubernetes, figures, c, nil
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
