package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/manifests"
	"github.com/nodepools/nodepools/testdata/cluster"
	"github.com/nodepools/nodepools/testdata/program"
)

const (
	// waitTimeout is how long anything may take; a lease that was not given back, 15 s.
	waitTimeout  = 2 * time.Minute
	pollInterval = 100 * time.Millisecond
	// idleTime is for how long a program writes nothing once it has nothing to do.
	idleTime = 2 * time.Second
)

// version is a program that is installed and run.
type version struct {
	path      string // of the program
	manifests string // what its install prints
	*program.Installation
}

// versionOf asks a program how it is to be installed.
func versionOf(ctx context.Context, path string) (*version, error) {
	printed, err := output(ctx, path, "install", "--image", "registry.example.com/nodepools:v1")
	if err != nil {
		return nil, err
	}
	installation, err := program.ReadInstallation(printed)
	if err != nil {
		return nil, err
	}
	if n := len(installation.Deployment.Spec.Template.Spec.Containers); n != 1 {
		return nil, fmt.Errorf("%s install: the Deployment has %d containers, expected 1", path, n)
	}
	return &version{path, printed, installation}, nil
}

// user is whom the API server takes the program for.
func (v *version) user() string {
	return fmt.Sprintf("system:serviceaccount:%s:%s", v.Account.Namespace, v.Account.Name)
}

// world is a cluster on which one version of the program at a time is installed and run.
type world struct {
	client.Client
	cluster *cluster.Cluster
	dir     string // for logs and manifests
	user    string // whom programs run as; all versions have the same
	files   int    // how many were written, for their names
	tokens  int    // how many passes were requested, for their names

	process *program.Process // nil while none runs
	ended   chan error       // has why the process ended, where that was not asked for
}

// newWorld returns one for a cluster that keeps an audit log.
func newWorld(c *cluster.Cluster, dir string) (*world, error) {
	client, err := client.New(c.Config, client.Options{Scheme: scheme.Scheme})
	return &world{Client: client, cluster: c, dir: dir}, err
}

// install applies what a version prints, as docs/install.md has it.
func (w *world) install(ctx context.Context, v *version) error {
	w.user = v.user()
	return w.apply(ctx, v.manifests)
}

// unprotect removes the admission policies, as docs/install.md has it before a downgrade: an
// earlier version may lack the rights that they ask for, and brings its own.
func (w *world) unprotect(ctx context.Context) error {
	_, err := w.cluster.Kubectl(ctx, "delete", "validatingadmissionpolicybindings", manifests.Name, manifests.StatusPolicyName)
	return err
}

// apply applies manifests, and waits until what they define is served.
func (w *world) apply(ctx context.Context, objects string) error {
	file := w.newFile("manifests-%d.yaml")
	if err := os.WriteFile(file, []byte(objects), 0o600); err != nil {
		return err
	}
	if _, err := w.cluster.Kubectl(ctx, "apply", "--server-side", "-f", file); err != nil {
		return err
	}
	_, err := w.cluster.Kubectl(ctx, "wait", "--for=condition=Established", "--timeout=60s",
		"crd/nodepools.nodes.lailin.xyz", "crd/nodepoolsources.nodes.lailin.xyz")
	return err
}

func (w *world) newFile(name string) string {
	w.files++
	return filepath.Join(w.dir, fmt.Sprintf(name, w.files))
}

// start runs a version with the arguments, the environment and the rights that a cluster
// would run it with.
func (w *world) start(ctx context.Context, v *version) error {
	_, kubeconfig, err := w.cluster.ServiceAccount(ctx, v.Account.Namespace, v.Account.Name)
	if err != nil {
		return err
	}
	container := v.Deployment.Spec.Template.Spec.Containers[0]
	// The usual ports may be in use on this machine.
	args := append(slices.Clone(container.Args), "--kubeconfig", kubeconfig,
		"--leader-election-namespace", v.Account.Namespace,
		"--metrics-bind-address", "127.0.0.1:0", "--health-probe-bind-address", "0")
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "TMPDIR=" + w.dir}
	for _, variable := range container.Env {
		if variable.ValueFrom == nil {
			env = append(env, variable.Name+"="+variable.Value)
		}
	}
	ended := make(chan error, 1)
	w.ended = ended
	w.process, err = program.Start(v.path, w.dir, w.newFile("nodepools-%d.log"), args, env, func(err error) { ended <- err })
	return err
}

// stop ends the program as a cluster does.
func (w *world) stop() error {
	if w.process == nil {
		return nil
	}
	p := w.process
	w.process = nil
	if err := p.Stop(); err != nil {
		return fmt.Errorf("%w\nthe end of its log:\n%s", err, p.Tail())
	}
	return nil
}

// eventually waits until check returns nil. It gives up when the program ends, and its error
// has the end of the log.
func (w *world) eventually(ctx context.Context, what string, check func() error) error {
	deadline := time.Now().Add(waitTimeout)
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		err := check()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return w.withLog(fmt.Errorf("%s: not within %s: %w", what, waitTimeout, err))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case ended := <-w.ended:
			return w.withLog(errors.Join(ended, err))
		case <-ticker.C:
		}
	}
}

func (w *world) withLog(err error) error {
	if w.process == nil {
		return err
	}
	lines := strings.Split(w.process.Tail(), "\n")
	return fmt.Errorf("%w\nthe end of the log:\n\t%s", err, strings.Join(lines[max(0, len(lines)-3):], "\n\t"))
}

// idle waits until the program has written nothing for a while.
func (w *world) idle(ctx context.Context) error {
	mark, err := w.cluster.AuditMark()
	if err != nil {
		return err
	}
	since := time.Now()
	return w.eventually(ctx, "the program is idle", func() error {
		writes, err := w.writes(mark)
		if err != nil {
			return err
		}
		if len(writes) > 0 {
			if mark, err = w.cluster.AuditMark(); err != nil {
				return err
			}
			since = time.Now()
			return fmt.Errorf("it writes, such as: %s", writes[0])
		}
		if time.Since(since) < idleTime {
			return errors.New("it has written something a moment ago")
		}
		return nil
	})
}

// writes are those of the program since a mark, its lease and events left out.
func (w *world) writes(mark int64) ([]cluster.Request, error) {
	requests, err := w.cluster.Audit(mark)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(cluster.WritesBy(w.user, requests), func(r cluster.Request) bool {
		return r.Object.Resource == "leases" || r.Object.Resource == "events"
	}), nil
}
