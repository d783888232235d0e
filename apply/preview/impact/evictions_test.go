package impact

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// TestEvictionOfOnePod goes through what the taint eviction controller asks of a
// pod and the taints of its node.
func TestEvictionOfOnePod(t *testing.T) {
	type expected struct {
		taints []string
		after  int64
	}
	atOnce := func(taints ...string) *expected { return &expected{taints: taints} }
	const noExecute = "gpu=yes:NoExecute"
	numeric := func(operator corev1.TolerationOperator, value string) corev1.Toleration {
		return corev1.Toleration{Key: "level", Operator: operator, Value: value, Effect: corev1.TaintEffectNoExecute}
	}
	cases := map[string]struct {
		reason      string
		was, is     []string
		tolerations []corev1.Toleration
		want        *expected
	}{
		"new taint":          {"a pod that tolerates nothing goes at once", nil, words(noExecute), nil, atOnce(noExecute)},
		"taint from before":  {"what stood there before is not new", words(noExecute), words(noExecute, "a=b:NoSchedule"), nil, nil},
		"new value":          {"another value is another taint", words("gpu=no:NoExecute"), words(noExecute), []corev1.Toleration{bears("gpu=no:NoExecute")}, atOnce(noExecute)},
		"new value, any":     {"a toleration of all values holds", words("gpu=no:NoExecute"), words(noExecute), []corev1.Toleration{bears("gpu:NoExecute")}, nil},
		"from NoSchedule":    {"the same key with another effect is another taint", words("gpu=yes:NoSchedule"), words(noExecute), []corev1.Toleration{bears("gpu=yes:NoSchedule")}, atOnce(noExecute)},
		"NoSchedule":         {"NoSchedule deletes nothing", nil, words("gpu=yes:NoSchedule"), []corev1.Toleration{bears("gpu=yes:NoSchedule")}, nil},
		"PreferNoSchedule":   {"PreferNoSchedule deletes nothing and keeps nothing out", nil, words("gpu=yes:PreferNoSchedule"), nil, nil},
		"tolerated":          {"a toleration without an end keeps the pod", nil, words(noExecute), []corev1.Toleration{bears(noExecute)}, nil},
		"other value":        {"a toleration of another value does not", nil, words(noExecute), []corev1.Toleration{bears("gpu=no:NoExecute")}, atOnce(noExecute)},
		"other key":          {"a toleration of another key does not", nil, words(noExecute), []corev1.Toleration{bears("tpu:NoExecute")}, atOnce(noExecute)},
		"other effect":       {"a toleration of another effect does not", nil, words(noExecute), []corev1.Toleration{bears("gpu=yes:NoSchedule")}, atOnce(noExecute)},
		"all effects":        {"no effect means all", nil, words(noExecute), []corev1.Toleration{bears("gpu=yes:")}, nil},
		"all keys":           {"Exists without a key means all", nil, words(noExecute), []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, nil},
		"no operator":        {"no operator means Equal", nil, words(noExecute), []corev1.Toleration{{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoExecute}}, nil},
		"no value":           {"an empty value is a value", nil, words("gpu:NoExecute"), []corev1.Toleration{bears("gpu=:NoExecute")}, nil},
		"greater":            {"Gt compares numbers", nil, words("level=5:NoExecute"), []corev1.Toleration{numeric(corev1.TolerationOpGt, "4")}, nil},
		"not greater":        {"Gt is not met by an equal number", nil, words("level=5:NoExecute"), []corev1.Toleration{numeric(corev1.TolerationOpGt, "5")}, atOnce("level=5:NoExecute")},
		"less":               {"Lt compares numbers", nil, words("level=5:NoExecute"), []corev1.Toleration{numeric(corev1.TolerationOpLt, "6")}, nil},
		"no number":          {"what is no number is neither greater nor less", nil, words("level=high:NoExecute"), []corev1.Toleration{numeric(corev1.TolerationOpGt, "4")}, atOnce("level=high:NoExecute")},
		"for a time":         {"tolerationSeconds is how long it stays", nil, words(noExecute), []corev1.Toleration{bearsFor(300, noExecute)}, &expected{words(noExecute), 300}},
		"zero seconds":       {"0 is at once", nil, words(noExecute), []corev1.Toleration{bearsFor(0, noExecute)}, atOnce(noExecute)},
		"negative seconds":   {"less than 0 is at once", nil, words(noExecute), []corev1.Toleration{bearsFor(-7, noExecute)}, atOnce(noExecute)},
		"the shortest time":  {"of several taints the shortest time counts", nil, words("a=:NoExecute", "b=:NoExecute"), []corev1.Toleration{bearsFor(300, "a:NoExecute"), bearsFor(30, "b:NoExecute")}, &expected{words("a:NoExecute", "b:NoExecute"), 30}},
		"one without an end": {"a taint that is tolerated for good is not named", nil, words("a=:NoExecute", "b=:NoExecute"), []corev1.Toleration{bears("a:NoExecute"), bearsFor(30, "b:NoExecute")}, &expected{words("b:NoExecute"), 30}},
		"one untolerated":    {"one taint that is not tolerated is enough", nil, words("a=:NoExecute", "b=:NoExecute"), []corev1.Toleration{bearsFor(300, "a:NoExecute")}, atOnce("a:NoExecute", "b:NoExecute")},
		"first toleration":   {"of several tolerations the first that matches counts, though a later one has no end", nil, words(noExecute), []corev1.Toleration{bearsFor(60, noExecute), bears("gpu:NoExecute")}, &expected{words(noExecute), 60}},
		"first has no end":   {"and so it does the other way round", nil, words(noExecute), []corev1.Toleration{bears("gpu:NoExecute"), bearsFor(60, noExecute)}, nil},
		"an old one as well": {"a taint from before that is tolerated for good changes nothing", words("a=:NoExecute"), words("a=:NoExecute", noExecute), []corev1.Toleration{bears("a:NoExecute"), bearsFor(60, noExecute)}, &expected{words(noExecute), 60}},
		"time runs already":  {"a time that runs already is not made shorter: the pod goes by the old taint", words("a=:NoExecute"), words("a=:NoExecute", noExecute), []corev1.Toleration{bearsFor(300, "a:NoExecute"), bearsFor(60, noExecute)}, nil},
		"time is cut short":  {"unless the new taint is not tolerated at all", words("a=:NoExecute"), words("a=:NoExecute", noExecute), []corev1.Toleration{bearsFor(300, "a:NoExecute")}, atOnce(noExecute)},
		"time goes on":       {"nor is it stopped where another taint comes in its place", words("a=:NoExecute"), words(noExecute), []corev1.Toleration{bearsFor(300, "a:NoExecute"), bearsFor(300, noExecute)}, nil},
		"gone in no time":    {"and so is one that it leaves no time", words("a=:NoExecute"), words("a=:NoExecute", noExecute), []corev1.Toleration{bearsFor(0, "a:NoExecute")}, nil},
		"going already":      {"a pod that an earlier taint deletes is not listed", words("a=:NoExecute"), words("a=:NoExecute", noExecute), nil, nil},
		"taint goes":         {"a taint that goes deletes nothing", words("a=:NoExecute", noExecute), words(noExecute), []corev1.Toleration{bears(noExecute)}, nil},
	}
	for _, name := range sortedNames(cases) {
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			s := (&scene{}).node("n", c.was, c.is).node("free", nil, nil).bare("p", "n", bearing(c.tolerations...))
			got := s.of()
			var want []Eviction
			if c.want != nil {
				want = []Eviction{{Workload: inShop("Pod", "p"), Taints: c.want.taints, AfterSeconds: c.want.after, Pods: on("p n"), NotRecreated: true}}
			}
			expectEqual(t, c.reason, Impact{Evictions: want}, got)
		})
	}
}

