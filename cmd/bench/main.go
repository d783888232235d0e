// Command bench measures nodepools run, as a process of its own, on a real API server and
// etcd. Each figure stands beside the same work of a bare client, a script or git in the
// same run:
//
//	make bench BENCH="-rows join -nodes 500 -pools 10"
//
// The program prints a table. A run of all rows also writes results.json, chart.svg and the
// table of docs/performance.md.
//
// The rows are in rows.go, and each row has a file of its name. world.go has what a row is
// measured in: a control plane with nodes, a Git repository and the program.
//
// Machines differ: a missed target is no error. The program fails when it cannot measure,
// and when the nodes do not have what their pools specify in the end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// options are the values of the flags.
type options struct {
	program   string
	size      size
	rounds    int
	steady    time.Duration
	joins     int
	manyPools []int
	rows      map[string]bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	log.SetLogger(logr.Discard()) // controller-runtime complains without a logger
	err := run(ctx, os.Args[1:])
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return
	case ctx.Err() != nil:
		err = errors.New("interrupted; the control planes are stopped and removed")
	}
	fmt.Fprintln(os.Stderr, "bench:", err)
	stop()
	os.Exit(1)
}

// run measures, prints the table, and publishes a run of all rows.
func run(ctx context.Context, args []string) error {
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	report, err := measure(ctx, o)
	if len(report.Figures) > 0 {
		fmt.Fprint(os.Stdout, report.table())
	}
	if err != nil || len(o.rows) < len(rows) {
		return err
	}
	return publish(".", report)
}

func parseOptions(args []string) (options, error) {
	o := options{rows: map[string]bool{}}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.program, "nodepools", "bin/nodepools", "the `program` to measure")
	flags.IntVar(&o.size.nodes, "nodes", 5000, "`number` of nodes")
	flags.IntVar(&o.size.pools, "pools", 100, "`number` of pools")
	flags.IntVar(&o.rounds, "rounds", 3, "`number` of times that a fleet converges")
	flags.DurationVar(&o.steady, "steady", 2*time.Minute, "how long to measure nodepools at rest")
	flags.IntVar(&o.joins, "joins", 200, "`number` of nodes that join")
	many := flags.String("many-pools", "1000,5000", "`numbers` of pools of the row pools")
	only := flags.String("rows", strings.Join(rowNames(), ","), "the `rows` to measure")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	for text := range strings.SplitSeq(*many, ",") {
		pools, err := strconv.Atoi(text)
		if err != nil || pools < 1 {
			return o, fmt.Errorf("-many-pools: %q is not a positive number", text)
		}
		o.manyPools = append(o.manyPools, pools)
	}
	for name := range strings.SplitSeq(*only, ",") {
		if findRow(name) == nil {
			return o, fmt.Errorf("-rows: there is no row %q; the rows are %s", name, strings.Join(rowNames(), ", "))
		}
		o.rows[name] = true
	}
	if o.size.pools < 1 || o.size.nodes < o.size.pools {
		return o, errors.New("-pools must be more than 0, and -nodes at least -pools")
	}
	if o.rounds < 1 || o.joins < 1 || o.steady <= 0 {
		return o, errors.New("-rounds, -joins and -steady must be more than 0")
	}
	return o, nil
}

// programVersion is the first line of nodepools version, without the name.
func programVersion(ctx context.Context, program string) (string, error) {
	out, err := exec.CommandContext(ctx, program, "version").Output()
	if err != nil {
		return "", fmt.Errorf("%s version: %w\nbuild it first, or run: make bench", program, err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimPrefix(line, "nodepools "), nil
}

// status prints progress on standard error.
func status(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}
