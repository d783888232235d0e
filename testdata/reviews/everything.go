package reviews

import (
	"fmt"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/impact"
	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/testdata/hostile"
)

// Everything has all that a review can contain, at least once.
func Everything() *review.Review {
	r := blank()
	r.Compared = review.Compared{
		Base: "cluster https://10.0.0.1:6443", Head: "pools/", Source: "pools", Nodes: ptr(12), Pods: ptr(60),
		Taken: "2026-11-20T02:00:00Z", BrokenBase: brokenBase(),
	}
	r.Summary = review.Summary{
		Changes: "1 pool created, 2 pools changed, 1 pool deleted, 1 RuntimeClass created, 1 RuntimeClass replaced, 1 RuntimeClass deleted, 7 nodes changed, 2 pools not pruned, 1 change held back for its releases, 2 nodes changed without asking a rollout, 3 conflicts, 2 problems",
		Impact:  "7 pods of 5 workloads evicted, 3 of them drained, 1 of them not created again; PodDisruptionBudget web/api exceeded; 3 PodDisruptionBudgets block drains; no feasible node for 2 workloads; RuntimeClass node-pool-legacy deleted, which 2 workloads name; 1 pod of DaemonSets removed; 11 pods without a node stranded; 2 pods could not be scheduled again; 1 finished pod deleted; 1 node on which pools shut each other's pods out",
		Counts: review.Counts{
			PoolsCreated: 1, PoolsChanged: 2, PoolsDeleted: 1, PoolsHeldBack: 2, ReleasesHeldBack: 1,
			RuntimeClassesCreated: 1, RuntimeClassesReplaced: 1, RuntimeClassesDeleted: 1,
			NodesChanged: 7, NodesEntering: 3, NodesLeaving: 2, Conflicts: 3, NewConflicts: 3, Problems: 2, NewProblems: 2,
			Evictions: 7, PodsDrained: 3, FinishedPodsDeleted: 1, BudgetsExceeded: 1, BudgetsBlocking: 3, Unschedulable: 2, NotRecreated: 1, NoFeasibleNode: 2, PodsStranded: 11, DaemonPodsRemoved: 1, DaemonPodsStarted: 2,
			RuntimeClassesInUse: 2, Overlaps: 1, Waves: 3, EvictionsPerWave: 5, PolicyWeakened: 1, RolloutsBypassed: 2, EmptyWaves: 1,
		},
	}
	r.Rollouts, r.WeakenedRollouts = rollouts(), []plan.Weakening{{Pool: "web", Changes: []string{"maxUnavailable 1 -> 5", "wave canary is removed or changed"}}}
	r.BypassedRollouts = []plan.Bypass{{Pool: "gpu", Rollouts: []string{"web"}, Nodes: numbered("gpu-%03d", 1, 2)}}
	r.Renames = []plan.Rename{{From: "legacy", To: "modern", Nodes: 3}}
	r.EmptyWaves = []plan.EmptyWave{{Pool: "web", Wave: "zone-b", Taken: true}}
	r.HeldBack = &review.HeldBack{
		Pools: []string{"cache", "web"}, Of: 5, Reason: "the limit is 1 (spec.pruneLimit 20%)", Remedy: "raise spec.pruneLimit, or approve the revision",
	}
	r.HeldReleases = []review.HeldRelease{heldRelease("cache")}
	r.Kept = []string{"vault"}
	everyObject(r)
	everyNode(r)
	r.Conflicts = []review.Conflict{
		{
			Nodes: numbered("gpu-%03d", 1, 2), Field: plan.Label, Key: "team",
			Claims: []plan.Conflict{{Field: plan.Label, Key: "team", Pool: "gpu", Want: "ml", Have: ptr("web"), SetBy: []string{"kubectl-label"}}},
		},
		{
			Nodes: []string{"gpu-003"}, Field: plan.Taint, Key: "dedicated:NoSchedule",
			Claims: []plan.Conflict{
				{Field: plan.Taint, Key: "dedicated:NoSchedule", Pool: "build", Want: "build", Have: ptr("gpu"), Older: "gpu"},
			},
		},
	}
	r.Contests = []review.Contest{
		{
			Pool: "gpu", Field: plan.Label, Key: "tier", Nodes: 21, NodeNames: numbered("gpu-%03d", 1, 3), Managers: []string{"flapper"}, Repairs: 12,
		},
		{
			Pool: "gpu", Field: plan.Taint, Key: "ready:NoSchedule", Nodes: 1, NodeNames: []string{"gpu-001"},
			Managers: []string{"node-readiness-controller"}, Repairs: 3,
		},
	}
	r.MoreContests = 2
	r.Problems = []string{
		`pool "edge" is paused by its annotation nodes.lailin.xyz/reconcile`,
		`node "old-1": the record in nodes.lailin.xyz/applied cannot be read: unexpected end of JSON input`,
	}
	r.Impact = everyImpact()
	r.Notes = []string{"the inventory is 14 hours old"}
	return r
}

