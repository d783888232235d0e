package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// row is what the program measures under one name.
type row struct {
	name string
	// shared rows are measured one after the other in one world, in which the fleet has
	// converged. Each of the others starts what it needs.
	shared  func(context.Context, *world) ([]Figure, error)
	measure func(context.Context, options) ([]Figure, error)
}

// rows are in the order of the table.
var rows = []row{
	{name: "converge", shared: convergeRow},
	{name: "join", shared: joinRow},
	{name: "steady", shared: steadyRow},
	{name: "pools", measure: poolsRow},
	{name: "rollout", measure: rolloutRow},
	{name: "source", measure: sourceRow},
}

func rowNames() (names []string) {
	for _, r := range rows {
		names = append(names, r.name)
	}
	return names
}

func findRow(name string) *row {
	at := slices.IndexFunc(rows, func(r row) bool { return r.name == name })
	if at < 0 {
		return nil
	}
	return &rows[at]
}

// measure measures the chosen rows. After an error it returns the figures so far.
func measure(ctx context.Context, o options) (r Report, err error) {
	r = Report{Taken: time.Now().UTC(), Machine: thisMachine(), Nodes: o.size.nodes, Pools: o.size.pools}
	if r.Program, err = programVersion(ctx, o.program); err != nil {
		return r, err
	}
	if slices.ContainsFunc(rows, func(row row) bool { return row.shared != nil && o.rows[row.name] }) {
		err = inWorld(ctx, o, o.size, func(ctx context.Context, w *world) error { return measureShared(ctx, w, &r) })
	}
	for _, row := range rows {
		if err != nil || row.measure == nil || !o.rows[row.name] {
			continue
		}
		status("%s", row.name)
		var figures []Figure
		if figures, err = row.measure(ctx, o); err != nil {
			err = fmt.Errorf("%s: %w", row.name, err)
		}
		r.add(figures)
	}
	return r, err
}

// measureShared measures the rows that share a world, and the peak of memory of all.
func measureShared(ctx context.Context, w *world, r *Report) error {
	server, err := w.client.Discovery().ServerVersion()
	if err != nil {
		return err
	}
	r.Kubernetes = server.GitVersion
	if !w.o.rows["converge"] {
		if _, err := w.converge(ctx); err != nil {
			return err
		}
	}
	for _, row := range rows {
		if row.shared == nil || !w.o.rows[row.name] {
			continue
		}
		status("%s", row.name)
		figures, err := row.shared(ctx, w)
		r.add(figures)
		if err != nil {
			return fmt.Errorf("%s: %w", row.name, err)
		}
	}
	if err := w.checkAll(ctx); err != nil {
		return err
	}
	use, err := w.use()
	r.add([]Figure{{
		Row: "memory", Name: fmt.Sprintf("peak of all of the above, %s nodes", number(float64(w.size.nodes))),
		Value: max(w.peak, use.peak), Unit: "MiB", Target: peakTarget(w.size.nodes),
	}})
	return err
}

// add adds figures, without those that this system does not report.
func (r *Report) add(figures []Figure) {
	for _, f := range figures {
		if !math.IsNaN(f.Value) && (f.Baseline == nil || !math.IsNaN(f.Baseline.Value)) {
			r.Figures = append(r.Figures, f)
		}
	}
}

// peakTarget is how much memory the program may use in MiB.
func peakTarget(nodes int) *Target {
	if nodes <= 5000 {
		return &Target{AtMost: 90}
	}
	return nil
}
