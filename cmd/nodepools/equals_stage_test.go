package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// stage is where one world of a proof is set up and changed. In what it is given
// $ stands for the name of the world and a dot.
type stage struct {
	*proof
	world string
}

func (s *stage) named(text string) string { return strings.ReplaceAll(text, "$", s.world+".") }

// gitPool is a pool in a file of its own: what its spec says, and perhaps its
// annotations and labels, each in the braces of YAML.
type gitPool struct {
	spec, annotations, labels string
	// folder is where the file is, with a slash at its end; empty for the topmost.
	folder string
}

// gitPools are pools by name, without the world.
type gitPools map[string]gitPool

func (s *stage) file(name string, pool gitPool) string {
	text := fmt.Sprintf("apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nmetadata:\n  name: $%s\n", name)
	if pool.annotations != "" {
		text += "  annotations: {" + pool.annotations + "}\n"
	}
	if pool.labels != "" {
		text += "  labels: {" + pool.labels + "}\n"
	}
	return s.named(text + "spec: {" + pool.spec + "}\n")
}

// repository makes a Git repository for pools.
func (p *proof) repository() string {
	p.t.Helper()
	dir := p.t.TempDir()
	runGit(p.t, dir, "init", "--quiet", "--initial-branch=main")
	return dir
}

func runGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir,
		"-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// headOf is the revision that a source finds in a repository.
func headOf(t *testing.T, dir string) string {
	t.Helper()
	return "main@sha1:" + runGit(t, dir, "rev-parse", "main")
}

// commit makes the folder pools of a repository hold these files and no others.
func commit(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	folder := filepath.Join(dir, "pools")
	files = maps.Clone(files)
	if files == nil {
		files = map[string]string{}
	}
	files["README.md"] = "Pools.\n" // so that the folder is there without a pool
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		full := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(files[name]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	runGit(t, dir, "add", "--all")
	runGit(t, dir, "commit", "--quiet", "--allow-empty", "--message", "change")
}

// source makes a NodePoolSource of a repository.
func (p *proof) source(name, dir string, adjust func(*v1.NodePoolSource)) {
	p.t.Helper()
	src := &v1.NodePoolSource{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1.NodePoolSourceSpec{URL: "file://" + dir, Path: "pools", Interval: metav1.Duration{Duration: v1.DefaultInterval}},
	}
	if adjust != nil {
		adjust(src)
	}
	p.do(p.Create(p.t.Context(), src))
}

// node makes a node; labels and annotations are written key=value, taints
// key=value:effect. A world's own label, so that selectors stay within it, is
// there always.
func (s *stage) node(n testNode) {
	s.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: s.named("$" + n.name), Labels: pairs(s.named(n.labels)), Annotations: pairs(s.named(n.annotations)),
	}}
	node.Labels[worldLabel] = s.world
	for _, text := range strings.Fields(n.taints) {
		keyValue, effect, _ := cutLast(text, ":")
		key, value, _ := strings.Cut(keyValue, "=")
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
	}
	s.do(s.Create(s.t.Context(), node, client.FieldOwner("kubelet")))
}

type testNode struct{ name, labels, annotations, taints string }

const worldLabel = "example.com/world"

func pairs(text string) map[string]string {
	values := map[string]string{}
	for _, pair := range strings.Fields(text) {
		key, value, _ := strings.Cut(pair, "=")
		values[key] = value
	}
	return values
}

// object reads a manifest, or as much of one as names an object.
func (s *stage) object(manifest string) *unstructured.Unstructured {
	s.t.Helper()
	object := &unstructured.Unstructured{}
	s.do(yaml.Unmarshal([]byte(s.named(manifest)), &object.Object))
	return object
}

// The beginnings of manifests.
const (
	aNode  = "apiVersion: v1\nkind: Node\n"
	aPool  = "apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\n"
	aClass = "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\n"
)

// create makes an object as somebody does it by hand.
func (s *stage) create(manifest string) {
	s.t.Helper()
	s.do(s.Create(s.t.Context(), s.object(manifest), client.FieldOwner("kubectl-create")))
}

// edit changes an object by a merge patch, the way of kubectl label, edit and
// taint.
func (s *stage) edit(kind, name, patch string) {
	s.t.Helper()
	object := s.object(kind + "metadata: {name: " + name + "}")
	s.do(s.Patch(s.t.Context(), object, client.RawPatch(types.MergePatchType, []byte(s.named(patch))), client.FieldOwner("kubectl-edit")))
}

// apply is another tool that applies what it has to say of an object.
func (s *stage) apply(manifest, manager string) {
	s.t.Helper()
	s.do(s.Apply(s.t.Context(), client.ApplyConfigurationFromUnstructured(s.object(manifest)), client.FieldOwner(manager), client.ForceOwnership))
}

func (s *stage) remove(kind, name string) {
	s.t.Helper()
	s.do(s.Delete(s.t.Context(), s.object(kind+"metadata: {name: "+name+"}")))
}

func (s *stage) get(name string) *corev1.Node {
	s.t.Helper()
	node := &corev1.Node{}
	s.do(s.Get(s.t.Context(), client.ObjectKey{Name: s.named(name)}, node))
	return node
}