// heldRelease is a change that takes too many nodes out of a pool.
func heldRelease(pool string) review.HeldRelease {
	block := &plan.ReleaseBlock{
		Pool: pool, Limit: "50%",
		Losses: []plan.Loss{{Pool: "cache", Kind: plan.LossLeave, Nodes: numbered("cache-%02d", 1, 3), Count: 18, Of: 20}},
		Remedy: "undo the change, or approve it with: nodepools approve cache",
	}
	return review.HeldRelease{Pool: pool, Losses: block.Losses, Reason: block.Reason(), Remedy: block.Remedy}
}

// everyObject has a pool and a RuntimeClass for every action.
func everyObject(r *review.Review) {
	label := func(value string) map[string]any { return map[string]any{"node-pool.example.com/gpu": value} }
	r.Pools = []review.Object{
		{Name: "build", Action: plan.Create, File: "pools/build.yaml", Line: 1, After: pool("build", spec("nodeNames", []any{"build-*"}, "handler", "kata"))},
		{
			Name: "gpu", Action: plan.Update, File: "pools/gpu.yaml", Line: 1,
			Before: pool("gpu", spec("labels", label("v100"), "handler", "runc")),
			After: pool("gpu", spec("labels", label("a100"), "handler", "nvidia", "priority", int64(10),
				"taints", taints("dedicated", "gpu", "NoExecute"))),
		},
		{
			Name: "standby", Action: plan.Update, File: "pools/standby.yaml", Line: 4,
			Before: pool("standby", spec("parent", "gpu")), After: pool("standby", spec("parent", "gpu", "priority", int64(1))),
		},
		{Name: "legacy", Action: plan.Delete, Before: pool("legacy", spec("nodeNames", []any{"old-*"}))},
	}
	r.RuntimeClasses = []review.Object{
		{Name: "node-pool-build", Action: plan.Create, After: runtimeClass("build", "kata", nil)},
		{
			Name: "node-pool-gpu", Action: plan.Replace,
			Before: runtimeClass("gpu", "runc", map[string]any{"nodeSelector": label("v100")}),
			After: runtimeClass("gpu", "nvidia", map[string]any{
				"nodeSelector": label("a100"), "tolerations": tolerations("dedicated", "gpu", "NoExecute"),
			}),
		},
		{Name: "node-pool-legacy", Action: plan.Delete, Before: runtimeClass("legacy", "runc", nil)},
	}
}

// everyNode has nodes that enter, leave, gain, lose, change and are repaired,
// for one pool and for several.
func everyNode(r *review.Review) {
	r.Nodes = []review.Nodes{
		{
			Names: numbered("gpu-%03d", 1, 2),
			Changes: []plan.KeyChange{
				{Field: plan.Annotation, Key: "example.com/owner", Before: ptr("ops"), After: ptr("ml"), Pool: "gpu", Drift: true},
				{Field: plan.Label, Key: "node-pool.example.com/gpu", Before: ptr("v100"), After: ptr("a100"), Pool: "gpu"},
				{Field: plan.Taint, Key: "dedicated:NoExecute", After: ptr("gpu"), Pool: "gpu"},
			},
		},
		{
			Names: []string{"gpu-003"},
			Changes: []plan.KeyChange{
				{Field: plan.Label, Key: "node-pool.example.com/gpu", After: ptr("a100"), Pool: "gpu"},
				{Field: plan.Label, Key: "node-role.kubernetes.io/build", After: ptr(""), Pool: "build"},
				{Field: plan.Taint, Key: "dedicated:NoExecute", After: ptr("gpu"), Pool: "gpu"},
			},
		},
		{
			Names:   numbered("old-%d", 2, 3),
			Changes: []plan.KeyChange{{Field: plan.Label, Key: "node-role.kubernetes.io/legacy", Before: ptr(""), Pool: "legacy"}},
		},
		{
			Names:   []string{"web-1"},
			Changes: []plan.KeyChange{{Field: plan.Label, Key: "tier", Before: ptr("back"), After: ptr("front"), Pool: "front", Drift: true}},
		},
		{Names: []string{"web-2"}, Changes: []plan.KeyChange{}},
	}
	r.Records = []review.Records{
		{Names: append(numbered("gpu-%03d", 1, 3), "web-2"), Value: `{"version":1}`},
		{Names: numbered("old-%d", 2, 3), Value: ""},
	}
	r.Members = []review.Members{
		{Pool: "build", After: 1, Entering: []string{"gpu-003"}, Leaving: []string{}},
		{Pool: "gpu", Before: 2, After: 4, Entering: numbered("gpu-%03d", 3, 4), Leaving: []string{}},
		{Pool: "legacy", Before: 2, Entering: []string{}, Leaving: numbered("old-%d", 2, 3)},
	}
}

