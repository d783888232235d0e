package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/testdata/cluster"
	"github.com/nodepools/nodepools/testdata/program"
)

// world is a control plane with a fleet of nodes, a repository, and the program
// that is measured.
type world struct {
	o       options
	size    size
	dir     string // temporary, for all files
	cluster *cluster.Cluster
	fleet   *fleet

	client  kubernetes.Interface // the administrator's
	records client.Client        // the administrator's, for NodePools and NodePoolSources
	account rest.Interface       // the program's, for who sends what the program sends
	sparing *apply.NodeClient    // the same, which asks for as little as the program

	observer   *observer
	repository *repository
	launch     *launch
	runs       *running // nil while the program does not run
	gone       func(error)
	end        context.CancelFunc // of the observer
}

// newWorld starts a control plane with the nodes of a size, and the repository. When
// the program ends unasked, gone is called, and is to end the context.
func newWorld(ctx context.Context, o options, s size, gone func(error)) (_ *world, err error) {
	w := &world{o: o, size: s, fleet: newFleet(s), gone: gone}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	if w.dir, err = os.MkdirTemp("", "nodepools-bench-"); err != nil {
		return nil, err
	}
	var flags []string
	if s.rollouts {
		flags = append(flags, "--rollout")
	}
	if w.launch, err = newLaunch(ctx, o.program, w.dir, o.concurrency, flags...); err != nil {
		return nil, err
	}
	status("start a control plane for %s nodes", number(float64(s.nodes)))
	if err := w.startCluster(ctx); err != nil {
		return nil, err
	}
	status("create %s nodes", number(float64(s.nodes)))
	if err := w.createNodes(ctx); err != nil {
		return nil, err
	}
	watching, end := context.WithCancel(ctx)
	w.end = end
	if w.observer, err = observing(watching, w.client); err != nil {
		return nil, err
	}
	if err := w.until(ctx, "every node is there", w.fleet.names(), w.fleet.bare); err != nil {
		return nil, err
	}
	if w.repository, err = newRepository(ctx, w.dir); err != nil {
		return nil, err
	}
	return w, nil
}

// startProgram starts the program, and the world's end is called when it ends.
func (w *world) startProgram() (err error) {
	w.runs, err = w.launch.start(w.gone)
	return err
}

func (w *world) stopProgram() (usage, error) {
	runs := w.runs
	w.runs = nil
	return runs.stop()
}

// waitTimeout is how long to wait for what nodes do: generous, as a run that is cut
// off has measured nothing.
func (w *world) waitTimeout() time.Duration {
	limit := 2*time.Minute + time.Duration(w.size.nodes)*60*time.Millisecond
	if w.size.rollouts { // a wave takes seconds, however few nodes are in it
		limit += waves * 10 * time.Second
	}
	return limit
}

// until waits for a check to hold for some nodes.
func (w *world) until(ctx context.Context, what string, nodes []string, check func(*corev1.Node) error) error {
	return w.observer.expect(what, nodes, check).wait(ctx, w.waitTimeout())
}

// checkAll asks the API server for every node, and refuses any that is not what
// its pools say, to the last label and taint.
func (w *world) checkAll(ctx context.Context) error {
	nodes, err := w.list(ctx)
	if err != nil {
		return err
	}
	if len(nodes) != len(w.fleet.members) {
		return fmt.Errorf("there are %d nodes, expected %d", len(nodes), len(w.fleet.members))
	}
	for i := range nodes {
		if err := w.fleet.right(&nodes[i]); err != nil {
			return fmt.Errorf("the nodes are wrong in the end: %w", err)
		}
		if nodes[i].Annotations[v1.AppliedAnnotation] == "" {
			return fmt.Errorf("the nodes are wrong in the end: node %q has no record", nodes[i].Name)
		}
	}
	return nil
}

func (w *world) list(ctx context.Context) ([]corev1.Node, error) {
	nodes, err := w.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	return nodes.Items, nil
}

// explain adds the end of the program's log to an error. That the program has ended
// explains more than what did not happen after it.
func (w *world) explain(ctx context.Context, err error) error {
	if err == nil || w.runs == nil {
		return err
	}
	if cause := context.Cause(ctx); errors.Is(cause, program.ErrEnded) {
		err = cause
	}
	return fmt.Errorf("%w\nthe end of the log of nodepools run:\n\t%s", err, strings.ReplaceAll(w.runs.process.Tail(), "\n", "\n\t"))
}

// close stops and removes all that was started and made, the last thing first.
func (w *world) close() error {
	var errs []error
	if w.runs != nil {
		_, err := w.stopProgram()
		errs = append(errs, err)
	}
	if w.end != nil {
		w.end()
	}
	if w.repository != nil {
		errs = append(errs, w.repository.close())
	}
	if w.cluster != nil {
		errs = append(errs, w.cluster.Stop())
	}
	if w.dir != "" {
		errs = append(errs, os.RemoveAll(w.dir))
	}
	return errors.Join(errs...)
}
