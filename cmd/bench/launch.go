package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/prometheus/procfs"
	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/testdata/program"
)

// launch starts the program with the arguments and the environment of the Deployment that
// nodepools install prints, and with the rights of its account.
type launch struct {
	path, dir    string
	installation *program.Installation
	container    corev1.Container
	kubeconfig   string
	starts       int
}

// newLaunch asks the program how to install it, with more flags of install.
func newLaunch(ctx context.Context, o options, dir string, flags ...string) (*launch, error) {
	path, err := filepath.Abs(o.program)
	if err != nil {
		return nil, err
	}
	// Drop the program from the cache of files, as an image's is at first. Linux maps larger
	// pieces of a file that was just written: up to 9 MiB of memory more. Without GNU dd, the
	// program is measured as it lies in the cache.
	_ = exec.CommandContext(ctx, "dd", "of="+path, "oflag=nocache", "conv=notrunc,fdatasync", "count=0").Run()
	args := append([]string{"install", "--image", "registry.example.com/nodepools:bench"}, flags...)
	manifests, err := exec.CommandContext(ctx, path, args...).Output()
	if err != nil {
		return nil, fmt.Errorf("%s install: %w\nbuild it first, or run: make bench", path, err)
	}
	l := &launch{path: path, dir: dir}
	if l.installation, err = program.ReadInstallation(string(manifests)); err != nil {
		return nil, err
	}
	containers := l.installation.Deployment.Spec.Template.Spec.Containers
	if len(containers) != 1 {
		return nil, fmt.Errorf("the Deployment of nodepools install has %d containers, expected 1", len(containers))
	}
	l.container = containers[0]
	return l, nil
}

// user is the name of the program at the API server.
func (l *launch) user() string {
	return fmt.Sprintf("system:serviceaccount:%s:%s", l.installation.Account.Namespace, l.installation.Account.Name)
}

// start starts the program. When the program ends before it is stopped, gone is called.
func (l *launch) start(gone func(error)) (*program.Process, error) {
	l.starts++
	args := append(slices.Clone(l.container.Args),
		"--kubeconfig", l.kubeconfig,
		// The usual ports may be in use. Metrics are counted and served as in a cluster.
		"--metrics-bind-address", "127.0.0.1:0", "--health-probe-bind-address", "0")
	if slices.Contains(args, "--leader-elect") {
		args = append(args, "--leader-election-namespace", l.installation.Account.Namespace)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + l.dir, "TMPDIR=" + l.dir}
	for _, variable := range l.container.Env {
		if variable.ValueFrom == nil {
			env = append(env, variable.Name+"="+variable.Value)
		}
	}
	log := filepath.Join(l.dir, fmt.Sprintf("nodepools-%d.log", l.starts))
	return program.Start(l.path, l.dir, log, args, env, gone)
}

// usage is what a process has used since its start. Without /proc both are not a number, and
// the figures that follow from them are left out.
type usage struct {
	cpu  float64 // seconds of processor time
	peak float64 // MiB of memory at the most at any time
}

func processUsage(pid int) (usage, error) {
	if runtime.GOOS != "linux" {
		return usage{math.NaN(), math.NaN()}, nil
	}
	process, err := procfs.NewProc(pid)
	if err != nil {
		return usage{}, err
	}
	stat, statErr := process.Stat()
	state, stateErr := process.NewStatus()
	return usage{stat.CPUTime(), float64(state.VmHWM) / (1 << 20)}, errors.Join(statErr, stateErr)
}
