// Command upgrades runs the programs of earlier commits and the present one on the same
// cluster, one after the other, and reports whether nodes stay untouched:
//
//	go run ./testdata/upgrades -commits "ca10520 5a9c027"
//
// It is run in the root of a clone. For each commit it starts a control plane, installs what
// the program of that commit prints, and has it put pools on nodes. Then it upgrades to the
// present program, changes pools, goes back to the older program, forward again, and deletes
// the pools: see [run]. Without -commits these are all of the history that changed the record
// or a definition and have a program that can be run, those that changed the record first.
// Their programs are kept in the cache folder of the user.
//
// With -save, what the programs have left is written to testdata/upgrades/left, for the
// tests of this package, which need neither the history nor older programs, and no more is run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/nodepools/nodepools/api/table"
	"github.com/nodepools/nodepools/testdata/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	names := flag.String("commits", "", "the `commits` to upgrade from, separated by blanks; all if empty")
	save := flag.Bool("save", false, "write what the programs leave, for the tests, and run no more")
	flag.Parse()
	log.SetLogger(logr.Discard()) // what clients have to say is in their errors
	if err := upgrades(ctx, strings.Fields(*names), *save); err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		fmt.Fprintf(os.Stderr, "upgrades: %v\n", err)
		os.Exit(1)
	}
}

// errFailed means that an upgrade has failed; what was printed says which.
var errFailed = errors.New("not every upgrade holds")

func upgrades(ctx context.Context, names []string, save bool) (err error) {
	chosen, err := choose(ctx, names)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "nodepools-upgrades-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program := filepath.Join(dir, "nodepools")
	if err := build(ctx, ".", program); err != nil {
		return err
	}
	present, err := versionOf(ctx, program)
	if err != nil {
		return err
	}
	var rows [][]string
	failed, without := 0, 0
	for i, c := range chosen {
		r := &run{present: present}
		err := r.from(ctx, c, filepath.Join(dir, c.short()), save)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		row := r.row(c, err)
		fmt.Fprintf(os.Stderr, "%d of %d: %s\n", i+1, len(chosen), strings.Join(row, "  "))
		switch {
		case errors.Is(err, errNoProgram):
			without++
		case err != nil:
			failed++
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%v\n", err)
		}
		rows = append(rows, row)
	}
	columns := []table.Column{{Title: "COMMIT"}, {Title: "CHANGED"}, {Title: "LEFT"}, {Title: "UNREADABLE AFTER A DOWNGRADE"}, {Title: "RESULT"}, {Title: "TITLE"}}
	table.Text{Columns: columns, Gap: "  "}.Write(os.Stdout, rows)
	fmt.Printf("%d commits, %d failed, %d do not compile\n", len(rows), failed, without)
	if failed > 0 {
		return errFailed
	}
	return nil
}

// choose returns the commits that are named, or all that matter.
func choose(ctx context.Context, names []string) ([]commit, error) {
	if len(names) > 0 {
		return named(ctx, names)
	}
	all, without, err := history(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b commit) int {
		if a.record == b.record {
			return 0
		}
		if a.record {
			return -1
		}
		return 1
	})
	fmt.Fprintf(os.Stderr, "%d commits changed the record or a definition; %d more did before there was a program to run\n", len(all), without)
	return all, nil
}

// from runs the upgrade from a commit, on a control plane of its own.
func (r *run) from(ctx context.Context, c commit, dir string, save bool) (err error) {
	program, err := buildOf(ctx, c)
	if err != nil {
		return err
	}
	if r.old, err = versionOf(ctx, program); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	controlPlane, err := cluster.Start(ctx, cluster.Options{Audit: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, controlPlane.Stop()) }()
	if r.world, err = newWorld(controlPlane, dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	if save {
		if err := r.leave(ctx); err != nil {
			return err
		}
		return r.save(ctx, leftBy(c))
	}
	return r.whole(ctx)
}

// row is what is printed of a run.
func (r *run) row(c commit, err error) []string {
	what := "definition"
	if c.record {
		what = "record"
	}
	var versions []string
	for _, version := range slices.Compact(slices.Sorted(maps.Values(r.left))) {
		versions = append(versions, fmt.Sprintf("v%d", version))
	}
	unreadable := "none"
	if len(r.unreadable) > 0 {
		unreadable = strings.Join(r.unreadable, ", ")
	}
	result := "passed"
	switch {
	case errors.Is(err, errNoProgram):
		result = "does not compile"
	case err != nil:
		result = "failed"
	}
	return []string{c.short(), what, strings.Join(versions, ", "), unreadable, result, c.title}
}
