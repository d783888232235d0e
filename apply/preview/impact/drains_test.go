package impact

import (
	"testing"
	"time"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// drained has a node drained of taints before they come, and says how.
func (s *scene) drained(node string, how plan.DrainBefore, taints ...string) *scene {
	if s.drains == nil {
		s.drains = map[string][]plan.DrainBefore{}
	}
	for _, word := range taints {
		how.Taint = newTaint(word)
		s.drains[node] = append(s.drains[node], how)
	}
	return s
}

// budget adds a PodDisruptionBudget that selects each pod that there is so far.
func (s *scene) budget(name string, allowed, healthy, desired int32) *scene {
	s.before.Budgets = append(s.before.Budgets, inventory.Budget{Namespace: "shop", Name: name, Allowed: allowed, Healthy: healthy, Desired: desired})
	return s.pods(func(pod *inventory.Pod) { pod.Budgets = append(pod.Budgets, name) })
}

// TestDrainedPods has pods of which the node is drained, and others that are left to its taint.
func TestDrainedPods(t *testing.T) {
	const taint = "gpu=yes:NoExecute"
	hold, force := plan.DrainBefore{Timeout: time.Hour}, plan.DrainBefore{Timeout: time.Minute, Force: true}
	blocked := func(of plan.DrainBefore) plan.DrainBefore {
		of.Obstacle = "somebody else"
		return of
	}
	holds, forces := &Drain{TimeoutSeconds: 3600, OnTimeout: "Hold"}, &Drain{TimeoutSeconds: 60, OnTimeout: "Force"}
	cases := map[string]struct {
		reason string
		kind   string
		asks   inventory.Scheduling
		pod    func(*inventory.Pod)
		before []string
		after  []string
		drains func(*scene)
		want   Eviction
	}{
		"Hold":          {reason: "it is evicted before the taint comes", drains: func(s *scene) { s.drained("a", hold, taint) }, want: Eviction{Drain: holds}},
		"Force":         {reason: "and how long the taint waits", drains: func(s *scene) { s.drained("a", force, taint) }, want: Eviction{Drain: forces}},
		"not this node": {reason: "another node is drained", drains: func(s *scene) { s.drained("b", hold, taint) }, want: Eviction{}},
		"DaemonSet": {reason: "its pod would come again", kind: "DaemonSet", drains: func(s *scene) { s.drained("a", hold, taint) },
			want: Eviction{AfterDrain: true, NoFeasibleNode: true}},
		"DaemonSet of others": {reason: "kinds of that name in other groups are left alone, too", kind: "DaemonSet",
			pod: func(pod *inventory.Pod) { pod.Owner.Group = "apps.kruise.io" }, drains: func(s *scene) { s.drained("a", hold, taint) },
			want: Eviction{Workload: Workload{Group: "apps.kruise.io", Kind: "DaemonSet", Namespace: "shop", Name: "web"}, AfterDrain: true}},
		"for some time": {reason: "the taint gives it its time", asks: bearing(bearsFor(60, "gpu:NoExecute")),
			drains: func(s *scene) { s.drained("a", hold, taint) }, want: Eviction{AfterSeconds: 60, AfterDrain: true}},
		"finished": {reason: "there is nothing to evict", pod: func(pod *inventory.Pod) { pod.Finished = true },
			drains: func(s *scene) { s.drained("a", hold, taint) }, want: Eviction{Finished: true, AfterDrain: true}},
		"a second taint at once": {reason: "that waits for no drain, and deletes it", after: words(taint, "hot=yes:NoExecute"),
			drains: func(s *scene) { s.drained("a", hold, taint) }, want: Eviction{Taints: words(taint, "hot=yes:NoExecute")}},
		"a second taint that it tolerates": {reason: "it goes by the other one", after: words(taint, "hot=yes:NoExecute"), asks: bearing(bears("hot:NoExecute")),
			drains: func(s *scene) { s.drained("a", hold, taint) }, want: Eviction{Drain: holds}},
		"a second taint for some time": {reason: "it is evicted for the one that it does not tolerate at all", after: words(taint, "hot=yes:NoExecute"),
			asks: bearing(bearsFor(60, "gpu:NoExecute")), drains: func(s *scene) { s.drained("a", hold, "hot=yes:NoExecute", taint) },
			want: Eviction{Taints: words(taint, "hot=yes:NoExecute"), Drain: holds}},
		"both": {reason: "the one that is forced deletes it", after: words(taint, "hot=yes:NoExecute"),
			drains: func(s *scene) { s.drained("a", hold, taint).drained("a", force, "hot=yes:NoExecute") },
			want:   Eviction{Taints: words(taint, "hot=yes:NoExecute"), Drain: forces}},
		"another value": {reason: "the old one stays until then", before: words("gpu=no:NoExecute"), asks: bearing(bears("gpu=no:NoExecute")),
			drains: func(s *scene) { s.drained("a", hold, taint) }, want: Eviction{Drain: holds}},
		"tolerates NoSchedule": {reason: "the taint that keeps pods off lets the next one come", asks: bearing(bears("gpu:NoSchedule")),
			drains: func(s *scene) { s.drained("a", hold, taint) }, want: Eviction{Drain: &Drain{TimeoutSeconds: 3600, OnTimeout: "Hold", ComesAgain: true}}},
		"tolerates NoSchedule of one": {reason: "the other taint keeps the next one off", after: words(taint, "hot=yes:NoExecute"), asks: bearing(bears("gpu:NoSchedule")),
			drains: func(s *scene) { s.drained("a", hold, taint, "hot=yes:NoExecute") }, want: Eviction{Taints: words(taint, "hot=yes:NoExecute"), Drain: holds}},
		"an obstacle, Hold": {reason: "it is not evicted, and the taint waits", drains: func(s *scene) { s.drained("a", blocked(hold), taint) },
			want: Eviction{Drain: &Drain{TimeoutSeconds: 3600, OnTimeout: "Hold", Obstructed: true}}},
		"an obstacle, Force": {reason: "it is not evicted, and the taint deletes it", drains: func(s *scene) { s.drained("a", blocked(force), taint) },
			want: Eviction{Drain: &Drain{TimeoutSeconds: 60, OnTimeout: "Force", Obstructed: true}}},
		"an obstacle of one": {reason: "it is evicted for the other one", after: words(taint, "hot=yes:NoExecute"),
			drains: func(s *scene) { s.drained("a", blocked(hold), taint).drained("a", hold, "hot=yes:NoExecute") },
			want:   Eviction{Taints: words(taint, "hot=yes:NoExecute"), Drain: holds}},
	}
	for _, name := range sortedNames(cases) {
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			kind := c.kind
			if kind == "" {
				kind = "Deployment"
			}
			after := c.after
			if after == nil {
				after = words(taint)
			}
			s := (&scene{}).node("a", c.before, after).node("b", nil, nil).workload(kind, "web", c.asks, "a")
			if c.pod != nil {
				s.pods(c.pod)
			}
			c.drains(s)
			want := c.want
			if want.Workload == (Workload{}) {
				want.Workload = inShop(kind, "web")
			}
			if want.Taints == nil {
				want.Taints = words(taint)
			}
			want.Pods, want.NoFeasibleNode = on("web-on-a a"), false
			got := s.of()
			for i := range got.Evictions {
				got.Evictions[i].NoFeasibleNode = false // that is tried elsewhere
			}
			expectEqual(t, c.reason, Impact{Evictions: []Eviction{want}, Unschedulable: got.Unschedulable, DaemonPods: got.DaemonPods}, got)
		})
	}
}

