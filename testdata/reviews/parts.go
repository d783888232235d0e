package reviews

import (
	"fmt"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/impact"
	"github.com/nodepools/nodepools/apply/preview/review"
)

// blank returns an empty review, in which every list is present.
func blank() *review.Review {
	return &review.Review{
		APIVersion: review.APIVersion, Kind: review.Kind,
		Pools: []review.Object{}, RuntimeClasses: []review.Object{}, Nodes: []review.Nodes{},
		Records: []review.Records{}, Members: []review.Members{},
		HeldReleases: []review.HeldRelease{}, Kept: []string{}, Conflicts: []review.Conflict{}, Contests: []review.Contest{}, Problems: []string{}, Notes: []string{},
		Rollouts: []review.Rollout{}, WeakenedRollouts: []plan.Weakening{}, BypassedRollouts: []plan.Bypass{}, EmptyWaves: []plan.EmptyWave{}, Renames: []plan.Rename{},
	}
}

func noImpact() *impact.Impact {
	return &impact.Impact{
		Evictions: []impact.Eviction{}, Budgets: []impact.Budget{}, Unschedulable: []impact.Unschedulable{}, Stranded: []impact.Stranded{},
		DaemonPods: []impact.DaemonPods{}, RuntimeClasses: []impact.RuntimeClassUse{}, Overlaps: []impact.Overlap{},
	}
}

func ptr[T any](value T) *T { return &value }

// numbered returns names with the numbers from first to last.
func numbered(format string, first, last int) []string {
	var names []string
	for i := first; i <= last; i++ {
		names = append(names, fmt.Sprintf(format, i))
	}
	return names
}

func deployment(namespace, name string) impact.Workload {
	return impact.Workload{Kind: "Deployment", Namespace: namespace, Name: name}
}

// podsOf returns a pod on each node, named as a ReplicaSet or a DaemonSet names them.
func podsOf(prefix string, nodes []string) []impact.Pod {
	pods := make([]impact.Pod, 0, len(nodes))
	for i, node := range nodes {
		pods = append(pods, impact.Pod{Name: fmt.Sprintf("%s%s", prefix, []string{"2kxvq", "5b8wz", "6fjtn", "7r4dm", "9plcs", "hg6xk", "zq8nt"}[i%7]), Node: node})
	}
	return pods
}

// pool is the manifest of a NodePool.
func pool(name string, spec map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": "nodes.lailin.xyz/v1", "kind": "NodePool",
		"metadata": map[string]any{"name": name}, "spec": spec,
	}
}

// runtimeClass is the manifest of the RuntimeClass of a pool; its scheduling may be
// left out.
func runtimeClass(pool, handler string, scheduling map[string]any) map[string]any {
	class := map[string]any{
		"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass",
		"metadata": map[string]any{"name": "node-pool-" + pool}, "handler": handler,
	}
	if scheduling != nil {
		class["scheduling"] = scheduling
	}
	return class
}

// spec is made of names, each with its value.
func spec(fields ...any) map[string]any {
	spec := map[string]any{}
	for i := 0; i < len(fields); i += 2 {
		spec[fields[i].(string)] = fields[i+1]
	}
	return spec
}

func taints(key, value, effect string) []any {
	return []any{map[string]any{"key": key, "value": value, "effect": effect}}
}

func tolerations(key, value, effect string) []any {
	return []any{map[string]any{"key": key, "operator": "Equal", "value": value, "effect": effect}}
}
