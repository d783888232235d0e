package impact

import (
	"testing"

	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// TestRuntimeClasses covers which RuntimeClasses are deleted or replaced while
// somebody names them.
func TestRuntimeClasses(t *testing.T) {
	gpu := newClass("gpu", "runc", asking())
	web := []Workload{inShop("Deployment", "web")}
	cases := map[string]struct {
		reason string
		scene  *scene
		want   []RuntimeClassUse
	}{
		"deleted": {"its next pods are refused",
			(&scene{}).node("n", nil, nil).class(gpu, nil).workload("Deployment", "web", naming("gpu", asking()), "n", "n"),
			[]RuntimeClassUse{{Name: "gpu", Action: "delete", Pods: 2, Users: on("web-on-n n", "web-on-n n"), Workloads: web}}},
		"replaced": {"a handler is immutable, and so another one takes delete and create",
			(&scene{}).node("n", nil, nil).class(gpu, newClass("gpu", "kata", asking())).workload("Deployment", "web", naming("gpu", asking()), "n"),
			[]RuntimeClassUse{{Name: "gpu", Action: "replace", Pods: 1, Users: on("web-on-n n"), Workloads: web}}},
		"updated": {"what can be changed in place leaves no gap",
			(&scene{}).node("n", nil, nil).class(gpu, newClass("gpu", "runc", bearing(bears("a:NoSchedule")))).workload("Deployment", "web", naming("gpu", asking()), "n"),
			nil},
		"unused": {"nobody misses it",
			(&scene{}).node("n", nil, nil).class(gpu, nil).workload("Deployment", "web", asking(), "n"),
			nil},
		"no pods": {"a workload without pods is refused its next one as well",
			(&scene{}).class(gpu, nil).workload("CronJob", "nightly", naming("gpu", asking())),
			[]RuntimeClassUse{{Name: "gpu", Action: "delete", Workloads: []Workload{inShop("CronJob", "nightly")}}}},
		"bare pod": {"a pod without a workload counts, and there is no workload to name",
			(&scene{}).class(gpu, nil).bare("p", "anywhere", naming("gpu", asking())),
			[]RuntimeClassUse{{Name: "gpu", Action: "delete", Pods: 1, Users: on("p anywhere")}}},
		"a new template": {"pods that name it run on; the workload names another one by now",
			(&scene{}).node("n", nil, nil).class(gpu, nil).workload("Deployment", "web", asking(), "n").
				pods(func(pod *inventory.Pod) { pod.RuntimeClass = "gpu" }),
			[]RuntimeClassUse{{Name: "gpu", Action: "delete", Pods: 1, Users: on("web-on-n n")}}},
		"unknown workload": {"what is known of it are its pods",
			(&scene{}).class(gpu, nil).bare("p", "n", naming("gpu", asking())).bare("q", "n", naming("gpu", asking())).
				pods(func(pod *inventory.Pod) { pod.Owner = inventory.Owner{Kind: "Rollout", Namespace: "shop", Name: "web"} }),
			[]RuntimeClassUse{{Name: "gpu", Action: "delete", Pods: 2, Users: on("p n", "q n"), Workloads: []Workload{inShop("Rollout", "web")}}}},
		"finished": {"pods that have finished, or are being deleted, do not count",
			(&scene{}).class(gpu, nil).bare("p", "n", naming("gpu", asking())).bare("q", "n", naming("gpu", asking())).
				pods(func(pod *inventory.Pod) { pod.Finished, pod.Terminating = pod.Name == "p", pod.Name == "q" }),
			nil},
		"several": {"RuntimeClasses and workloads are sorted",
			(&scene{}).class(newClass("b", "runc", asking()), nil).class(newClass("a", "runc", asking()), nil).
				workload("StatefulSet", "y", naming("b", asking())).workload("Deployment", "z", naming("b", asking())).
				workload("Deployment", "x", naming("a", asking())),
			[]RuntimeClassUse{
				{Name: "a", Action: "delete", Workloads: []Workload{inShop("Deployment", "x")}},
				{Name: "b", Action: "delete", Workloads: []Workload{inShop("Deployment", "z"), inShop("StatefulSet", "y")}},
			}},
	}
	for _, name := range sortedNames(cases) {
		c := cases[name]
		t.Run(name, func(t *testing.T) { expectEqual(t, c.reason, Impact{RuntimeClasses: c.want}, c.scene.of()) })
	}
}
