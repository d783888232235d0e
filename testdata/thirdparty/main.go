// Command thirdparty builds a program of others from Go modules, once, and prints its path:
//
//	go run ./testdata/thirdparty helm
//
// It is run in the root of the repository. The program is in the user's cache, in a folder
// named after the version that its go.mod requires. When it is there, nothing is asked of
// any server. With -installed nothing is built: where it is not there, nothing is printed.
//
// Each program has a module of its own, so that the product's stays small.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// program is one that can be built.
type program struct {
	name string
	// folder of the module that requires it, below testdata.
	folder string
	// module and pack are what is required, and the package in it that is built.
	module, pack string
	// version is the variable that gets the version; empty for none.
	version string
	// tags are those that it is built with; cgo has parts of it compiled by a C compiler.
	tags string
	cgo  bool
	// beside are folders of the module that it reads when it runs, and that are put beside it.
	beside []string
	// takes is how long the first build takes, for who waits.
	takes string
}

// Of all that Prometheus finds targets with, it gets what asks the API server of Kubernetes:
// the rest are the clients of two dozen clouds. It has no pages, as these are not part of the
// Go module.
const (
	prometheusTags    = "remove_all_sd,enable_kubernetes_sd"
	prometheusVersion = "github.com/prometheus/common/version.Version"
)

var programs = map[string]program{
	"gitea": {
		name: "gitea", folder: "gitea", module: "code.gitea.io/gitea", version: "main.Version",
		tags: "sqlite,sqlite_unlock_notify", cgo: true, beside: []string{"templates", "options", "public"},
		takes: "about 10 minutes on 2 cores, and a C compiler",
	},
	"helm": {
		name: "helm", folder: "helm", module: "helm.sh/helm/v4", pack: "/cmd/helm",
		version: "helm.sh/helm/v4/internal/version.version", takes: "about 3 minutes on 2 cores",
	},
	"kube-state-metrics": {
		name: "kube-state-metrics", folder: "kubestatemetrics", module: "k8s.io/kube-state-metrics/v2", takes: "about 5 minutes on 2 cores",
	},
	"prometheus": {
		name: "prometheus", folder: "prometheusserver", module: "github.com/prometheus/prometheus", pack: "/cmd/prometheus",
		version: prometheusVersion, tags: prometheusTags, takes: "about 3 minutes on 2 cores",
	},
	"promtool": {
		name: "promtool", folder: "prometheusserver", module: "github.com/prometheus/prometheus", pack: "/cmd/promtool",
		version: prometheusVersion, tags: prometheusTags, takes: "about 3 minutes on 2 cores, or seconds after prometheus",
	},
}

func main() {
	installed := flag.Bool("installed", false, "build nothing, and print nothing where it is not there")
	flag.Parse()
	wanted, known := programs[flag.Arg(0)]
	if !known || flag.NArg() != 1 {
		fmt.Fprintf(os.Stderr, "thirdparty: name one of %s\n", strings.Join(slices.Sorted(maps.Keys(programs)), ", "))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	path, err := wanted.provide(ctx, *installed)
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		fmt.Fprintf(os.Stderr, "%s: %v\n", wanted.name, err)
		os.Exit(1)
	}
	if path != "" {
		fmt.Println(path)
	}
}

// provide returns the path of the program, after it is built where it is missing; with
// installed it is empty there.
func (p program) provide(ctx context.Context, installed bool) (string, error) {
	version, err := p.required()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder to keep it in: %w\nset HOME or XDG_CACHE_HOME", err)
	}
	dir := filepath.Join(cache, "nodepools", p.name, fmt.Sprintf("%s_%s-%s", version, runtime.GOOS, runtime.GOARCH))
	path := filepath.Join(dir, p.name)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	if installed {
		return "", nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	// It appears whole, by renaming, so whoever sees it may run it.
	scratch, err := os.MkdirTemp(dir, ".building-")
	if err != nil {
		return "", err
	}
	built := filepath.Join(scratch, p.name)
	err = p.build(ctx, version, built)
	if err == nil {
		err = p.putBeside(ctx, scratch, dir)
	}
	if err == nil {
		err = os.Rename(built, path)
	}
	return path, errors.Join(err, os.RemoveAll(scratch))
}

func (p program) build(ctx context.Context, version, output string) error {
	fmt.Fprintf(os.Stderr, "%s: building %s, which takes %s\n", p.name, version, p.takes)
	flags := "-s -w"
	if p.version != "" {
		flags += " -X " + p.version + "=" + version
	}
	return p.run(ctx, []string{"GOTMPDIR=" + filepath.Dir(output)}, nil,
		"build", "-o", output, "-ldflags", flags, "-tags", p.tags, p.module+p.pack)
}

// putBeside copies what the program reads when it runs: the cache of Go modules may be
// emptied. Each folder appears whole, as the program does; one that is there is the same.
func (p program) putBeside(ctx context.Context, scratch, dir string) error {
	if len(p.beside) == 0 {
		return nil
	}
	var module bytes.Buffer
	if err := p.run(ctx, nil, &module, "list", "-m", "-f", "{{.Dir}}", p.module); err != nil {
		return err
	}
	for _, folder := range p.beside {
		copied := filepath.Join(scratch, folder)
		if err := os.CopyFS(copied, os.DirFS(filepath.Join(strings.TrimSpace(module.String()), folder))); err != nil {
			return err
		}
		if err := os.Rename(copied, filepath.Join(dir, folder)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// run runs the go tool in the module of the program. Its output is that of the error where
// nobody else wants it.
func (p program) run(ctx context.Context, env []string, output io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = p.dir()
	cgo := "CGO_ENABLED=0"
	if p.cgo {
		cgo = "CGO_ENABLED=1"
	}
	cmd.Env = append(os.Environ(), cgo,
		"GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH,
		// The user's flags and workspace are about other modules. An empty GOFLAGS
		// would let those of `go env -w` in, so one is given here.
		"GOFLAGS=-trimpath", "GOWORK=off",
	)
	cmd.Env = append(cmd.Env, env...)
	// One signal ends the compilers and linkers that the go tool runs.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if output != nil {
		cmd.Stdout = output
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s of %s: %w\n%s", args[0], p.module+p.pack, err, bytes.TrimSpace(log.Bytes()))
	}
	return nil
}

func (p program) dir() string { return filepath.Join("testdata", p.folder) }

// required returns the version that go.mod requires.
func (p program) required() (string, error) {
	path := filepath.Join(p.dir(), "go.mod")
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%w\nrun it in the root of the repository", err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(strings.TrimPrefix(line, "require "))
		if len(fields) >= 2 && fields[0] == p.module {
			return fields[1], nil
		}
	}
	return "", fmt.Errorf("%s does not require %s", path, p.module)
}