// TestBudgetsOfDrains has budgets that keep drained pods from going, as the Eviction API has it.
func TestBudgetsOfDrains(t *testing.T) {
	const taint = "gpu=yes:NoExecute"
	hold, force := plan.DrainBefore{Timeout: time.Hour}, plan.DrainBefore{Timeout: time.Minute, Force: true}
	// two are nodes with a pod each, of which the first is drained.
	two := func(how plan.DrainBefore) *scene {
		return (&scene{}).node("a", nil, words(taint)).node("b", nil, words(taint)).workload("Deployment", "web", asking(), "a", "b").drained("a", how, taint)
	}
	unready := func(pod *inventory.Pod) { pod.Ready = false }
	of := func(name string, allowed, lost, drained int, change func(*Budget)) Budget {
		budget := Budget{Namespace: "shop", Name: name, Allowed: allowed, Lost: lost, Drained: drained, Waiting: []Pod{}, Undrainable: []Pod{}}
		if change != nil {
			change(&budget)
		}
		return budget
	}
	a, b := on("web-on-a a"), on("web-on-a a", "web-on-b b")
	undrainable := func(budget *Budget) { budget.Undrainable = a }
	cases := map[string]struct {
		reason string
		scene  *scene
		want   []Budget
	}{
		"one is drained": {"the budget allows the other one", two(hold).budget("all", 1, 2, 1), []Budget{of("all", 1, 2, 1, nil)}},
		"none is allowed": {"the one waits, and the taint deletes the other one", two(hold).budget("all", 0, 2, 2),
			[]Budget{of("all", 0, 2, 1, func(budget *Budget) { budget.Waiting, budget.Exceeded = a, true })}},
		"both are drained": {"no budget is exceeded by that", two(hold).drained("b", hold, taint).budget("all", 0, 2, 2),
			[]Budget{of("all", 0, 2, 2, func(budget *Budget) { budget.Waiting = b })}},
		"one is forced": {"one of them is deleted after a while", two(force).drained("b", hold, taint).budget("all", 0, 2, 2),
			[]Budget{of("all", 0, 2, 2, func(budget *Budget) { budget.Waiting, budget.Forced = b, 1 })}},
		"unknown": {"a budget of which nothing is known allows nothing", two(hold).drained("b", hold, taint).pods(func(pod *inventory.Pod) { pod.Budgets = words("all") }),
			[]Budget{of("all", 0, 2, 2, func(budget *Budget) { budget.Waiting = b })}},
		"two budgets": {"the Eviction API evicts no such pod, whatever they allow", two(hold).drained("b", hold, taint).budget("all", 2, 2, 0).
			pods(func(pod *inventory.Pod) {
				if pod.Node == "a" {
					pod.Budgets = words("all", "more")
				}
			}), []Budget{of("all", 2, 2, 2, undrainable), of("more", 0, 1, 1, undrainable)}},
		"not ready, and enough are": {"by default it is evicted", two(hold).drained("b", hold, taint).budget("all", 0, 2, 2).pods(unready), []Budget{}},
		"not ready, and too few are": {"it waits for others to be ready", two(hold).drained("b", hold, taint).budget("all", 0, 0, 2).pods(unready),
			[]Budget{of("all", 0, 0, 0, func(budget *Budget) { budget.Waiting, budget.Unhealthy = b, 2 })}},
		"an obstacle, Hold": {"nothing goes, and nothing waits for the budget",
			two(plan.DrainBefore{Timeout: time.Hour, Obstacle: "x"}).budget("all", 1, 2, 1), []Budget{of("all", 1, 2, 1, nil)}},
		"an obstacle, Force": {"the taint asks no budget",
			two(plan.DrainBefore{Timeout: time.Hour, Force: true, Obstacle: "x"}).budget("all", 1, 2, 1), []Budget{of("all", 1, 2, 0, func(budget *Budget) { budget.Exceeded = true })}},
	}
	for _, name := range sortedNames(cases) {
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			got := c.scene.of()
			expectEqual(t, c.reason, Impact{Evictions: got.Evictions, Budgets: c.want, Unschedulable: got.Unschedulable}, got)
		})
	}
}
