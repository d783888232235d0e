// Package reviews has sample reviews, for the golden files of writers. They are
// written by hand, so that they do not change when the way changes in which
// reviews are made. Start with [All].
//
// Each function makes its review anew, so that a test may change what it gets.
package reviews

import (
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/impact"
	"github.com/nodepools/nodepools/apply/preview/review"
)

// Sample is a review with a name that is suitable for a file.
type Sample struct {
	Name string
	// Of describes the review.
	Of   string
	Make func() *review.Review
}

// All returns the samples, in a fixed order.
func All() []Sample {
	return []Sample{
		{"evictions", "a NoExecute taint for a pool with pods that do not tolerate it", Evictions},
		{"empty", "no difference", Empty},
		{"unknown", "Git against Git, without an inventory", Unknown},
		{"held-release", "a revision that a guard holds back whole", HeldRelease},
		{"held-back", "a revision that a guard keeps from deleting pools", HeldBack},
		{"broken-base", "the repair of a base that no source takes", BrokenBase},
		{"everything", "all that a review can contain, at least once", Everything},
		{"big", "1,000 pools that change, with 5,000 nodes", func() *review.Review { return Big(1000) }},
		{"hostile", "names and values that were written to deceive", Hostile},
	}
}

// Evictions is a NoExecute taint for the 37 nodes of a pool: 12 pods of 3
// Deployments are evicted, more of web/api than its PodDisruptionBudget allows.
func Evictions() *review.Review {
	nodes := numbered("gpu-%03d", 1, 37)
	taint := "dedicated=gpu:NoExecute"
	r := blank()
	r.Compared = review.Compared{
		Base: "main@sha1:1f0c9d3f6a5b4c8e7d2a9b0c1d2e3f4a5b6c7d8e", Head: "working tree",
		Nodes: ptr(240), Pods: ptr(3120), Taken: "2026-11-20T02:00:00Z",
	}
	r.Summary = review.Summary{
		Changes: "1 pool changed, 1 RuntimeClass changed, 37 nodes changed",
		Impact:  "12 pods of 3 Deployments evicted; PodDisruptionBudget web/api exceeded; no feasible node for 1 workload",
		Counts: review.Counts{
			PoolsChanged: 1, RuntimeClassesChanged: 1, NodesChanged: 37,
			Evictions: 12, BudgetsExceeded: 1, NoFeasibleNode: 1,
		},
	}
	label := map[string]any{"node-pool.example.com/gpu": "a100"}
	r.Pools = []review.Object{{
		Name: "gpu", Action: plan.Update, File: "pools/gpu.yaml", Line: 1,
		Before: pool("gpu", spec("labels", label)),
		After:  pool("gpu", spec("labels", label, "taints", taints("dedicated", "gpu", "NoExecute"))),
	}}
	r.RuntimeClasses = []review.Object{{
		Name: "node-pool-gpu", Action: plan.Update,
		Before: runtimeClass("gpu", "runc", map[string]any{"nodeSelector": label}),
		After: runtimeClass("gpu", "runc", map[string]any{
			"nodeSelector": label, "tolerations": tolerations("dedicated", "gpu", "NoExecute"),
		}),
	}}
	r.Nodes = []review.Nodes{{
		Names:   nodes,
		Changes: []plan.KeyChange{{Field: plan.Taint, Key: "dedicated:NoExecute", After: ptr("gpu"), Pool: "gpu"}},
	}}
	r.Records = []review.Records{{Names: nodes, Value: `{"version":1,"pools":{"gpu":{"taints":["dedicated:NoExecute"]}}}`}}
	r.Impact = noImpact()
	r.Impact.Evictions = []impact.Eviction{
		{
			Workload: deployment("web", "api"), Taints: []string{taint},
			Pods: podsOf("api-7d9f8b6c5-", nodes[0:7]),
		},
		{
			Workload: deployment("batch", "trainer"), Taints: []string{taint}, AfterSeconds: 300, NoFeasibleNode: true,
			Pods: podsOf("trainer-5c6d7f9b8-", nodes[7:11]),
		},
		{
			Workload: deployment("monitoring", "pushgateway"), Taints: []string{taint},
			Pods: podsOf("pushgateway-6b5d4c3f2-", nodes[36:37]),
		},
	}
	r.Impact.Budgets = []impact.Budget{
		{Namespace: "web", Name: "api", Allowed: 1, Lost: 7, Exceeded: true, Waiting: []impact.Pod{}, Undrainable: []impact.Pod{}},
		{Namespace: "batch", Name: "trainer", Allowed: 4, Lost: 4, Waiting: []impact.Pod{}, Undrainable: []impact.Pod{}},
	}
	return r
}

// Empty has no difference.
func Empty() *review.Review {
	r := blank()
	r.Compared = review.Compared{Base: "cluster https://10.0.0.1:6443", Head: "pools/", Nodes: ptr(240), Pods: ptr(3120)}
	r.Summary.Changes = "no difference"
	r.Impact = noImpact()
	return r
}

