// Command controlplane brings the programs of a real Kubernetes control plane
// (kube-apiserver, kube-controller-manager, kube-scheduler, kubectl, etcd) and
// kwok, once, and prints the folder which holds them:
//
//	go run -C testdata/controlplane .
//
// On Linux the programs of Kubernetes are downloaded. What cannot be downloaded
// is built from Go modules; with -build, that is all. The versions are those of
// go.mod. NODEPOOLS_KUBERNETES=v1.33.13, or -kubernetes, selects another version
// of the programs that serve.
//
// The folder is in the user's cache and named after the versions in it. A
// program in the folder is complete. When all programs are there, the command
// sends no request.
//
// The command is a module of its own so that the product's module stays small.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// kwok is not in go.mod: its modules and those of Kubernetes do not fit into one
// module graph.
const kwok = "v0.8.0"

func main() {
	kubernetes := flag.String("kubernetes", os.Getenv("NODEPOOLS_KUBERNETES"), "the `version` of Kubernetes; empty for that of go.mod")
	build := flag.Bool("build", false, "build all, and download nothing")
	flag.Parse()
	dir, err := provide(*kubernetes, *build)
	if err != nil {
		fmt.Fprintf(os.Stderr, "controlplane: %v\n", err)
		os.Exit(1)
	}
	fmt.Println(dir)
}

// program is one program of the control plane.
type program struct {
	name string
	// pkg is its main package, with a version where go.mod does not require it.
	pkg string
	// kubernetes is the version for programs of Kubernetes.
	kubernetes string
	// module is the folder of the module that the program is built in.
	module string
}

// provide returns the folder with all programs, after the missing ones were
// downloaded or built.
func provide(kubernetes string, build bool) (string, error) {
	newest, err := required("k8s.io/kubernetes")
	if err != nil {
		return "", err
	}
	etcd, err := required("go.etcd.io/etcd/server/v3")
	if err != nil {
		return "", err
	}
	if kubernetes == "" {
		kubernetes = newest
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder to keep the control plane in: %w\nset HOME or XDG_CACHE_HOME", err)
	}
	dir := filepath.Join(cache, "nodepools", "controlplane",
		fmt.Sprintf("kubernetes-%s_etcd-%s_kwok-%s_%s-%s", kubernetes, etcd, kwok, runtime.GOOS, runtime.GOARCH))
	programs := []program{
		{name: "kubectl", pkg: "k8s.io/kubernetes/cmd/kubectl", kubernetes: newest},
		{name: "etcd", pkg: "go.etcd.io/etcd/server/v3"},
		{name: "kwok", pkg: "sigs.k8s.io/kwok/cmd/kwok@" + kwok},
	}
	for _, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		programs = append(programs, program{name: name, pkg: "k8s.io/kubernetes/cmd/" + name, kubernetes: kubernetes})
	}
	if todo, err := missing(dir, programs); err != nil || len(todo) == 0 {
		return dir, err
	}
	return dir, bring(dir, programs, newest, build)
}

// bring puts the missing programs into dir. One process does it at a time.
func bring(dir string, programs []program, newest string, build bool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	// The system releases the lock when the process ends.
	lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	todo, err := missing(dir, programs)
	if err != nil {
		return err
	}
	// What a killed process left goes too.
	scratch := filepath.Join(dir, ".building")
	if err := errors.Join(os.RemoveAll(scratch), os.Mkdir(scratch, 0o755)); err != nil {
		return err
	}
	if !build && runtime.GOOS == "linux" {
		if err := download(dir, scratch, todo); err != nil {
			say("%v", err)
		}
		if todo, err = missing(dir, todo); err != nil {
			return err
		}
	}
	return errors.Join(buildAll(dir, scratch, todo, newest), os.RemoveAll(scratch))
}

// missing returns the programs that dir lacks.
func missing(dir string, programs []program) ([]program, error) {
	var todo []program
	for _, p := range programs {
		_, err := os.Stat(filepath.Join(dir, p.name))
		if errors.Is(err, fs.ErrNotExist) {
			todo = append(todo, p)
		} else if err != nil {
			return nil, err
		}
	}
	return todo, nil
}

// required returns the version of a module that go.mod requires.
func required(module string) (string, error) {
	text, err := os.ReadFile("go.mod")
	if err != nil {
		return "", fmt.Errorf("%w\nuse go run -C testdata/controlplane . at the root of the repository", err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == module && strings.HasPrefix(f[1], "v") {
			return f[1], nil
		}
	}
	return "", fmt.Errorf("go.mod does not require %s", module)
}

// say prints progress. Standard output is kept for the folder's name.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "controlplane: "+format+"\n", args...)
}
