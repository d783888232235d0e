// Command bench measures nodepools run, as a process of its own, on a real API
// server and etcd, each figure beside what it is compared with in the same run:
//
//	make bench NODES=5000 POOLS=100
//
// It prints a table. A run of all rows is also written to results.json, and shown in
// chart.svg and in docs/performance.md.
//
// The rows are gathered in rows.go, and each has a file of its name. The world
// that they are measured in, the control plane, the repository and the program,
// is in world.go.
//
// Machines differ, so no figure makes it fail: it fails when it could not measure,
// and when nodes are not in the end what the pools say.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/nodepools/nodepools/apply/controller"
)

// exitInterrupted is what a shell gives for a program that an interrupt ended.
const exitInterrupted = 130

// options are what the flags say.
type options struct {
	program     string
	size        size
	concurrency int
	rounds      int
	steady      time.Duration
	joins       int
	growth      []int
	manyPools   []int
	rows        map[string]bool
}

// size of a fleet.
type size struct {
	nodes, pools int
	// overlap is how many nodes are in two pools.
	overlap int
	// small nodes have no images, and so a third of the bytes of real ones. The API
	// server writes them faster: what the program does itself counts for more.
	small bool
	// rollouts reports that there is one more pool, of all nodes, and that the program may
	// evict pods.
	rollouts bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if len(os.Args) == 3 && os.Args[1] == sourceChild {
		os.Exit(exit(ctx, runSourceChild(ctx, os.Args[2])))
	}
	log.SetLogger(logr.Discard()) // controller-runtime complains where there is none
	os.Exit(exit(ctx, run(ctx, os.Args[1:])))
}

// run measures, prints the table, and publishes what a whole run has measured.
func run(ctx context.Context, args []string) error {
	o, err := parseOptions(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return usageError{err}
	}
	report, err := measure(ctx, o)
	if len(report.Figures) > 0 {
		fmt.Print(report.table())
	}
	if err != nil || len(o.rows) < len(rowNames) {
		return err
	}
	return publish(".", report)
}

// usageError is one of the command line.
type usageError struct{ error }

// exit says what went wrong, and with what the process ends.
func exit(ctx context.Context, err error) int {
	usage := usageError{}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "bench: interrupted; what was started is stopped and removed")
		return exitInterrupted
	case errors.As(err, &usage):
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		return 2
	case err != nil:
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		return 1
	}
	return 0
}

func parseOptions(args []string) (options, error) {
	o := options{}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.program, "nodepools", "bin/nodepools", "the `program` to measure")
	flags.IntVar(&o.size.nodes, "nodes", 5000, "`number` of nodes")
	flags.IntVar(&o.size.pools, "pools", 100, "`number` of pools")
	flags.IntVar(&o.size.overlap, "overlap", -1, "`number` of nodes in two pools (default: a tenth)")
	flags.IntVar(&o.concurrency, "concurrency", controller.DefaultConcurrency, "`number` of nodes written at once, by all that are compared")
	flags.IntVar(&o.rounds, "rounds", 3, "`number` of times that a fleet converges, between bare clients")
	flags.DurationVar(&o.steady, "steady", 2*time.Minute, "how long to look at the steady state")
	flags.IntVar(&o.joins, "joins", 200, "`number` of nodes that join")
	many := flags.String("many-pools", "1000,5000", "`numbers` of pools of the row pools")
	growth := flags.String("growth", "1000,5000,15000", "`numbers` of nodes to compare")
	only := flags.String("rows", strings.Join(rowNames, ","), "the `rows` to measure")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.size.overlap < 0 {
		o.size.overlap = o.size.nodes / 10
	}
	var err error
	if o.growth, err = numbers(*growth); err != nil {
		return o, fmt.Errorf("-growth: %w", err)
	}
	if o.manyPools, err = numbers(*many); err != nil {
		return o, fmt.Errorf("-many-pools: %w", err)
	}
	if o.rows, err = chooseRows(*only); err != nil {
		return o, err
	}
	return o, o.check()
}

// numbers reads a list of numbers that commas separate.
func numbers(list string) (all []int, err error) {
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

func (o options) check() error {
	if err := o.size.check(); err != nil {
		return err
	}
	if o.concurrency < 1 || o.rounds < 1 || o.joins < 1 || o.steady <= 0 {
		return errors.New("-concurrency, -rounds, -joins and -steady must be more than 0")
	}
	for _, pools := range o.manyPools {
		if err := o.crowded(pools).check(); err != nil {
			return fmt.Errorf("-many-pools: %w", err)
		}
	}
	if !o.rows["growth"] {
		return nil
	}
	for i, nodes := range o.growth {
		if err := o.grown(nodes).check(); err != nil {
			return fmt.Errorf("-growth: %w", err)
		}
		if i > 0 && nodes <= o.growth[i-1] {
			return fmt.Errorf("-growth: %d does not grow", nodes)
		}
	}
	return nil
}

// grown is a fleet of another number of nodes in as many pools, with the same
// share of them in two.
func (o options) grown(nodes int) size {
	return size{nodes: nodes, pools: o.size.pools, overlap: o.size.overlap * nodes / o.size.nodes}
}

// crowded is the fleet in many pools, with more nodes where it has fewer than these.
func (o options) crowded(pools int) size {
	return size{nodes: max(o.size.nodes, pools), pools: pools, overlap: o.size.overlap}
}

// rolling is the fleet with a pool of all its nodes, and without others that share some.
func (o options) rolling() size {
	return size{nodes: o.size.nodes, pools: o.size.pools, rollouts: true}
}

// status prints on standard error what is being done: it takes minutes.
func status(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}