// TestEvictedPods covers which pods are evicted and how they are listed.
func TestEvictedPods(t *testing.T) {
	tainted := words("gpu=yes:NoExecute")
	cases := map[string]struct {
		reason string
		scene  *scene
		want   Impact
	}{
		"a workload": {
			"pods of one workload are grouped, and another node takes the next one",
			(&scene{}).node("a", nil, tainted).node("b", nil, tainted).node("c", nil, nil).
				workload("Deployment", "web", inventory.Scheduling{}, "b", "a", "c"),
			Impact{Evictions: []Eviction{{Workload: inShop("Deployment", "web"), Taints: tainted, Pods: on("web-on-a a", "web-on-b b")}}},
		},
		"noFeasibleNode": {
			"no node is left for the next pod",
			(&scene{}).node("a", nil, tainted).node("b", nil, tainted).workload("Deployment", "web", inventory.Scheduling{}, "a"),
			Impact{Evictions: []Eviction{{Workload: inShop("Deployment", "web"), Taints: tainted, Pods: on("web-on-a a"), NoFeasibleNode: true}}},
		},
		"infeasible, by a RuntimeClass that goes": {
			"a pod that is refused has no place either",
			(&scene{}).node("a", nil, tainted).node("b", nil, nil).class(newClass("gpu", "runc", asking()), nil).
				workload("Deployment", "web", naming("gpu", asking()), "a"),
			Impact{
				Evictions:      []Eviction{{Workload: inShop("Deployment", "web"), Taints: tainted, Pods: on("web-on-a a"), NoFeasibleNode: true}},
				RuntimeClasses: []RuntimeClassUse{{Name: "gpu", Action: "delete", Pods: 1, Users: on("web-on-a a"), Workloads: []Workload{inShop("Deployment", "web")}}},
			},
		},
		"the class after": {
			"the pod is evicted by what its RuntimeClass did not tolerate when it was made, and the next one is led back",
			(&scene{}).node("a", words("team=x"), words("team=x", "gpu=yes:NoExecute")).
				class(newClass("gpu", "runc", asking("team=x")), newClass("gpu", "runc", with(asking("team=x"), bears("gpu=yes:NoExecute")))).
				workload("Deployment", "web", naming("gpu", asking()), "a"),
			Impact{Evictions: []Eviction{{Workload: inShop("Deployment", "web"), Taints: tainted, Pods: on("web-on-a a")}}},
		},
		"different times": {
			"pods of one workload that stay for different times are listed separately, the first to go first",
			(&scene{}).node("a", nil, tainted).node("b", nil, nil).
				workload("Deployment", "web", bearing(bearsFor(60, "gpu:NoExecute")), "a").
				pods(func(pod *inventory.Pod) { pod.Name = "late" }).
				workload("Deployment", "web", inventory.Scheduling{}, "a"),
			Impact{Evictions: []Eviction{
				{Workload: inShop("Deployment", "web"), Taints: tainted, Pods: on("web-on-a a")},
				{Workload: inShop("Deployment", "web"), Taints: tainted, AfterSeconds: 60, Pods: on("late a")},
			}},
		},
		"finished": {
			"Kubernetes deletes finished pods as well; no budget misses them",
			(&scene{}).node("a", nil, tainted).node("b", nil, nil).workload("Job", "batch", inventory.Scheduling{}, "a").
				pods(func(pod *inventory.Pod) { pod.Finished, pod.Ready, pod.Budgets = true, false, words("all") }),
			Impact{Evictions: []Eviction{{Workload: inShop("Job", "batch"), Taints: tainted, Pods: on("batch-on-a a"), Finished: true}}},
		},
		"finished, and never again": {
			"nothing makes a pod like it, and so none looks for a place",
			(&scene{}).node("a", nil, tainted).bare("p", "a", inventory.Scheduling{}).pods(func(pod *inventory.Pod) { pod.Finished = true }),
			Impact{Evictions: []Eviction{{Workload: inShop("Pod", "p"), Taints: tainted, Pods: on("p a"), Finished: true}}},
		},
		"finished, and to be again": {
			"a CronJob makes another",
			(&scene{}).node("a", nil, tainted).workload("CronJob", "nightly", inventory.Scheduling{}, "a").pods(func(pod *inventory.Pod) { pod.Finished = true }),
			Impact{Evictions: []Eviction{{Workload: inShop("CronJob", "nightly"), Taints: tainted, Pods: on("nightly-on-a a"), Finished: true, NoFeasibleNode: true}}},
		},
		"terminating": {
			"what is being deleted is not deleted again",
			(&scene{}).node("a", nil, tainted).workload("Deployment", "web", inventory.Scheduling{}, "a").
				pods(func(pod *inventory.Pod) { pod.Terminating = true }),
			Impact{},
		},
		"static": {
			"a static pod runs on, whatever becomes of its picture",
			(&scene{}).node("a", nil, tainted).bare("etcd", "a", inventory.Scheduling{}).
				pods(func(pod *inventory.Pod) { pod.Static = true }),
			Impact{},
		},
		"a pod of a DaemonSet": {
			"the controller that adds tolerations to a DaemonSet's pods adds none for this",
			(&scene{}).node("a", nil, tainted).node("b", nil, nil).workload("DaemonSet", "logs", bearing(daemonTolerations...), "a", "b"),
			Impact{Evictions: []Eviction{{Workload: inShop("DaemonSet", "logs"), Taints: tainted, Pods: on("logs-on-a a")}}},
		},
		"a pod of a DaemonSet, and no place": {
			"another node would take it by its RuntimeClass, and the DaemonSet controller, which uses the template, creates none there",
			(&scene{}).node("a", nil, tainted).node("b", words("team=x:NoSchedule"), words("team=x:NoSchedule")).
				class(newClass("x", "runc", bearing(bears("team:NoSchedule"))), newClass("x", "runc", bearing(bears("team:NoSchedule")))).
				workload("DaemonSet", "logs", naming("x", asking()), "a"),
			Impact{Evictions: []Eviction{{Workload: inShop("DaemonSet", "logs"), Taints: tainted, Pods: on("logs-on-a a"), NoFeasibleNode: true}}},
		},
		"a bare pod, and no place": {
			"it has no next pod, whether a node would take one or not",
			(&scene{}).node("a", nil, tainted).bare("p", "a", asking("disk=ssd")),
			Impact{Evictions: []Eviction{{Workload: inShop("Pod", "p"), Taints: tainted, Pods: on("p a"), NotRecreated: true}}},
		},
		"a pod of a StatefulSet, and no place": {
			"its controller creates the pod of the same name again, and that waits",
			(&scene{}).node("a", nil, tainted).workload("StatefulSet", "db", inventory.Scheduling{}, "a"),
			Impact{Evictions: []Eviction{{Workload: inShop("StatefulSet", "db"), Taints: tainted, Pods: on("db-on-a a"), NoFeasibleNode: true}}},
		},
		"a pod of a Job, and a place": {
			"its controller creates another one",
			(&scene{}).node("a", nil, tainted).node("b", nil, nil).workload("Job", "batch", inventory.Scheduling{}, "a"),
			Impact{Evictions: []Eviction{{Workload: inShop("Job", "batch"), Taints: tainted, Pods: on("batch-on-a a")}}},
		},
		"a pod of a DaemonSet that is gone": {
			"nobody creates it again, and so none looks for a place",
			(&scene{}).node("a", nil, tainted).bare("p", "a", inventory.Scheduling{}).
				pods(func(pod *inventory.Pod) {
					pod.Owner = inventory.Owner{Kind: "DaemonSet", Namespace: "shop", Name: "logs"}
				}),
			Impact{Evictions: []Eviction{{Workload: inShop("DaemonSet", "logs"), Taints: tainted, Pods: on("p a"), NotRecreated: true}}},
		},
		"a node condition": {
			"pods of DaemonSets outlive a node that is not ready",
			(&scene{}).node("a", nil, words("node.kubernetes.io/not-ready:NoExecute")).
				workload("DaemonSet", "logs", bearing(daemonTolerations...), "a"),
			Impact{},
		},
		"a node that is not known": {
			"nothing is known of its pods",
			(&scene{}).bare("p", "gone", inventory.Scheduling{}),
			Impact{},
		},
		"an unknown workload": {
			"a pod whose workload is not known uses its own spec, and is listed under the workload's name",
			(&scene{}).node("a", nil, tainted).bare("p", "a", inventory.Scheduling{}).
				pods(func(pod *inventory.Pod) { pod.Owner = inventory.Owner{Kind: "Rollout", Namespace: "shop", Name: "web"} }),
			Impact{Evictions: []Eviction{{Workload: inShop("Rollout", "web"), Taints: tainted, Pods: on("p a"), NoFeasibleNode: true}}},
		},
	}
	for _, name := range sortedNames(cases) {
		c := cases[name]
		t.Run(name, func(t *testing.T) { expectEqual(t, c.reason, c.want, c.scene.of()) })
	}
}
