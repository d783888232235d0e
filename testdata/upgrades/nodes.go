package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1 "github.com/nodepools/nodepools/api/v1"
)

//go:embed nodes.yaml
var nodesYAML []byte

// adopted are the keys that stay with a pool for good, by node: see the pool adopter.
var adopted = map[string]string{"adopter-1": "tier"}

// bare is what pools may change of a node, in one form for what is equal.
type bare struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Taints      []string          `json:"taints,omitempty"` // sorted, as their order means nothing
}

func bareOf(node *corev1.Node) bare {
	b := bare{Labels: node.Labels, Annotations: node.Annotations}
	for _, taint := range node.Spec.Taints {
		b.Taints = append(b.Taints, taint.ToString())
	}
	slices.Sort(b.Taints)
	return b
}

// without is what is left when what a pool has adopted goes with it.
func (b bare) without(key string) bare {
	if key == "" {
		return b
	}
	b.Labels, b.Annotations = maps.Clone(b.Labels), maps.Clone(b.Annotations)
	delete(b.Labels, key)
	delete(b.Annotations, key)
	b.Taints = slices.DeleteFunc(slices.Clone(b.Taints), func(taint string) bool {
		return strings.HasPrefix(taint, key+"=") || strings.HasPrefix(taint, key+":")
	})
	return b
}

// foreign is what no pool says anything about.
func (b bare) foreign() bare {
	const prefix = "theirs.example.com/"
	not := func(key string) bool { return !strings.HasPrefix(key, prefix) }
	b.Labels, b.Annotations = maps.Clone(b.Labels), maps.Clone(b.Annotations)
	maps.DeleteFunc(b.Labels, func(key, _ string) bool { return not(key) })
	maps.DeleteFunc(b.Annotations, func(key, _ string) bool { return not(key) })
	b.Taints = slices.DeleteFunc(slices.Clone(b.Taints), not)
	return b
}

// String is JSON, in which equal ones are equal texts.
func (b bare) String() string {
	text, err := json.Marshal(b)
	if err != nil {
		panic(err) // maps and lists of strings always marshal
	}
	return string(text)
}

// createNodes creates the nodes of a run, each of them ready, and without the taint that the
// API server gives every new node.
func (w *world) createNodes(ctx context.Context) error {
	var nodes []corev1.Node
	if err := yaml.UnmarshalStrict(nodesYAML, &nodes); err != nil {
		return fmt.Errorf("nodes.yaml: %w", err)
	}
	for _, node := range nodes {
		taints := node.Spec.Taints
		if err := w.Create(ctx, &node); err != nil {
			return err
		}
		node.Spec.Taints = taints
		if err := w.Update(ctx, &node); err != nil {
			return err
		}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}}
		if err := w.Status().Update(ctx, &node); err != nil {
			return err
		}
	}
	return nil
}

// nodes returns all nodes, whole, by name.
func (w *world) nodes(ctx context.Context) (map[string]*corev1.Node, error) {
	var list corev1.NodeList
	if err := w.List(ctx, &list); err != nil {
		return nil, err
	}
	nodes := map[string]*corev1.Node{}
	for i := range list.Items {
		nodes[list.Items[i].Name] = &list.Items[i]
	}
	return nodes, nil
}

// changed returns an error that names the nodes which were written, by whomever, but for some.
func changed(before, now map[string]*corev1.Node, but ...string) error {
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if slices.Contains(but, name) {
			continue
		}
		if now[name] == nil || now[name].ResourceVersion != before[name].ResourceVersion {
			return fmt.Errorf("node %s was written: it was\n%s\nand is\n%s", name, bareOf(before[name]), bareOf(orEmpty(now[name])))
		}
	}
	return nil
}

func orEmpty(node *corev1.Node) *corev1.Node {
	if node == nil {
		return &corev1.Node{}
	}
	return node
}

// nodeWrites returns how often the program has written each node since a mark. What the API
// server has refused as out of date is repeated, and has changed nothing.
func (w *world) nodeWrites(mark int64) (map[string]int, error) {
	requests, err := w.writes(mark)
	if err != nil {
		return nil, err
	}
	written := map[string]int{}
	for _, r := range requests {
		if r.Object.Resource == "nodes" && r.Code != http.StatusConflict {
			written[r.Object.Name]++
		}
	}
	return written, nil
}

// writtenOnce returns an error unless the program has written just these nodes since a mark,
// each of them once.
func (w *world) writtenOnce(mark int64, names ...string) error {
	written, err := w.nodeWrites(mark)
	if err != nil {
		return err
	}
	want := map[string]int{}
	for _, name := range names {
		want[name] = 1
	}
	if !maps.Equal(written, want) {
		return fmt.Errorf("nodes were written so often: %v, want %v", written, want)
	}
	return nil
}

// recordVersion is the version of the record of a node; 0 where it has none.
func recordVersion(node metav1.Object) (int, error) {
	text := node.GetAnnotations()[v1.AppliedAnnotation]
	if text == "" {
		return 0, nil
	}
	var record struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal([]byte(text), &record); err != nil {
		return 0, fmt.Errorf("record of node %s: %w", node.GetName(), err)
	}
	return record.Version, nil
}

// recordVersions are those of the nodes that have a record.
func recordVersions(nodes map[string]*corev1.Node) (map[string]int, error) {
	versions := map[string]int{}
	for name, node := range nodes {
		version, err := recordVersion(node)
		if err != nil {
			return nil, err
		}
		if version > 0 {
			versions[name] = version
		}
	}
	return versions, nil
}
