package markdown

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/impact"
	"github.com/nodepools/nodepools/apply/preview/inventory"
	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/render"
)

// gpuPool is a pool of the nodes gpu-*, and what else it says.
func gpuPool(more string) string {
	return `apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata:
  name: gpu
spec:
  nodeNames: [gpu-*]
  labels:
    node-pool.example.com/gpu: a100
` + more
}

func definitions(t *testing.T, files map[string]string) []render.Definition {
	t.Helper()
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	loaded, err := render.Load(tree)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func difference(t *testing.T, files map[string]string, cluster plan.Cluster) *plan.Difference {
	t.Helper()
	d, err := plan.Diff(plan.Revision{Source: "pools", SourceUID: "uid-of-pools", Name: "main@sha1:0", Pools: definitions(t, files), Prune: plan.PrunePolicy{Enabled: true}}, cluster)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// gpuPods are pods of web/api on the first nodes, of which some tolerate the taint
// for a while, of batch/trainer, which tolerates it, and a PodDisruptionBudget.
func gpuPods(i *inventory.Inventory) {
	taint := corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "gpu", Effect: corev1.TaintEffectNoExecute}
	add := func(name string, n int, tolerations ...corev1.Toleration) {
		owner := inventory.Owner{Kind: "Deployment", Namespace: "web", Name: name}
		i.Workloads = append(i.Workloads, inventory.Workload{Owner: owner, Template: inventory.Scheduling{
			Tolerations: tolerations, NodeSelector: map[string]string{"node-pool.example.com/gpu": "a100"},
		}})
		for pod := range n {
			i.Pods = append(i.Pods, inventory.Pod{
				Namespace: "web", Name: fmt.Sprintf("%s-%d", name, pod), Node: fmt.Sprintf("gpu-%03d", pod+1), Owner: owner,
				Scheduling: i.Workloads[len(i.Workloads)-1].Template, Budgets: []string{name}, Ready: true,
			})
		}
		i.Budgets = append(i.Budgets, inventory.Budget{
			Namespace: "web", Name: name, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			Allowed: 1, Healthy: int32(n), Desired: int32(n - 1),
		})
	}
	seconds := int64(300)
	brief := taint
	brief.TolerationSeconds = &seconds
	add("api", 12)
	add("cache", 2, brief)
	add("trainer", 5, taint)
}

// A comment on a change of real files, planned as it would be carried out: a pool of
// 37 nodes gains a NoExecute taint and a second pool on three of them, and another
// pool goes.
func TestReal(t *testing.T) {
	var nodes []*plan.NodeState
	for i := range 37 {
		nodes = append(nodes, &plan.NodeState{Name: fmt.Sprintf("gpu-%03d", i+1)})
	}
	nodes = append(nodes, &plan.NodeState{Name: "old-1"})
	bare := plan.Cluster{Nodes: nodes}
	legacy := strings.NewReplacer("gpu-*", "old-*", "name: gpu", "name: legacy").Replace(gpuPool(""))
	before := difference(t, map[string]string{"gpu.yaml": gpuPool(""), "legacy.yaml": legacy}, bare).After(bare)

	head := map[string]string{
		"gpu.yaml": gpuPool("  taints:\n  - {key: dedicated, value: gpu, effect: NoExecute}\n"),
		"test.yaml": `apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata:
  name: test
spec:
  parent: gpu
  nodeNames: ["gpu-03[5-7]"]
  annotations:
    example.com/owner: "@web <https://example.com>"
`,
	}
	d := difference(t, head, before)
	known := &inventory.Inventory{Cluster: before}
	gpuPods(known)
	count, pods := len(before.Nodes), len(known.Pods)
	r, err := review.Of(review.Input{
		Compared: review.Compared{Base: "main@sha1:0", Head: "working tree", Source: "pools", Nodes: &count, Pods: &pods},
		Files:    definitions(t, head), Before: before, Difference: d, Impact: impact.Of(known, d.After(before), nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	comment := written(t, r, Options{})
	for _, way := range violations(comment) {
		t.Error(way)
	}
	golden(t, "real", comment)
}