// everyImpact has each kind of impact.
func everyImpact() *impact.Impact {
	taint, none := []string{"dedicated=gpu:NoExecute"}, []impact.Pod{}
	queue, front := []impact.Pod{{Name: "queue-0", Node: "gpu-003"}, {Name: "queue-1", Node: "gpu-003"}}, []impact.Pod{{Name: "front-6b7c9-x2x9q", Node: "gpu-003"}}
	return &impact.Impact{
		Evictions: []impact.Eviction{
			{Workload: deployment("web", "api"), Taints: taint, Pods: podsOf("api-7d9f8b6c5-", numbered("gpu-%03d", 1, 2))},
			{
				Workload: impact.Workload{Kind: "Pod", Namespace: "tools", Name: "shell"}, Taints: taint, AfterSeconds: 3600,
				Pods: []impact.Pod{{Name: "shell", Node: "gpu-001"}}, NotRecreated: true,
			},
			{
				Workload: impact.Workload{Kind: "CronJob", Namespace: "web", Name: "report"}, Taints: taint, Finished: true,
				Pods: []impact.Pod{{Name: "report-29384-x7k2p", Node: "gpu-002"}},
			},
			{
				Workload: impact.Workload{Kind: "DaemonSet", Namespace: "kube-system", Name: "agent"}, Taints: taint, AfterDrain: true,
				Pods: []impact.Pod{{Name: "agent-m4c9d", Node: "gpu-003"}},
			},
			{
				Workload: impact.Workload{Kind: "StatefulSet", Namespace: "data", Name: "queue"}, Taints: taint,
				Drain: &impact.Drain{TimeoutSeconds: 3600, OnTimeout: "Hold"}, Pods: queue,
			},
			{
				Workload: deployment("web", "front"), Taints: taint, Drain: &impact.Drain{TimeoutSeconds: 600, OnTimeout: "Force"}, Pods: front,
			},
		},
		Budgets: []impact.Budget{
			{Namespace: "data", Name: "queue", Lost: 2, Drained: 2, Waiting: queue, Undrainable: none},
			{Namespace: "web", Name: "api", Allowed: 0, Lost: 2, Unhealthy: 1, Exceeded: true, Waiting: none, Undrainable: none},
			{Namespace: "web", Name: "front", Allowed: 3, Lost: 1, Drained: 1, Waiting: none, Undrainable: front, Forced: 1},
			{Namespace: "web", Name: "old", Allowed: 3, Lost: 1, Waiting: none, Undrainable: none},
			{Namespace: "web", Name: "site", Allowed: 3, Lost: 1, Drained: 1, Waiting: none, Undrainable: front, Forced: 1},
		},
		Unschedulable: []impact.Unschedulable{{
			Workload: impact.Workload{Kind: "StatefulSet", Namespace: "data", Name: "db"},
			Reason:   impact.Words("the node has no label node-pool.example.com/gpu=v100"), NoFeasibleNode: true, Pods: podsOf("db-", numbered("gpu-%03d", 1, 2)),
		}},
		Stranded: []impact.Stranded{
			{
				Workload: impact.Workload{Kind: "Job", Namespace: "batch", Name: "train"}, RuntimeClass: "node-pool-gpu", Pods: numbered("train-%02d", 1, 9),
				Remedy: "kubectl delete --namespace batch pod/train-01 pod/train-02 pod/train-03 pod/train-04 pod/train-05 pod/train-06 pod/train-07 pod/train-08",
			},
			{Workload: impact.Workload{Kind: "Pod", Namespace: "batch", Name: "try"}, RuntimeClass: "node-pool-gpu", Pods: []string{"try"}, NotRecreated: true},
			{Workload: deployment("web", "old"), RuntimeClass: "node-pool-legacy", Pods: []string{"old-5c9d7-x2k4j"}, NoFeasibleNode: true},
		},
		DaemonPods: []impact.DaemonPods{{
			Workload: impact.Workload{Kind: "DaemonSet", Namespace: "kube-system", Name: "driver"},
			Removed:  []impact.Pod{{Name: "driver-x7k2p", Node: "old-2"}}, Started: numbered("gpu-%03d", 3, 4),
		}},
		RuntimeClasses: []impact.RuntimeClassUse{
			{Name: "node-pool-gpu", Action: "replace", Pods: 4, Users: podsOf("trainer-", []string{"gpu-001", "gpu-002", "gpu-003", "gpu-004"}), Workloads: []impact.Workload{deployment("batch", "trainer")}},
			{Name: "node-pool-legacy", Action: "delete", Pods: 2, Users: podsOf("old-", []string{"web-1", "web-2"}), Workloads: []impact.Workload{
				deployment("web", "old"), {Kind: "CronJob", Namespace: "web", Name: "report"},
			}},
		},
		Overlaps: []impact.Overlap{{
			Pools: []string{"build", "gpu"}, Nodes: []string{"gpu-003"},
			Reason: impact.Words("pods of node-pool-build do not tolerate dedicated=gpu:NoExecute of pool gpu, pods of node-pool-gpu do not match node-role.kubernetes.io/gpu"),
		}},
	}
}

