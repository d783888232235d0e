package main

import (
	_ "embed"
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// goMod is where the versions are written down; the cache follows it.
//
//go:embed go.mod
var goMod string

// kwokVersion is not in go.mod: the modules that kwok wants and those that
// Kubernetes wants do not fit into one module graph.
const kwokVersion = "v0.8.0"

// component is one program of the control plane.
type component struct {
	name string // file name of the program
	pkg  string // Go package of its main function, with @version when it is not in go.mod

	// bundled says that the ready-made bundles of envtest have it, which are
	// also what KUBEBUILDER_ASSETS usually points to.
	bundled bool

	// released says that Kubernetes publishes it by itself.
	released bool

	// release is the version of Kubernetes whose go.mod it is built with; empty for
	// our own.
	release string

	// github is the repository whose releases have it.
	github string

	// version is what the program reports when it is run with versionArgs.
	version     string
	versionArgs []string

	ldflags string
}

// plan returns what to build of the version of go.mod and the name of the folder to keep
// it in, which differs whenever another version or platform is asked for.
func plan() ([]component, string, error) {
	kubernetes, err := required("k8s.io/kubernetes")
	if err != nil {
		return nil, "", err
	}
	etcd, err := required("go.etcd.io/etcd/server/v3")
	if err != nil {
		return nil, "", err
	}
	components := append(programsOf(kubernetes),
		component{name: "etcd", pkg: "go.etcd.io/etcd/server/v3", ldflags: strip, bundled: true, version: etcd, versionArgs: []string{"--version"}},
		component{name: "kwok", pkg: "sigs.k8s.io/kwok/cmd/kwok@" + kwokVersion, ldflags: strip, github: "kubernetes-sigs/kwok", version: kwokVersion, versionArgs: []string{"--version"}},
	)
	key := fmt.Sprintf("kubernetes-%s_etcd-%s_kwok-%s_%s-%s", kubernetes, etcd, kwokVersion, runtime.GOOS, runtime.GOARCH)
	return components, key, nil
}

// planEarlier is [plan] for one of the earlier versions: the programs of Kubernetes that
// serve. It shares kubectl, etcd and kwok with the version of go.mod; the folder is not
// named after those, as it has links to them.
func planEarlier(kubernetes string) ([]component, string) {
	components := slices.DeleteFunc(programsOf(kubernetes), func(c component) bool { return c.name == "kubectl" })
	for i := range components {
		components[i].release = kubernetes
	}
	return components, fmt.Sprintf("kubernetes-%s_%s-%s", kubernetes, runtime.GOOS, runtime.GOARCH)
}

const strip = "-s -w"

// programsOf returns the programs of a version of Kubernetes.
func programsOf(kubernetes string) []component {
	program := func(name string, bundled bool, versionArgs ...string) component {
		return component{
			name: name, pkg: "k8s.io/kubernetes/cmd/" + name, ldflags: strip + stamp(kubernetes),
			bundled: bundled, released: true, version: kubernetes, versionArgs: versionArgs,
		}
	}
	return []component{
		program("kube-apiserver", true, "--version"),
		program("kube-controller-manager", false, "--version"),
		program("kube-scheduler", false, "--version"),
		program("kubectl", true, "version", "--client"),
	}
}

// required returns the version of a module that go.mod requires.
func required(module string) (string, error) {
	for line := range strings.Lines(goMod) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == module && strings.HasPrefix(f[1], "v") {
			return f[1], nil
		}
	}
	return "", fmt.Errorf("go.mod does not require %s", module)
}

// stamp returns the linker flags which make a Kubernetes program report its
// version; without them it says v0.0.0, which clients and the version skew
// checks believe.
func stamp(version string) string {
	const pkg = "k8s.io/component-base/version"
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	flags := fmt.Sprintf(" -X %s.gitVersion=%s -X %s.gitTreeState=clean", pkg, version, pkg)
	if len(parts) == 3 {
		flags += fmt.Sprintf(" -X %s.gitMajor=%s -X %s.gitMinor=%s", pkg, parts[0], pkg, parts[1])
	}
	return flags
}