// Unknown compares Git with Git, without an inventory: a pool is created, a
// pool is deleted, and the effect on nodes is not known.
func Unknown() *review.Review {
	r := blank()
	r.Compared = review.Compared{
		Base: "main@sha1:1f0c9d3f6a5b4c8e7d2a9b0c1d2e3f4a5b6c7d8e",
		Head: "build@sha1:0a1b2c3d4e5f60718293a4b5c6d7e8f901234567",
	}
	r.Summary = review.Summary{
		Changes: "1 pool created, 1 pool deleted, 1 RuntimeClass created, 1 RuntimeClass deleted",
		Counts:  review.Counts{PoolsCreated: 1, PoolsDeleted: 1, RuntimeClassesCreated: 1, RuntimeClassesDeleted: 1},
	}
	build := spec("labels", map[string]any{"node-pool.example.com/build": "fast"}, "handler", "kata")
	r.Pools = []review.Object{
		{Name: "build", Action: plan.Create, File: "pools/build.yaml", Line: 1, After: pool("build", build)},
		{Name: "legacy", Action: plan.Delete, Before: pool("legacy", spec("nodeNames", []any{"old-*"}))},
	}
	r.RuntimeClasses = []review.Object{
		{Name: "node-pool-build", Action: plan.Create, After: runtimeClass("build", "kata", map[string]any{"nodeSelector": build["labels"]})},
		{Name: "node-pool-legacy", Action: plan.Delete, Before: runtimeClass("legacy", "runc", map[string]any{
			"nodeSelector": map[string]any{"node-role.kubernetes.io/legacy": ""},
		})},
	}
	r.Notes = []string{
		"what changes on nodes is not known: give an inventory with --inventory",
		"what happens to pods is not known: give an inventory with --inventory",
	}
	return r
}

// BrokenBase repairs a base that no source accepts, where nothing is known of a cluster.
func BrokenBase() *review.Review {
	r := blank()
	r.Compared = review.Compared{
		Base:       "no pools (main is not taken)",
		Head:       "repair@sha1:0a1b2c3d4e5f60718293a4b5c6d7e8f901234567",
		BrokenBase: brokenBase(),
	}
	r.Summary.Changes = "no difference"
	r.Notes = []string{"what becomes of nodes and pods is not known: --inventory names a file that knows them"}
	return r
}

func brokenBase() *review.BrokenBase {
	return &review.BrokenBase{
		Revision: "main@sha1:9d3f6a5b4c8e7d2a9b0c1d2e3f4a5b6c7d8e1f0c",
		Problems: []string{
			`main:pools/gpu.yaml:6: pool "gpu": spec: unknown field "label"`,
			`main:pools/web.yaml:9: pool "web": spec.taints[0].effect: must be NoSchedule, PreferNoSchedule or NoExecute, and is "NoExec"`,
			`main:pools/web.yaml:12: pool "web": spec.parent: there is no pool "frontend"`,
		},
		MoreProblems: 4,
	}
}

// HeldRelease is a revision that takes too many nodes out of a pool.
func HeldRelease() *review.Review {
	r := blank()
	r.Compared = review.Compared{
		Base: "cluster https://10.0.0.1:6443", Head: "main@sha1:0a1b2c3d4e5f60718293a4b5c6d7e8f901234567", Source: "pools",
		Nodes: ptr(240), Pods: ptr(3120),
	}
	r.Summary = review.Summary{
		Changes: "no difference, 1 change held back for its releases", Counts: review.Counts{ReleasesHeldBack: 1},
	}
	r.HeldReleases = []review.HeldRelease{heldRelease("")}
	r.Impact = noImpact()
	return r
}

// HeldBack is a revision that deletes 6 of 10 pools, and changes one.
func HeldBack() *review.Review {
	r := blank()
	r.Compared = review.Compared{
		Base: "cluster https://10.0.0.1:6443", Head: "main@sha1:0a1b2c3d4e5f60718293a4b5c6d7e8f901234567", Source: "pools",
		Nodes: ptr(240), Pods: ptr(3120),
	}
	r.Summary = review.Summary{
		Changes: "1 pool changed, 4 nodes changed, 6 pools not pruned",
		Counts:  review.Counts{PoolsChanged: 1, PoolsHeldBack: 6, NodesChanged: 4},
	}
	r.HeldBack = &review.HeldBack{
		Pools: []string{"build", "cache", "edge", "legacy", "spot", "web"}, Of: 10,
		Reason: "the limit is 3 (spec.pruneLimit 30%)",
		Remedy: "raise spec.pruneLimit, or approve the revision",
	}
	r.Kept = []string{"vault"}
	r.Pools = []review.Object{{
		Name: "master", Action: plan.Update, File: "pools/master.yaml", Line: 12,
		Before: pool("master", spec("labels", map[string]any{"node-pool.example.com/master": "8", "node-pool.example.com/test": "2"})),
		After:  pool("master", spec("labels", map[string]any{"node-pool.example.com/master": "10"})),
	}}
	r.Nodes = []review.Nodes{{
		Names: append(numbered("master-%d", 1, 3), "standby"),
		Changes: []plan.KeyChange{
			{Field: plan.Label, Key: "node-pool.example.com/master", Before: ptr("8"), After: ptr("10"), Pool: "master"},
			{Field: plan.Label, Key: "node-pool.example.com/test", Before: ptr("2"), Pool: "master"},
		},
	}}
	r.Records = []review.Records{{Names: r.Nodes[0].Names, Value: `{"version":1,"pools":{"master":{"labels":["node-pool.example.com/master"]}}}`}}
	r.Impact = noImpact()
	return r
}