// Big is a review of so many pools, of five nodes each; all change in one
// label, and the pods of every tenth are evicted.
func Big(pools int) *review.Review {
	r := blank()
	r.Compared = review.Compared{Base: "main@sha1:1f0c9d3f6a5b4c8e7d2a9b0c1d2e3f4a5b6c7d8e", Head: "working tree", Nodes: ptr(5 * pools), Pods: ptr(50 * pools)}
	r.Impact = noImpact()
	for i := range pools {
		name := fmt.Sprintf("team-%04d", i)
		key := "node-pool.example.com/" + name
		nodes := numbered(fmt.Sprintf("node-%04d-%%d", i), 1, 5)
		r.Pools = append(r.Pools, review.Object{
			Name: name, Action: plan.Update, File: "pools/" + name + ".yaml", Line: 1,
			Before: pool(name, spec("labels", map[string]any{key: "1"})), After: pool(name, spec("labels", map[string]any{key: "2"})),
		})
		r.RuntimeClasses = append(r.RuntimeClasses, review.Object{
			Name: "node-pool-" + name, Action: plan.Update,
			Before: runtimeClass(name, "runc", map[string]any{"nodeSelector": map[string]any{key: "1"}}),
			After:  runtimeClass(name, "runc", map[string]any{"nodeSelector": map[string]any{key: "2"}}),
		})
		r.Nodes = append(r.Nodes, review.Nodes{
			Names: nodes, Changes: []plan.KeyChange{{Field: plan.Label, Key: key, Before: ptr("1"), After: ptr("2"), Pool: name}},
		})
		if i%10 == 0 {
			r.Impact.Evictions = append(r.Impact.Evictions, impact.Eviction{
				Workload: deployment(name, "api"), Taints: []string{"maintenance=yes:NoExecute"}, Pods: podsOf("api-", nodes[:2]),
			})
		}
	}
	counts := review.Counts{
		PoolsChanged: pools, RuntimeClassesChanged: pools, NodesChanged: 5 * pools, Evictions: 2 * len(r.Impact.Evictions),
	}
	r.Summary = review.Summary{
		Changes: fmt.Sprintf("%d pools changed, %d RuntimeClasses changed, %d nodes changed", pools, pools, 5*pools),
		Impact:  fmt.Sprintf("%d pods of %d workloads evicted", counts.Evictions, len(r.Impact.Evictions)), Counts: counts,
	}
	return r
}

// Hostile is Everything with each string replaced by a hostile one, the very
// long ones cut.
func Hostile() *review.Review {
	r := Everything()
	all, next := hostile.Strings(), 0
	hostile.Fill(r, func(string) string {
		text := all[next%len(all)].Text
		next++
		return text[:min(len(text), 120)]
	})
	r.APIVersion, r.Kind = review.APIVersion, review.Kind
	return r
}
