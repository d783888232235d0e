package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/testdata/cluster"
	"github.com/nodepools/nodepools/testdata/policies"
)

// walled is a cluster as an administrator sets it up who follows the documentation: with
// the policy, and the program with the rights that are shipped. The control plane has the
// Node authorizer and NodeRestriction.
type walled struct {
	*story
	policy *policies.Test
}

// newWalled makes the nodes, and starts the program.
func newWalled(t *testing.T, c *cluster.Cluster, nodes ...*corev1.Node) *walled {
	t.Helper()
	w, config := newUnattended(t, c, nodes...)
	w.startRun(config)
	return w
}

// newUnattended makes the nodes, and returns the configuration of the program.
func newUnattended(t *testing.T, c *cluster.Cluster, nodes ...*corev1.Node) (*walled, *rest.Config) {
	t.Helper()
	quietLibraries()
	if err := reset(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	w := &walled{story: newStory(t, c), policy: policies.New(t, c)}
	for _, node := range nodes {
		w.do(w.Create(t.Context(), node))
	}
	config, err := c.AddUser(w.policy.UserWith(t, manifests.ClusterRules()))
	w.do(err)
	w.policy.Install()
	return w, config
}

func (w *walled) startRun(config *rest.Config) {
	w.t.Helper()
	kubeconfig, err := w.c.WriteKubeconfig(config)
	w.do(err)
	startRun(w.t, kubeconfig)
}

func nodeNamed(name string, labels map[string]string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

// apply applies a manifest as the administrator.
func (w *walled) apply(manifest string) {
	w.t.Helper()
	if out, err := w.c.Apply(w.t.Context(), manifest); err != nil {
		w.t.Fatalf("%v\n%s", err, out)
	}
}

// follow makes a source of the folder pools of the repository, as it is committed.
func (w *walled) follow(name string) {
	w.t.Helper()
	w.do(w.Create(w.t.Context(), &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.NodePoolSourceSpec{
		URL: "file://" + w.repository, Path: "pools", Interval: metav1.Duration{Duration: time.Second},
	}}))
}

// writes writes files of the folder pools, and commits nothing.
func (w *walled) writes(files map[string]string) string {
	w.t.Helper()
	folder := filepath.Join(w.repository, "pools")
	w.do(os.MkdirAll(folder, 0o755))
	for name, text := range files {
		w.do(os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	return folder
}

func (w *walled) commits(message string) {
	w.t.Helper()
	w.git("add", "--all")
	w.git("commit", "--quiet", "--message", message)
}

// diffs is what the administrator is shown, and reports whether anything would change.
func (w *walled) diffs(args ...string) (*review.Review, bool) {
	w.t.Helper()
	stdout, stderr, code := diffed(w.t, append(args, "--kubeconfig", w.c.Kubeconfig(), "-o", "json")...)
	if code > 1 {
		w.t.Fatalf("diff %v: exit code %d: %s", args, code, stderr)
	}
	r := &review.Review{}
	w.do(json.Unmarshal([]byte(stdout), r))
	return r, code == 1
}

// has waits until a node has exactly these of some labels and taints: a label as key=value,
// a taint as key=value:effect.
func (w *walled) has(what, name string, watched []string, want ...string) {
	w.t.Helper()
	w.until(fmt.Sprintf("node %s: %s", name, what), func() error {
		node := w.live(name)
		var have []string
		for _, key := range slices.Sorted(maps.Keys(node.Labels)) {
			if slices.Contains(watched, key) {
				have = append(have, key+"="+node.Labels[key])
			}
		}
		for _, taint := range node.Spec.Taints {
			if slices.Contains(watched, taint.Key) {
				have = append(have, fmt.Sprintf("%s=%s:%s", taint.Key, taint.Value, taint.Effect))
			}
		}
		if !slices.Equal(have, want) {
			return fmt.Errorf("it has %q, want %q", have, want)
		}
		return nil
	})
}

func (w *walled) live(name string) *corev1.Node {
	w.t.Helper()
	node := &corev1.Node{}
	w.do(w.Get(w.t.Context(), client.ObjectKey{Name: name}, node))
	return node
}

// says waits until the condition Ready of an object has a reason, and its message these texts.
func (w *walled) says(object client.Object, name, reason string, texts ...string) (message string) {
	w.t.Helper()
	w.until(fmt.Sprintf("%s reports %s", name, reason), func() error {
		if err := w.Get(w.t.Context(), client.ObjectKey{Name: name}, object); err != nil {
			return err
		}
		var conditions []metav1.Condition
		switch object := object.(type) {
		case *v1.NodePool:
			conditions = object.Status.Conditions
		case *v1.NodePoolSource:
			conditions = object.Status.Conditions
		}
		ready := meta.FindStatusCondition(conditions, v1.ReadyCondition)
		if ready == nil || ready.Reason != reason || ready.ObservedGeneration != object.GetGeneration() {
			return fmt.Errorf("it says %+v", ready)
		}
		for _, text := range texts {
			if !strings.Contains(ready.Message, text) {
				return fmt.Errorf("it says %q, without %q", ready.Message, text)
			}
		}
		message = ready.Message
		return nil
	})
	return message
}
