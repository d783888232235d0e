package reviews

import (
	"fmt"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/impact"
	"github.com/nodepools/nodepools/apply/preview/review"
)

// Fleet is a change of 5,000 nodes in 100 pools: most change in a label, every tenth
// gains a taint that evicts pods, every twentieth exchanges a few of its nodes, one
// is created and one deleted.
func Fleet() *review.Review {
	const pools, size, exchanged = 100, 50, 3
	r := blank()
	r.Compared = review.Compared{
		Base: "main@sha1:1f0c9d3f6a5b4c8e7d2a9b0c1d2e3f4a5b6c7d8e", Head: "working tree",
		Nodes: ptr(pools*size + pools/20*exchanged), Pods: ptr(20 * pools * size), Taken: "2026-11-20T02:00:00Z",
	}
	r.Impact = noImpact()
	c := &r.Summary.Counts
	for i := range pools {
		name := fmt.Sprintf("team-%02d", i)
		nodes := numbered("node-%04d", size*i+1, size*i+size)
		key := "node-pool.example.com/" + name
		labels := func(value string) map[string]any { return map[string]any{key: value} }
		of := review.Object{
			Name: name, Action: plan.Update, File: "pools/" + name + ".yaml", Line: 1,
			Before: pool(name, spec("labels", labels("1"))), After: pool(name, spec("labels", labels("2"))),
		}
		class := review.Object{
			Name: "node-pool-" + name, Action: plan.Update,
			Before: runtimeClass(name, "runc", map[string]any{"nodeSelector": labels("1")}),
			After:  runtimeClass(name, "runc", map[string]any{"nodeSelector": labels("2")}),
		}
		change := plan.KeyChange{Field: plan.Label, Key: key, Before: ptr("1"), After: ptr("2"), Pool: name}
		members := review.Members{Pool: name, Before: size, After: size, Entering: []string{}, Leaving: []string{}}
		switch {
		case i == 1:
			of.Action, of.Before, class.Action, class.Before, change.Before = plan.Create, nil, plan.Create, nil, nil
			members.Before, members.Entering = 0, nodes
		case i == 2:
			of.Action, of.After, class.Action, class.After, change.After = plan.Delete, nil, plan.Delete, nil, nil
			of.File, of.Line = "", 0
			members.After, members.Leaving = 0, nodes
		case i%20 == 5:
			members.Entering = numbered("spare-%03d", exchanged*i+1, exchanged*i+exchanged)
			members.Leaving, nodes = nodes[:exchanged], nodes[exchanged:]
			r.Nodes = append(r.Nodes,
				review.Nodes{Names: members.Entering, Changes: []plan.KeyChange{{Field: plan.Label, Key: key, After: ptr("2"), Pool: name}}},
				review.Nodes{Names: members.Leaving, Changes: []plan.KeyChange{{Field: plan.Label, Key: key, Before: ptr("1"), Pool: name}}})
		}
		r.Nodes = append(r.Nodes, review.Nodes{Names: nodes, Changes: []plan.KeyChange{change}})
		if i%10 == 0 {
			of.After = pool(name, spec("labels", labels("2"), "taints", taints("dedicated", name, "NoExecute")))
			last := &r.Nodes[len(r.Nodes)-1]
			last.Changes = append(last.Changes, plan.KeyChange{Field: plan.Taint, Key: "dedicated:NoExecute", After: ptr(name), Pool: name})
			evict(r.Impact, name, nodes)
		}
		r.Pools, r.RuntimeClasses, r.Members = append(r.Pools, of), append(r.RuntimeClasses, class), append(r.Members, members)
		c.NodesEntering += len(members.Entering)
		c.NodesLeaving += len(members.Leaving)
	}
	c.PoolsCreated, c.PoolsDeleted, c.PoolsChanged = 1, 1, pools-2
	c.RuntimeClassesCreated, c.RuntimeClassesDeleted, c.RuntimeClassesChanged = 1, 1, pools-2
	summarize(r)
	return r
}

// summarize counts the nodes and the pods of a review, and writes its summary.
func summarize(r *review.Review) {
	c := &r.Summary.Counts
	for _, group := range r.Nodes {
		c.NodesChanged += len(group.Names)
	}
	for _, eviction := range r.Impact.Evictions {
		c.Evictions += len(eviction.Pods)
		if eviction.NotRecreated {
			c.NotRecreated += len(eviction.Pods)
		}
	}
	c.BudgetsExceeded = len(r.Impact.Budgets)
	r.Summary.Changes = fmt.Sprintf("1 pool created, %d pools changed, 1 pool deleted, 1 RuntimeClass created, %d RuntimeClasses changed, 1 RuntimeClass deleted, %d nodes changed",
		c.PoolsChanged, c.RuntimeClassesChanged, c.NodesChanged)
	r.Summary.Impact = fmt.Sprintf("%d pods of %d workloads evicted, %d of them not created again; %d PodDisruptionBudgets exceeded",
		c.Evictions, len(r.Impact.Evictions), c.NotRecreated, c.BudgetsExceeded)
}

// evict evicts the pods of two workloads and a bare one from the nodes of a pool.
func evict(i *impact.Impact, pool string, nodes []string) {
	taint := []string{"dedicated=" + pool + ":NoExecute"}
	i.Evictions = append(i.Evictions,
		impact.Eviction{Workload: deployment(pool, "api"), Taints: taint, Pods: podsOf("api-7d9f8b6c5-", nodes[:7])},
		impact.Eviction{Workload: deployment(pool, "worker"), Taints: taint, AfterSeconds: 300, Pods: podsOf("worker-5c6d7f9b8-", nodes[7:10])},
		impact.Eviction{
			Workload: impact.Workload{Kind: "Pod", Namespace: pool, Name: "debug"}, Taints: taint,
			Pods: []impact.Pod{{Name: "debug", Node: nodes[10]}}, NotRecreated: true,
		})
	i.Budgets = append(i.Budgets, impact.Budget{Namespace: pool, Name: "api", Allowed: 1, Lost: 7, Exceeded: true, Waiting: []impact.Pod{}, Undrainable: []impact.Pod{}})
}
