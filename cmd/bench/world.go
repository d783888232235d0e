package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller"
	"github.com/nodepools/nodepools/testdata/cluster"
	"github.com/nodepools/nodepools/testdata/program"
)

// world is a control plane with a fleet of nodes, a repository, and the program.
type world struct {
	o       options
	size    size
	dir     string // temporary, for all files
	cluster *cluster.Cluster
	fleet   *fleet

	client  kubernetes.Interface // the administrator's
	records client.Client        // the administrator's, for NodePools and NodePoolSources
	account rest.Interface       // the program's, for a client that sends what the program sends

	observer   *observer
	repository *repository
	launch     *launch
	process    *program.Process // nil while the program does not run
	stopping   chan struct{}    // closed when the program is asked to end
	peak       float64          // MiB, of the runs of the program that have ended
	gone       func(error)
}

// inWorld starts a world of a size, calls do, and removes all that was started. When the
// program ends unasked, it cancels the context of do.
func inWorld(ctx context.Context, o options, s size, do func(context.Context, *world) error) (err error) {
	ctx, gone := context.WithCancelCause(ctx)
	defer gone(nil)
	w := &world{o: o, size: s, fleet: newFleet(s), gone: gone}
	if w.dir, err = os.MkdirTemp("", "nodepools-bench-"); err != nil {
		return err
	}
	defer func() {
		err = w.explain(ctx, err)
		gone(nil) // the observer ends before the control plane
		err = errors.Join(err, w.close())
	}()
	var flags []string
	if s.rollouts {
		flags = append(flags, "--rollout")
	}
	if w.launch, err = newLaunch(ctx, o, w.dir, flags...); err != nil {
		return err
	}
	status("start a control plane with %s nodes", number(float64(s.nodes)))
	if err := w.startCluster(ctx); err != nil {
		return err
	}
	if err := w.createNodes(ctx); err != nil {
		return err
	}
	if w.observer, err = observing(ctx, w.client); err != nil {
		return err
	}
	if err := w.until(ctx, "every node is there", w.fleet.bare); err != nil {
		return err
	}
	if w.repository, err = newRepository(ctx, w.dir); err != nil {
		return err
	}
	return do(ctx, w)
}

// auditPolicy records what the program requests, but for patches of nodes: the API server
// counts them, and recording each one would slow it down.
//
//go:embed audit-policy.yaml
var auditPolicy string

// startCluster starts the control plane and installs what the program needs.
func (w *world) startCluster(ctx context.Context) (err error) {
	policy := filepath.Join(w.dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(strings.ReplaceAll(auditPolicy, "$PROGRAM", w.launch.user())), 0o600); err != nil {
		return err
	}
	w.cluster, err = cluster.Start(ctx, cluster.Options{Audit: true, APIServerArgs: []string{
		"--audit-policy-file=" + policy,
		// Every write of a node is another copy of it: the rounds that are compared shall find
		// about as many.
		"--etcd-compaction-interval=30s",
	}})
	if err != nil {
		return err
	}
	if w.client, err = kubernetes.NewForConfig(protobuf(w.cluster.Config)); err != nil {
		return err
	}
	scheme, err := controller.NewScheme()
	if err != nil {
		return err
	}
	if w.records, err = client.New(w.cluster.Config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	if _, err := w.cluster.Apply(ctx, w.launch.installation.Manifests); err != nil {
		return err
	}
	if _, err := w.cluster.Kubectl(ctx, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"); err != nil {
		return err
	}
	account := w.launch.installation.Account
	config, kubeconfig, err := w.cluster.ServiceAccount(ctx, account.Namespace, account.Name)
	if err != nil {
		return err
	}
	w.launch.kubeconfig = kubeconfig
	accountClient, err := kubernetes.NewForConfig(protobuf(config))
	if err != nil {
		return err
	}
	w.account = accountClient.CoreV1().RESTClient()
	return nil
}

// protobuf is what client-go speaks about nodes when it is asked to: it costs the API server
// least.
func protobuf(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	config.ContentType = "application/vnd.kubernetes.protobuf"
	return config
}

// startProgram starts the program, unless it runs.
func (w *world) startProgram() (err error) {
	if w.process != nil {
		return nil
	}
	stopping := make(chan struct{})
	w.stopping = stopping
	w.process, err = w.launch.start(func(err error) {
		select {
		case <-stopping:
		default:
			w.gone(err)
		}
	})
	return err
}

// stopProgram stops the program as a cluster does.
func (w *world) stopProgram() error {
	use, useErr := w.use()
	w.peak = max(w.peak, use.peak)
	process := w.process
	w.process = nil
	close(w.stopping)
	if err := process.Stop(); err != nil {
		return fmt.Errorf("%w\nthe end of its log:\n%s", err, process.Tail())
	}
	return useErr
}

// use is what the program has used since its start; nothing while it does not run.
func (w *world) use() (usage, error) {
	if w.process == nil {
		return usage{}, nil
	}
	return processUsage(w.process.PID())
}

// settle lets everything come to rest before something is measured.
func settle(ctx context.Context) error {
	runtime.GC()
	return pause(ctx, 3*time.Second)
}

// waitTimeout is how long to wait for nodes: generous, as a run that is cut off has
// measured nothing.
func (w *world) waitTimeout() time.Duration {
	limit := 2*time.Minute + time.Duration(w.size.nodes)*60*time.Millisecond
	if w.size.rollouts { // a wave takes seconds, however few nodes are in it
		limit += waves * 10 * time.Second
	}
	return limit
}

// until waits for a check to hold for every node.
func (w *world) until(ctx context.Context, what string, check func(*corev1.Node) error) error {
	return w.observer.expect(what, w.fleet.names(), check).wait(ctx, w.waitTimeout())
}

// checkAll reads every node from the API server, and refuses a node that differs from what
// its pools specify.
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
	if err == nil || w.process == nil {
		return err
	}
	if cause := context.Cause(ctx); errors.Is(cause, program.ErrEnded) {
		err = cause
	}
	return fmt.Errorf("%w\nthe end of the log of nodepools run:\n%s", err, w.process.Tail())
}

// close stops and removes all that was started and made, the last first.
func (w *world) close() error {
	var errs []error
	if w.process != nil {
		errs = append(errs, w.stopProgram())
	}
	if w.repository != nil {
		errs = append(errs, w.repository.close())
	}
	if w.cluster != nil {
		errs = append(errs, w.cluster.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(w.dir))...)
}
