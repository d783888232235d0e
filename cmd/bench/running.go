package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/testdata/program"
)

// launch is how the program is started: with the arguments and the environment of
// the Deployment that nodepools install prints, and the rights of its account.
type launch struct {
	path, dir    string
	installation *program.Installation
	kubeconfig   string
	concurrency  int
	metrics      string // the address at which they are served
	starts       int
}

// newLaunch asks the program how it is to be installed, with more flags of install.
func newLaunch(ctx context.Context, path, dir string, concurrency int, flags ...string) (*launch, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := readAnew(absolute); err != nil {
		return nil, fmt.Errorf("%w\nbuild it first, or run: make bench", err)
	}
	args := append([]string{"install", "--image", "registry.example.com/nodepools:bench"}, flags...)
	manifests, err := exec.CommandContext(ctx, absolute, args...).Output()
	if err != nil {
		return nil, fmt.Errorf("%s install: %w\nbuild it first, or run: make bench", path, err)
	}
	l := &launch{path: absolute, dir: dir, concurrency: concurrency}
	if l.metrics, err = freeAddress(ctx); err != nil {
		return nil, err
	}
	l.installation, err = program.ReadInstallation(string(manifests))
	if err == nil && len(l.containers()) != 1 {
		err = fmt.Errorf("the Deployment of nodepools install has %d containers, expected 1", len(l.containers()))
	}
	return l, err
}

func (l *launch) containers() []corev1.Container {
	return l.installation.Deployment.Spec.Template.Spec.Containers
}

// user is whom the API server takes the program for.
func (l *launch) user() string {
	return fmt.Sprintf("system:serviceaccount:%s:%s", l.installation.Account.Namespace, l.installation.Account.Name)
}

func (l *launch) args() []string {
	args := append(slices.Clone(l.containers()[0].Args),
		"--kubeconfig", l.kubeconfig, "--concurrency", strconv.Itoa(l.concurrency),
		// The usual ports may be in use on this machine. Metrics are counted and served as
		// in a cluster.
		"--metrics-bind-address", l.metrics, "--health-probe-bind-address", "0")
	if slices.Contains(args, "--leader-elect") {
		args = append(args, "--leader-election-namespace", l.installation.Account.Namespace)
	}
	return args
}

func (l *launch) env() []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + l.dir, "TMPDIR=" + l.dir}
	for _, variable := range l.containers()[0].Env {
		if variable.ValueFrom == nil {
			env = append(env, variable.Name+"="+variable.Value)
		}
	}
	return env
}

// running is the program while it runs.
type running struct {
	process *program.Process
	stopped chan struct{} // closed when it is asked to end
}

// start starts the program. When it ends before it is asked to, gone is called.
func (l *launch) start(gone func(error)) (*running, error) {
	l.starts++
	r := &running{stopped: make(chan struct{})}
	log := filepath.Join(l.dir, fmt.Sprintf("nodepools-%d.log", l.starts))
	var err error
	r.process, err = program.Start(l.path, l.dir, log, l.args(), l.env(), func(err error) {
		select {
		case <-r.stopped:
		default:
			gone(err)
		}
	})
	return r, err
}

// stop ends the program as a cluster does, and returns what it has used.
func (r *running) stop() (usage, error) {
	use, err := r.use()
	close(r.stopped)
	if stopErr := r.process.Stop(); stopErr != nil {
		return use, fmt.Errorf("%w\nthe end of its log:\n\t%s", stopErr, strings.ReplaceAll(r.process.Tail(), "\n", "\n\t"))
	}
	return use, err
}
