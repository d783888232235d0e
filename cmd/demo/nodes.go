package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// facts are what pools may change about a node.
type facts struct {
	labels, annotations map[string]string
	taints              []string
}

func factsOf(node *corev1.Node) facts {
	f := facts{labels: node.Labels, annotations: node.Annotations}
	for _, taint := range node.Spec.Taints {
		f.taints = append(f.taints, taint.ToString())
	}
	slices.Sort(f.taints)
	return f
}

func (f facts) equal(other facts) bool {
	return maps.Equal(f.labels, other.labels) && maps.Equal(f.annotations, other.annotations) && slices.Equal(f.taints, other.taints)
}

// with is the same with one more label.
func (f facts) with(key, value string) facts {
	f.labels = maps.Clone(f.labels)
	f.labels[key] = value
	return f
}

// manifest is a node as a kubelet registers it, with labels of its own.
func manifest(name string, labels ...string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Node\nmetadata:\n  name: %s\n  labels: {%s}\n", name,
		strings.Join(append([]string{
			"kubernetes.io/hostname: " + name, "kubernetes.io/os: linux", "kubernetes.io/arch: amd64",
		}, labels...), ", "))
}

// setNodes creates twenty nodes and waits until they are Ready and nobody has
// anything more to say about them.
func (s *stage) setNodes(ctx context.Context) error {
	var nodes []string
	for i := range 3 {
		nodes = append(nodes, manifest(fmt.Sprintf("cp-%d", i+1), `node-role.kubernetes.io/master: ""`))
	}
	for i := range 3 {
		nodes = append(nodes, manifest(fmt.Sprintf("edge-%d", i+1)))
	}
	for i, accelerator := range []string{"a100", "a100", "h100", "h100"} {
		nodes = append(nodes, manifest(fmt.Sprintf("gpu-%d", i+1), "example.com/accelerator: "+accelerator))
	}
	for i := range 10 {
		nodes = append(nodes, manifest(fmt.Sprintf("worker-%02d", i+1)))
	}
	start := time.Now()
	if err := s.write("../nodes.yaml", strings.Join(nodes, "---\n")); err != nil {
		return err
	}
	if err := s.sh.quietly(ctx, "kubectl create --field-manager=kubelet -f ../nodes.yaml"); err != nil {
		return err
	}
	_, err := until(ctx, start, fmt.Sprintf("%d Ready nodes", len(nodes)), func(ctx context.Context) error {
		list, err := s.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		s.bare = map[string]facts{}
		for _, node := range list.Items {
			if !ready(&node) || len(node.Spec.Taints) > 0 {
				return fmt.Errorf("node %s is not Ready", node.Name)
			}
			// Controllers of Kubernetes put these on every node, some time after it joins.
			if node.Labels["beta.kubernetes.io/os"] == "" || node.Labels["beta.kubernetes.io/arch"] == "" || node.Annotations["node.alpha.kubernetes.io/ttl"] == "" {
				return fmt.Errorf("node %s is not yet labelled by Kubernetes", node.Name)
			}
			s.bare[node.Name] = factsOf(&node)
		}
		return nil
	})
	return err
}

func ready(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// nodes reads nodes by name and has each one checked.
func (s *stage) nodes(ctx context.Context, names []string, check func(*corev1.Node) error) error {
	for _, name := range names {
		node, err := s.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := check(node); err != nil {
			return fmt.Errorf("node %s: %w", name, err)
		}
	}
	return nil
}

// labelled returns a check that a node has a label at a value.
func labelled(key, value string) func(*corev1.Node) error {
	return func(node *corev1.Node) error {
		if has, found := node.Labels[key]; !found || has != value {
			return fmt.Errorf("label %s is %q and not %q", key, has, value)
		}
		return nil
	}
}

// tainted returns a check that a node has a taint, written key=value:effect.
func tainted(taint string) func(*corev1.Node) error {
	return func(node *corev1.Node) error {
		if has := factsOf(node).taints; !slices.Contains(has, taint) {
			return fmt.Errorf("taints are %v, without %s", has, taint)
		}
		return nil
	}
}

func not(check func(*corev1.Node) error) func(*corev1.Node) error {
	return func(node *corev1.Node) error {
		if check(node) == nil {
			return errors.New("it is still as before")
		}
		return nil
	}
}
