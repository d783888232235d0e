package impact

import (
	"testing"

	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// TestBudgets counts what PodDisruptionBudgets lose by evictions and by pods of
// DaemonSets that are removed.
func TestBudgets(t *testing.T) {
	evicting := words("gpu=yes:NoExecute")
	// three are three pods, of which the budget all knows.
	three := func(kind string, asks inventory.Scheduling) *scene {
		return (&scene{}).node("a", words("disk=ssd"), evicting).node("b", words("disk=ssd"), evicting).
			node("c", words("disk=ssd"), evicting).workload(kind, "web", asks, "a", "b", "c").
			pods(func(pod *inventory.Pod) { pod.Budgets = words("all") })
	}
	allowing := func(s *scene, allowed int32) *scene {
		s.before.Budgets = append(s.before.Budgets, inventory.Budget{Namespace: "shop", Name: "all", Allowed: allowed})
		return s
	}
	cases := map[string]struct {
		reason string
		scene  *scene
		want   []Budget
	}{
		"enough":   {"all that go are allowed", allowing(three("Deployment", asking()), 3), []Budget{lost("all", 3, 3, false)}},
		"exceeded": {"more go than are allowed", allowing(three("Deployment", asking()), 2), []Budget{lost("all", 2, 3, true)}},
		"negative": {"less than none is none", allowing(three("Deployment", asking()), -1), []Budget{lost("all", 0, 3, true)}},
		"later": {"pods that go later count as well",
			allowing(three("Deployment", bearing(bearsFor(60, "gpu:NoExecute"))), 2), []Budget{lost("all", 2, 3, true)}},
		"unready": {"a pod that is not ready was not counted, and is not missed",
			allowing(three("Deployment", asking()).pods(func(pod *inventory.Pod) { pod.Ready = pod.Node != "a" }), 2), []Budget{unhealthy(1, lost("all", 2, 2, false))}},
		"finished": {"nor is one that has finished, whatever its readiness says",
			allowing(three("Job", asking()).pods(func(pod *inventory.Pod) { pod.Finished = true }), 0), []Budget{}},
		"tolerating": {"pods that stay cost nothing",
			allowing(three("Deployment", bearing(bears("gpu:NoExecute"))), 0), []Budget{}},
		"unknown": {"a budget of which nothing is known allows nothing", three("Deployment", asking()), []Budget{lost("all", 0, 3, true)}},
		"several": {"every budget of a pod loses it, sorted by name",
			allowing(three("Deployment", asking()).pods(func(pod *inventory.Pod) {
				if pod.Node == "a" {
					pod.Budgets = words("all", "Also")
				}
			}), 3), []Budget{lost("Also", 0, 1, true), lost("all", 3, 3, false)}},
	}
	for _, name := range sortedNames(cases) {
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			got := c.scene.of()
			expectEqual(t, c.reason, Impact{Budgets: c.want}, &Impact{
				Evictions: []Eviction{}, Budgets: got.Budgets, Unschedulable: got.Unschedulable, Stranded: []Stranded{},
				DaemonPods: []DaemonPods{}, RuntimeClasses: []RuntimeClassUse{}, Overlaps: []Overlap{},
			})
		})
	}

	t.Run("removed pods of a DaemonSet", func(t *testing.T) {
		s := (&scene{}).node("a", words("disk=ssd"), nil).node("b", words("disk=ssd"), words("disk=ssd")).
			workload("DaemonSet", "logs", asking("disk=ssd"), "a", "b").
			pods(func(pod *inventory.Pod) { pod.Budgets = words("all") })
		expectEqual(t, "the DaemonSet controller asks no budget either", Impact{
			DaemonPods: []DaemonPods{{Workload: inShop("DaemonSet", "logs"), Removed: on("logs-on-a a")}},
			Budgets:    []Budget{lost("all", 0, 1, true)},
		}, allowing(s, 0).of())
	})
}

func unhealthy(pods int, of Budget) Budget {
	of.Unhealthy = pods
	return of
}

// lost is a budget of which pods are lost that are not drained.
func lost(name string, allowed, pods int, exceeded bool) Budget {
	return Budget{Namespace: "shop", Name: name, Allowed: allowed, Lost: pods, Exceeded: exceeded, Waiting: []Pod{}, Undrainable: []Pod{}}
}
