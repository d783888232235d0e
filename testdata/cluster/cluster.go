// Package cluster starts a real Kubernetes control plane for tests and for the
// demo: etcd and kube-apiserver, and when asked for kube-controller-manager,
// kube-scheduler and kwok, which keeps nodes Ready and runs pods that are not
// there. Start with [Start], or in a test binary with [Main] and [Shared].
//
// Everything listens on loopback and lives in one temporary folder. What was
// started ends with [Cluster.Stop], and on Linux also when the process that
// started it is killed.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Options say what to start beside etcd and kube-apiserver. The zero value is
// the least: an API server with RBAC and NodeRestriction.
type Options struct {
	// Kubernetes is a version that testdata/controlplane can bring; empty means that of
	// [Assets]. [Cluster.Upgrade] leads from one to another.
	Kubernetes string

	// ControllerManager adds garbage collection of owned objects, the node
	// lifecycle taints, Deployments, and all else but nodeipam.
	ControllerManager bool

	// Scheduler binds pods to nodes. It wants the ControllerManager too: every
	// node is born with the taint node.kubernetes.io/not-ready, which nobody
	// else takes away once the node is Ready.
	Scheduler bool

	// Kwok makes every node Ready and every bound pod Running. For some of
	// the nodes only, leave it out and call [Cluster.StartKwok].
	Kwok bool

	// Audit records every request, for [Cluster.Audit]. It costs the API
	// server a little on each.
	Audit bool

	// CRDs are installed and served before Start returns.
	CRDs []*apiextensionsv1.CustomResourceDefinition

	// CRDPaths are files or folders with more of them.
	CRDPaths []string

	// APIServerArgs and ControllerManagerArgs come after the arguments that
	// the harness gives, so that they win: "--max-requests-inflight=50".
	APIServerArgs, ControllerManagerArgs []string

	// Beside is a pattern, as -run takes it, of tests that [Main] runs in a process
	// and with a cluster of their own, at the same time as the others. Empty means
	// that all share one.
	Beside string
}

// Cluster is a running control plane.
type Cluster struct {
	// Config is the administrator's: group system:masters, and no client-side
	// rate limit, which would measure the client instead of the server.
	Config *rest.Config

	dir        string       // temporary, for everything that the processes write
	release    func() error // releases dir; nil after Stop
	programs   string       // folder of the programs
	kubeconfig string       // file with Config
	authority  *authority
	auditLog   string   // empty without Options.Audit
	port       *port    // of the API server; kept for it until Stop, in Halt too
	etcd       string   // its URL
	common     []string // arguments that all API servers have

	alive context.Context // ends when Stop begins
	end   context.CancelFunc
	users sync.WaitGroup // kubectl, while it runs

	mu        sync.Mutex
	processes []*process // in the order in which they were started
	others    []*other   // API servers beside the first
	files     int        // how many kubeconfig files were written, for their names
}

// Start starts a control plane and returns when everything asked for is ready.
// The first call on a machine brings the programs, see [Assets].
// The context bounds the start alone; the cluster runs until Stop.
func Start(ctx context.Context, opts Options) (_ *Cluster, err error) {
	programs, err := assetsOf(ctx, opts.Kubernetes)
	if err != nil {
		return nil, err
	}
	dir, release, err := newFolder()
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, release: release, programs: programs}
	c.alive, c.end = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop())
		}
	}()

	if err := c.startAPIServer(ctx, opts); err != nil {
		return nil, err
	}
	if err := c.installCRDs(opts); err != nil {
		return nil, err
	}

	var wanted []func(context.Context) error
	if opts.ControllerManager {
		wanted = append(wanted, func(ctx context.Context) error {
			return c.startControllerManager(ctx, opts.ControllerManagerArgs)
		})
	}
	if opts.Scheduler {
		wanted = append(wanted, c.startScheduler)
	}
	if opts.Kwok {
		wanted = append(wanted, func(ctx context.Context) error { return c.StartKwok(ctx, KwokOptions{}) })
	}
	if err := together(ctx, wanted); err != nil {
		return nil, err
	}
	return c, nil
}

// Program returns the path of a program of the control plane, such as kubectl.
func (c *Cluster) Program(name string) string { return filepath.Join(c.programs, name) }

// Kubeconfig returns the path of a kubeconfig file of the administrator. It
// goes away with the cluster.
func (c *Cluster) Kubeconfig() string { return c.kubeconfig }

// Stop ends every process which was started, the API server's clients before
// the API server and etcd last, and removes the temporary folder. A second
// call does nothing.
func (c *Cluster) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end()
	c.users.Wait()
	var errs []error
	for len(c.processes) > 0 {
		last := len(c.processes) - 1
		errs = append(errs, c.processes[last].stop())
		c.processes = c.processes[:last]
	}
	if c.port != nil {
		errs = append(errs, c.port.release())
		c.port = nil
	}
	for _, o := range c.others {
		errs = append(errs, o.release())
	}
	c.others = nil
	if c.release != nil {
		if err := os.RemoveAll(c.dir); err != nil {
			errs = append(errs, fmt.Errorf("remove the folder of the control plane: %w", err))
		}
		errs = append(errs, c.release())
		c.release = nil
	}
	return errors.Join(errs...)
}

func (c *Cluster) installCRDs(opts Options) error {
	if len(opts.CRDs) == 0 && len(opts.CRDPaths) == 0 {
		return nil
	}
	_, err := envtest.InstallCRDs(c.Config, envtest.CRDInstallOptions{
		CRDs:               opts.CRDs,
		Paths:              opts.CRDPaths,
		ErrorIfPathMissing: true,
	})
	if err != nil {
		return fmt.Errorf("install the custom resource definitions: %w", err)
	}
	return nil
}

// together runs the functions at the same time and returns when all have
// ended. The first failure cancels the others and is the one returned.
func together(ctx context.Context, functions []func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for _, f := range functions {
		wg.Go(func() {
			if err := f(ctx); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}
