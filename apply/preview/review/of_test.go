package review

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/impact"
)

func TestOf(t *testing.T) {
	r, err := Of(wholeInput(t))
	if err != nil {
		t.Fatal(err)
	}
	if r.Empty() {
		t.Error("a review with changes is empty")
	}
	if diff := cmp.Diff(Counts{
		PoolsCreated: 3, PoolsHeldBack: 1, RuntimeClassesCreated: 2, NodesChanged: 3, NodesEntering: 6, Conflicts: 3, NewConflicts: 3, Problems: 1, NewProblems: 1,
		Evictions: 1, PodsDrained: 1, BudgetsExceeded: 1, BudgetsBlocking: 1, Unschedulable: 1, PodsStranded: 1, NoFeasibleNode: 1, DaemonPodsRemoved: 1, DaemonPodsStarted: 1,
		RuntimeClassesInUse: 1, Overlaps: 1,
	}, r.Summary.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Members{
		{Pool: "a", After: 3, Entering: []string{"n1", "n2", "n3"}, Leaving: []string{}},
		{Pool: "b", After: 3, Entering: []string{"n1", "n2", "n3"}, Leaving: []string{}},
	}, r.Members); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if got := r.Pools[0]; got.File != "a.yaml" || got.Line != 1 || got.Before != nil {
		t.Errorf("the first pool is %+v, want that of a.yaml:1, which is new", got)
	}
}

