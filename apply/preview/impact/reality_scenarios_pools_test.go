package impact_test

import (
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// poolScenarios are about labels, RuntimeClasses and pools that come and go.
var poolScenarios = map[string]scenario{
	"daemon pods follow labels": {
		reason: "the DaemonSet controller removes and starts, and no taint is in it",
		nodes:  nodes("a", "b", "c"),
		before: pools{"ssd": labelled(members("a", "b"), "disk", "ssd"), "hdd": labelled(members("c"), "disk", "hdd")},
		after:  pools{"ssd": labelled(members("b", "c"), "disk", "ssd"), "hdd": labelled(members("a"), "disk", "hdd")},
		workloads: []workload{
			daemonSet("ssd-agent", 2, selects("disk=ssd")), daemonSet("all", 3),
			daemonSet("hdd-agent", 1, needs(corev1.NodeSelectorRequirement{Key: "disk", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"ssd"}})),
			deployment("web", 1, on("a"), selects("disk=ssd")),
		},
		want: []string{
			"DaemonSet/hdd-agent on a started",
			"DaemonSet/hdd-agent on c removed because the node no longer matches",
			"DaemonSet/ssd-agent on a removed because the node no longer matches",
			"DaemonSet/ssd-agent on c started",
			"Deployment/web finds no node",
			"Deployment/web on a could not be scheduled again",
		},
	},
	"a taint and daemon pods": {
		reason: "NoExecute ends those that do not tolerate it; with seconds they go and come back",
		nodes:  nodes("a", "b"),
		after:  pools{"gpu": tainted(members("a"), "gpu=yes:NoExecute")},
		workloads: []workload{
			daemonSet("agent", 2), daemonSet("ready", 2, tolerates("gpu")), daemonSet("short", 2, tolerates("gpu:NoExecute@1")),
		},
		want: []string{
			"DaemonSet/agent on a evicted at once",
			"DaemonSet/short on a evicted after 1s",
		},
	},
	"taints go": {
		reason:    "daemon pods start where they could not, and all that could not come back can",
		nodes:     nodes("a", "b"),
		before:    pools{"gpu": tainted(members("a"), "gpu=yes:NoSchedule"), "cpu": members("b")},
		after:     pools{"cpu": members("b")},
		workloads: []workload{daemonSet("agent", 1), deployment("web", 1, on("a"), tolerates("gpu"))},
		want: []string{
			"DaemonSet/agent on a started",
		},
	},
	"budgets": {
		reason: "a budget holds nothing back: more go than it allows while it says so",
		nodes:  nodes("a", "b"),
		after:  pools{"gpu": tainted(members("a"), "gpu=yes:NoExecute")},
		workloads: []workload{
			deployment("web", 3, on("a")), deployment("strict", 2, on("a")), deployment("half", 2, spread),
			statefulSet("db", 2, on("a"), tolerates("gpu:NoExecute@300")), deployment("safe", 1, on("b")), daemonSet("agent", 2),
		},
		budgets: []budget{{"web", 2}, {"strict", 2}, {"half", 1}, {"db", 1}, {"safe", 1}, {"agent", 1}},
		want: []string{
			"DaemonSet/agent on a evicted at once",
			"Deployment/half on a evicted at once",
			"Deployment/strict finds no node",
			"Deployment/strict on a evicted at once, 2 pods",
			"Deployment/web finds no node",
			"Deployment/web on a evicted at once, 3 pods",
			"StatefulSet/db on a evicted after 300s, 2 pods",
			"budget agent allows 1, loses 1",
			"budget db allows 1, loses 2, exceeded",
			"budget half allows 1, loses 1",
			"budget strict allows 0, loses 2, exceeded",
			"budget web allows 1, loses 3, exceeded",
		},
	},
	"finished pods": {
		reason:    "Kubernetes deletes what has ended as well; nothing is disturbed by it",
		nodes:     nodes("a"),
		after:     pools{"gpu": tainted(members("a"), "gpu=yes:NoExecute")},
		workloads: []workload{doneJob("done", 2, on("a")), alone("over", on("a")), job("busy", 2, on("a")), cronJob("nightly", on("a"))},
		budgets:   []budget{{"over", 1}},
		then:      func(p *play) { p.finish("over") },
		want: []string{
			"CronJob/nightly finds no node",
			"CronJob/nightly on a evicted at once",
			"Job/busy finds no node",
			"Job/busy on a evicted at once, 2 pods",
			"Job/done on a evicted at once, finished, 2 pods",
			"Pod/over on a evicted at once, finished",
		},
	},
	"static pods": {
		reason:    "their kubelet gives them a toleration of every NoExecute taint, and no scheduler is asked",
		nodes:     nodes("a"),
		after:     pools{"gpu": tainted(members("a"), "gpu=yes:NoExecute", "gpu=yes:NoSchedule")},
		workloads: []workload{static("proxy", "a"), alone("bare", on("a"))},
		want: []string{
			"Pod/bare is not created again",
			"Pod/bare on a evicted at once",
		},
	},
	"a pool is deleted": {
		reason:    "its RuntimeClass goes, its pods stay and could not be made again",
		nodes:     nodes("a", "b"),
		before:    pools{"gpu": tainted(labelled(members("a"), "gpu", "yes"), "gpu=yes:NoSchedule"), "cpu": members("b")},
		after:     pools{"cpu": members("b")},
		workloads: []workload{deployment("train", 2, inPool("gpu")), alone("bare", inPool("gpu")), daemonSet("agent", 1, selects("gpu=yes"), tolerates("gpu")), alone("free")},
		want: []string{
			"DaemonSet/agent on a removed because the node no longer matches",
			"RuntimeClass gpu delete, named by 3 pods and Deployment/train",
		},
	},
	"a node leaves a pool": {
		reason:    "what asks for the pool runs on and could not come back to it",
		nodes:     nodes("a", "b"),
		before:    pools{"gpu": tainted(labelled(members("a", "b"), "gpu", "yes"), "gpu=yes:NoSchedule")},
		after:     pools{"gpu": tainted(labelled(members("b"), "gpu", "yes"), "gpu=yes:NoSchedule")},
		workloads: []workload{deployment("train", 2, inPool("gpu"), spread), alone("bare", on("a"), inPool("gpu"))},
		want: []string{
			"Deployment/train on a could not be scheduled again",
			"Pod/bare on a could not be scheduled again",
		},
	},
	"a pool gets a taint": {
		reason:    "pods of its own RuntimeClass that run do not have the toleration that the next ones get",
		nodes:     nodes("a"),
		before:    pools{"gpu": members("a")},
		after:     pools{"gpu": tainted(members("a"), "gpu=yes:NoExecute")},
		workloads: []workload{deployment("train", 1, inPool("gpu")), alone("bare", inPool("gpu")), statefulSet("other", 1)},
		want: []string{
			"Deployment/train on a evicted at once",
			"Pod/bare is not created again",
			"Pod/bare on a evicted at once",
			"StatefulSet/other finds no node",
			"StatefulSet/other on a evicted at once",
		},
	},
	"a handler is replaced and Jobs name it": {
		reason: "one that has ended names nothing, one that ends because of the change did when it was predicted",
		nodes:  nodes("a"), settles: true,
		before: pools{"rest": members("none"), "gpu": handled(members("a"), "runc")},
		after:  pools{"rest": members("none"), "gpu": handled(labelled(members("a"), "disk", "ssd"), "kata")},
		workloads: []workload{
			doneJob("over", 2, inPool("gpu")), doneJob("waits", 2, inPool("gpu"), selects("disk=ssd")), job("busy", 1, inPool("gpu")),
		},
		want: []string{"RuntimeClass gpu replace, named by 1 pods and Job/busy, Job/waits"},
	},
	"two pools on a node": {
		reason:    "each taint shuts out the pods of the other RuntimeClass",
		nodes:     nodes("a", "b", "c"),
		before:    pools{"gpu": tainted(members("a", "c"), "gpu=yes:NoSchedule"), "big": tainted(members("b", "c"), "big=yes:PreferNoSchedule")},
		after:     pools{"gpu": tainted(members("a", "b", "c"), "gpu=yes:NoSchedule"), "big": tainted(members("b", "c"), "big=yes:NoSchedule")},
		workloads: []workload{deployment("train", 1, on("c"), inPool("gpu")), deployment("crunch", 1, on("b"), inPool("big"))},
		want: []string{
			"Deployment/crunch finds no node",
			"Deployment/crunch on b could not be scheduled again",
			"Deployment/train finds no node",
			"Deployment/train on c could not be scheduled again",
			"pools big, gpu on b nobody can run",
			"pools big, gpu on c nobody can run",
		},
	},
	"a pool within a pool": {
		reason: "what the inner one inherits, its RuntimeClass tolerates",
		nodes:  nodes("a", "b"),
		before: pools{"gpu": tainted(members("a", "b"), "gpu=yes:NoSchedule")},
		after: pools{
			"gpu":   tainted(members("a", "b"), "gpu=yes:NoSchedule"),
			"inner": tainted(v1.NodePoolSpec{Parent: "gpu", NodeNames: []string{"a"}}, "inner=yes:NoExecute"),
		},
		workloads: []workload{deployment("train", 2, inPool("gpu"), spread), alone("bare", on("a"), inPool("gpu"))},
		want: []string{
			"Deployment/train on a evicted at once",
			"Pod/bare is not created again",
			"Pod/bare on a evicted at once",
		},
	},
	"a node is cordoned": {
		reason:    "nothing could be put there before either",
		nodes:     nodes("a", "b"),
		after:     pools{"gpu": tainted(members("a", "b"), "gpu=yes:NoSchedule")},
		workloads: []workload{alone("bare", on("a")), alone("other", on("b"), tolerates("gpu")), daemonSet("agent", 2)},
		then:      func(p *play) { p.cordon("a") },
		want: []string{
			"DaemonSet/agent finds no node",
			"DaemonSet/agent on a could not be scheduled again",
			"DaemonSet/agent on b could not be scheduled again",
			"Pod/bare on a could not be scheduled again",
		},
	},
	"a selector chooses": {
		reason: "nodes of a label that people give become members",
		nodes:  []node{{name: "a", labels: map[string]string{"kind": "gpu"}}, {name: "b", labels: map[string]string{"kind": "cpu"}}},
		after:  pools{"gpu": tainted(selected("kind", "gpu"), "gpu=yes:NoExecute")},
		workloads: []workload{
			deployment("web", 2, spread), deployment("by-kind", 1, selects("kind=gpu")),
			deployment("picky", 2, spread, needs(corev1.NodeSelectorRequirement{Key: "kind", Operator: corev1.NodeSelectorOpIn, Values: []string{"gpu", "cpu"}})),
		},
		want: []string{
			"Deployment/by-kind finds no node",
			"Deployment/by-kind on a evicted at once",
			"Deployment/picky on a evicted at once",
			"Deployment/web on a evicted at once",
		},
	},
	"a daemon pod waits for the pool": {
		reason: "its controller goes by the template, the scheduler by what the RuntimeClass has added",
		nodes:  nodes("a", "b"),
		before: pools{"gpu": tainted(members("a"), "gpu=yes:PreferNoSchedule")},
		after:  pools{"gpu": tainted(members("a", "b"), "gpu=yes:PreferNoSchedule")},
		workloads: []workload{
			daemonSet("agent", 1, inPool("gpu"), waits(1)), deployment("train", 1, inPool("gpu")),
		},
		want: []string{
			"DaemonSet/agent on b started",
		},
	},
	"a daemon pod waits for the pool and its taint": {
		reason: "the scheduler finds the node for it, and its controller, which goes by the template, deletes it then: nothing starts",
		nodes:  nodes("a", "b", "c"),
		before: pools{"gpu": tainted(members("a"), "gpu=yes:NoExecute")},
		after:  pools{"gpu": tainted(members("a", "b"), "gpu=yes:NoExecute")},
		workloads: []workload{
			daemonSet("agent", 0, inPool("gpu"), waits(2)), daemonSet("ready", 1, inPool("gpu"), tolerates("gpu"), waits(2)),
		},
		want: []string{
			"DaemonSet/ready on b started",
		},
	},
}
