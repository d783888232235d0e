package impact_test

import (
	v1 "github.com/nodepools/nodepools/api/v1"
)

type pools = map[string]v1.NodePoolSpec

// members is a pool of nodes by name.
func members(names ...string) v1.NodePoolSpec { return v1.NodePoolSpec{NodeNames: names} }

// tainted is a pool with taints, labelled one with labels.
func tainted(spec v1.NodePoolSpec, texts ...string) v1.NodePoolSpec {
	spec.Taints = taints(texts...)
	return spec
}

func labelled(spec v1.NodePoolSpec, key, value string) v1.NodePoolSpec {
	spec.Labels = map[string]v1.LabelValue{key: v1.LabelValue(value)}
	return spec
}

func handled(spec v1.NodePoolSpec, handler string) v1.NodePoolSpec {
	spec.Handler = handler
	return spec
}

func selected(key, value string) v1.NodePoolSpec {
	return v1.NodePoolSpec{Selector: &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{key: v1.LabelValue(value)}}}
}

// taintScenarios are about taints alone.
var taintScenarios = map[string]scenario{
	"a new NoExecute taint": {
		reason: "what does not tolerate it goes at once; what stands on another node stays",
		nodes:  nodes("a", "b"),
		after:  pools{"gpu": tainted(members("a"), "gpu=yes:NoExecute")},
		workloads: []workload{
			deployment("web", 2, on("a")), statefulSet("db", 1, on("a")), alone("bare", on("a")), alone("apart", on("b")),
			deployment("ready", 1, on("a"), tolerates("gpu=yes:NoExecute")), alone("any", on("a"), tolerates("")),
			alone("value", on("a"), tolerates("gpu=no:NoExecute")), alone("effect", on("a"), tolerates("gpu:NoSchedule")),
			deployment("free", 2, spread),
		},
		want: []string{
			"Deployment/free on a evicted at once",
			"Deployment/web finds no node",
			"Deployment/web on a evicted at once, 2 pods",
			"Pod/bare is not created again",
			"Pod/bare on a evicted at once",
			"Pod/effect is not created again",
			"Pod/effect on a evicted at once",
			"Pod/value is not created again",
			"Pod/value on a evicted at once",
			"StatefulSet/db finds no node",
			"StatefulSet/db on a evicted at once",
		},
	},
	"seconds of toleration": {
		reason: "each goes when the first of the tolerations that it uses is over; the scheduler takes any toleration",
		nodes:  nodes("a"),
		after:  pools{"gpu": tainted(members("a"), "gpu=yes:NoExecute", "hot:NoExecute")},
		workloads: []workload{
			alone("at-once", on("a"), tolerates("gpu", "hot:NoExecute@0")), alone("short", on("a"), tolerates("gpu:NoExecute@1", "hot")),
			alone("shortest", on("a"), tolerates("gpu:NoExecute@300", "hot:NoExecute@1")), deployment("long", 2, on("a"), tolerates("gpu:NoExecute@300", "hot:NoExecute@600")),
			alone("for-good", on("a"), tolerates("gpu", "hot")), alone("half", on("a"), tolerates("gpu:NoExecute@300")),
			alone("other", on("a"), tolerates("", "cold:NoExecute@1")), alone("first", on("a"), tolerates("gpu:NoExecute@300", "hot", "gpu:NoExecute@1")),
			alone("negative", on("a"), tolerates(":NoExecute@-5")),
		},
		want: []string{
			"Deployment/long on a evicted after 300s, 2 pods",
			"Pod/at-once is not created again",
			"Pod/at-once on a evicted at once",
			"Pod/first on a evicted after 300s",
			"Pod/half is not created again",
			"Pod/half on a evicted at once",
			"Pod/negative is not created again",
			"Pod/negative on a evicted at once",
			"Pod/short is not created again",
			"Pod/short on a evicted after 1s",
			"Pod/shortest is not created again",
			"Pod/shortest on a evicted after 1s",
		},
	},
	"a NoSchedule taint": {
		reason: "what runs goes on, and could not come back",
		nodes:  nodes("a", "b"),
		after:  pools{"gpu": tainted(members("a"), "gpu=yes:NoSchedule")},
		workloads: []workload{
			deployment("web", 2, on("a")), deployment("free", 2, spread), alone("bare", on("a")),
			alone("ready", on("a"), tolerates("gpu")), alone("seconds", on("a"), tolerates("gpu=yes:NoSchedule")),
			daemonSet("agent", 2), daemonSet("at-home", 2, tolerates("gpu")),
		},
		want: []string{
			"DaemonSet/agent on a could not be scheduled again",
			"Deployment/free on a could not be scheduled again",
			"Deployment/web finds no node",
			"Deployment/web on a could not be scheduled again, 2 pods",
			"Pod/bare on a could not be scheduled again",
		},
	},
	"NoSchedule becomes NoExecute": {
		reason: "whoever tolerates one effect need not tolerate the other",
		nodes:  nodes("a"),
		before: pools{"gpu": tainted(members("a"), "gpu=yes:NoSchedule")},
		after:  pools{"gpu": tainted(members("a"), "gpu=yes:NoExecute")},
		workloads: []workload{
			alone("one", on("a"), tolerates("gpu:NoSchedule")), alone("both", on("a"), tolerates("gpu")),
			deployment("web", 1, on("a"), inPool("gpu")), daemonSet("agent", 1, tolerates("gpu=yes:NoSchedule")),
		},
		want: []string{
			"DaemonSet/agent finds no node",
			"DaemonSet/agent on a evicted at once",
			"Deployment/web on a evicted at once",
			"Pod/one is not created again",
			"Pod/one on a evicted at once",
		},
	},
	"a second taint": {
		reason: "the one that was there before evicts nobody again, but limits how long the other is tolerated",
		nodes:  nodes("a"),
		before: pools{"gpu": tainted(members("a"), "gpu=yes:NoExecute")},
		after:  pools{"gpu": tainted(members("a"), "gpu=yes:NoExecute", "hot:NoExecute")},
		workloads: []workload{
			alone("one", on("a"), tolerates("gpu")), alone("both", on("a"), tolerates("gpu", "hot")),
			alone("later", on("a"), tolerates("gpu", "hot:NoExecute@300")), deployment("member", 1, inPool("gpu")),
			alone("waiting", on("a"), tolerates("gpu:NoExecute@300", "hot:NoExecute@1")), alone("not-so-long", on("a"), tolerates("gpu:NoExecute@300")),
		},
		pending: []string{"waiting"},
		want: []string{
			"Deployment/member on a evicted at once",
			"Pod/later on a evicted after 300s",
			"Pod/not-so-long is not created again",
			"Pod/not-so-long on a evicted at once",
			"Pod/one is not created again",
			"Pod/one on a evicted at once",
		},
	},
}