func TestSummary(t *testing.T) {
	deployment := func(name string) impact.Workload {
		return impact.Workload{Kind: "Deployment", Namespace: "web", Name: name}
	}
	evicted := func(of impact.Workload, pods int, infeasible bool) impact.Eviction {
		return impact.Eviction{Workload: of, Pods: make([]impact.Pod, pods), NoFeasibleNode: infeasible}
	}
	bare := func(name string) impact.Eviction {
		return impact.Eviction{Workload: impact.Workload{Kind: "Pod", Namespace: "web", Name: name}, Pods: make([]impact.Pod, 1), NotRecreated: true}
	}
	cases := map[string]struct {
		reason string
		review Review
		want   Summary
	}{
		"nothing": {"that is reported, too", Review{}, Summary{Changes: "no difference"}},
		"held back": {"what is held back is no difference, and has to be known",
			Review{HeldBack: &HeldBack{Pools: []string{"a"}, Of: 3}}, Summary{Changes: "no difference, 1 pool not pruned"}},
		"of one kind": {"the example of the product", Review{Impact: &impact.Impact{
			Evictions: []impact.Eviction{evicted(deployment("a"), 5, false), evicted(deployment("b"), 4, false), evicted(deployment("c"), 3, false)},
			Budgets:   []impact.Budget{{Namespace: "web", Name: "api", Exceeded: true}, {Namespace: "web", Name: "kept"}},
		}}, Summary{Changes: "no difference", Impact: "12 pods of 3 Deployments evicted; PodDisruptionBudget web/api exceeded"}},
		"of several kinds": {"no kind is named that not all are of", Review{Impact: &impact.Impact{
			Evictions: []impact.Eviction{evicted(deployment("a"), 1, true), evicted(impact.Workload{Kind: "StatefulSet", Namespace: "web", Name: "b"}, 1, true)},
		}}, Summary{Changes: "no difference", Impact: "2 pods of 2 workloads evicted; no feasible node for 2 workloads"}},
		"some not created again": {"a bare pod has no next pod, for which a node could be left", Review{Impact: &impact.Impact{
			Evictions: []impact.Eviction{evicted(deployment("a"), 2, true), bare("b")},
		}}, Summary{Changes: "no difference", Impact: "3 pods of 2 workloads evicted, 1 of them not created again; no feasible node for 1 workload"}},
		"drained": {"what waits for a budget is no loss of it", Review{Impact: &impact.Impact{
			Evictions: []impact.Eviction{evicted(deployment("a"), 2, false), {Workload: deployment("a"), Pods: make([]impact.Pod, 3), Drain: &impact.Drain{OnTimeout: "Hold"}}},
			Budgets:   []impact.Budget{{Namespace: "web", Name: "a", Waiting: make([]impact.Pod, 3)}, {Namespace: "web", Name: "kept", Drained: 3}},
		}}, Summary{Changes: "no difference", Impact: "5 pods of 1 Deployment evicted, 3 of them drained; PodDisruptionBudget web/a blocks drains"}},
		"all drained": {"bare ones, too", Review{Impact: &impact.Impact{
			Evictions: []impact.Eviction{{Workload: impact.Workload{Kind: "Pod"}, Pods: make([]impact.Pod, 3), Drain: &impact.Drain{OnTimeout: "Force"}, NotRecreated: true}},
			Budgets:   []impact.Budget{{Undrainable: make([]impact.Pod, 1)}, {Undrainable: make([]impact.Pod, 1)}},
		}}, Summary{Changes: "no difference", Impact: "3 pods evicted, drained, not created again; 2 PodDisruptionBudgets block drains"}},
		"not drained": {"nothing is evicted before", Review{Impact: &impact.Impact{
			Evictions: []impact.Eviction{{Workload: deployment("a"), Pods: make([]impact.Pod, 3), Drain: &impact.Drain{OnTimeout: "Force", Obstructed: true}}},
		}}, Summary{Changes: "no difference", Impact: "3 pods of 1 Deployment evicted"}},
		"bare pods": {"they are no workloads", Review{Impact: &impact.Impact{
			Evictions: []impact.Eviction{bare("a"), bare("b")},
		}}, Summary{Changes: "no difference", Impact: "2 pods evicted, not created again"}},
		"finished": {"nothing that runs is evicted", Review{Impact: &impact.Impact{
			Evictions: []impact.Eviction{{Workload: deployment("a"), Pods: make([]impact.Pod, 2), Finished: true}},
		}}, Summary{Changes: "no difference", Impact: "2 finished pods deleted"}},
		"twice": {"a workload is one, whatever happens to it", Review{Impact: &impact.Impact{
			Evictions:     []impact.Eviction{evicted(deployment("a"), 1, true)},
			Unschedulable: []impact.Unschedulable{{Workload: deployment("a"), Pods: make([]impact.Pod, 2), NoFeasibleNode: true}},
		}}, Summary{Changes: "no difference", Impact: "1 pod of 1 Deployment evicted; no feasible node for 1 workload; 2 pods could not be scheduled again"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := summarize(&c.review, 0)
			got.Counts = Counts{}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestOutlook(t *testing.T) {
	cases := map[string]struct {
		kind                     string
		notRecreated, infeasible bool
		want                     string
	}{
		"nothing to say":    {"Deployment", false, false, ""},
		"Deployment":        {"Deployment", false, true, "no node is feasible for its next pod"},
		"DaemonSet":         {"DaemonSet", false, true, "no node is feasible for its pods"},
		"bare pod":          {"Pod", true, false, "it has no controller, so nothing creates it again"},
		"DaemonSet is gone": {"DaemonSet", true, false, "their DaemonSet is gone, so nothing creates them again"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := outlook(impact.Workload{Kind: c.kind}, c.notRecreated, c.infeasible); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestConflictText(t *testing.T) {
	have := "iron"
	claim := func(edit func(*plan.Conflict)) Conflict {
		c := plan.Conflict{Field: plan.Label, Key: "tier", Pool: "a", Want: "gold", Have: &have}
		edit(&c)
		return Conflict{Field: c.Field, Key: c.Key, Claims: []plan.Conflict{c}}
	}
	cases := map[string]struct {
		conflict Conflict
		want     string
	}{
		"somebody": {claim(func(*plan.Conflict) {}), "label tier: pool a wants gold, and somebody else has set iron"},
		"known":    {claim(func(c *plan.Conflict) { c.SetBy = []string{"kubectl"} }), "label tier: pool a wants gold, and kubectl has set iron"},
		"several":  {claim(func(c *plan.Conflict) { c.SetBy, c.MoreSetBy = []string{"b", "c"}, 2 }), "label tier: pool a wants gold, and b, c and 2 more have set iron"},
		"holder":   {claim(func(c *plan.Conflict) { c.Holder = "b" }), "label tier: pool a wants gold, and pool b, which is paused or in error, holds it"},
		"older":    {claim(func(c *plan.Conflict) { c.Older = "b" }), "label tier: pool a wants gold, and pool b, which is older and of the same priority, wants iron"},
		"no room":  {claim(func(c *plan.Conflict) { c.NoRoom, c.Have = true, nil }), "label tier: pool a wants gold, and it does not fit into what pools may take of the annotations of a node"},
		"many":     {func() Conflict { c := claim(func(c *plan.Conflict) { c.Older = "b" }); c.MoreClaims = 7; return c }(), "label tier: pool a wants gold, 7 more pools do not get it either, and pool b, which is older and of the same priority, wants iron"},
		"taint": {claim(func(c *plan.Conflict) { c.Field, c.Key, c.SetBy = plan.Taint, "k:NoSchedule", []string{"x"} }),
			"taint k:NoSchedule: pool a wants gold, and somebody else has set iron (x wrote the taints last)"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.conflict.Text()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLines(t *testing.T) {
	object := func(label string) map[string]any {
		return map[string]any{
			"kind": "NodePool",
			"metadata": map[string]any{
				"name": "a", "finalizers": []any{"x"}, "ownerReferences": []any{map[string]any{"name": "x"}},
				"annotations": map[string]any{"nodes.lailin.xyz/revision": label, "nodes.lailin.xyz/revisionNumber": "sha256:" + label, "nodes.lailin.xyz/file": "a.yaml"},
			},
			"spec": map[string]any{"handler": "runc", "labels": map[string]any{"tier": label}},
		}
	}
	describe := func(lines []Line) []string {
		var texts []string
		for _, line := range lines {
			texts = append(texts, string(line.Sign)+line.Text)
		}
		return texts
	}
	changed := describe(Object{Before: object("iron"), After: object("gold"), File: "pools/a.yaml", Line: 3}.Lines())
	if !slices.Contains(changed, "-    tier: iron") || !slices.Contains(changed, "+    tier: gold") {
		t.Errorf("the change is not shown: %q", changed)
	}
	deleted := describe(Object{Before: object("iron")}.Lines())
	// Where nothing else says it, the file of a pool is shown.
	if len(deleted) != 9 || !slices.Contains(deleted, "-    nodes.lailin.xyz/file: a.yaml") || slices.ContainsFunc(changed, func(line string) bool { return strings.Contains(line, "file") }) || slices.ContainsFunc(deleted, func(line string) bool { return !strings.HasPrefix(line, "-") }) {
		t.Errorf("a deleted object is not shown whole: %q", deleted)
	}
	for _, line := range slices.Concat(changed, deleted) {
		for _, own := range []string{"finalizers", "ownerReferences", "revision", "approveRelease"} {
			if strings.Contains(line, own) {
				t.Errorf("%q is the controller's own", line)
			}
		}
	}
	was, is := "1", "2"
	if diff := cmp.Diff([]string{
		"-annotation a=\"1\"  (pool p)",
		"~label b=1 -> 2  (pool p, put back)",
		"+taint c=2:NoExecute  (pool p)",
	}, describe(Nodes{Changes: []plan.KeyChange{
		{Field: plan.Annotation, Key: "a", Before: &was, Pool: "p"},
		{Field: plan.Label, Key: "b", Before: &was, After: &is, Pool: "p", Drift: true},
		{Field: plan.Taint, Key: "c:" + string(corev1.TaintEffectNoExecute), After: &is, Pool: "p"},
	}}.Lines())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"~annotation nodes.lailin.xyz/applied  (whose each key is)"}, describe(Nodes{}.Lines())); diff != "" {
		t.Errorf("the record alone (-want +got):\n%s", diff)
	}
}

// TestOfChangesNothing compares what a review was made of before and afterwards.
func TestOfChangesNothing(t *testing.T) {
	in, want := wholeInput(t), wholeInput(t)
	if _, err := Of(in); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Before, in.Before); diff != "" {
		t.Error(diff)
	}
	names := func(d *plan.Difference) (texts []string) {
		for _, node := range d.Nodes {
			text, err := json.Marshal(node)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(text))
		}
		return texts
	}
	if diff := cmp.Diff(names(want.Difference), names(in.Difference)); diff != "" {
		t.Error(diff)
	}
}
