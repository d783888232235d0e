package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func TestRuntimeClass(t *testing.T) {
	class := func(name, handler string, selector map[string]string, tolerations ...corev1.Toleration) *nodev1.RuntimeClass {
		return &nodev1.RuntimeClass{
			TypeMeta:   metav1.TypeMeta{APIVersion: "node.k8s.io/v1", Kind: "RuntimeClass"},
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Handler:    handler,
			Scheduling: &nodev1.Scheduling{NodeSelector: selector, Tolerations: tolerations},
		}
	}
	equal := func(key, value string, effect corev1.TaintEffect) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: corev1.TolerationOpEqual, Value: value, Effect: effect}
	}
	outer := define("outer", v1.NodePoolSpec{
		Handler: "kata",
		Labels:  map[string]v1.LabelValue{"zone": "a", "tier": "outer"},
		Taints:  []v1.Taint{noSchedule("k", "outer"), {Key: "k", Value: "out", Effect: corev1.TaintEffectNoExecute}},
	})
	since := func(second int64, pool *v1.NodePool) *v1.NodePool {
		pool.CreationTimestamp = metav1.Unix(second, 0)
		return pool
	}
	cases := map[string]struct {
		reason string
		pools  []*v1.NodePool
		pool   string
		want   *nodev1.RuntimeClass
	}{
		"the manifest of the product": {
			"its labels and its role label select, its taint is tolerated, its handler runs",
			[]*v1.NodePool{define("master", v1.NodePoolSpec{
				Taints:  []v1.Taint{noSchedule("node-pool.lailin.xyz", "master")},
				Labels:  map[string]v1.LabelValue{"node-pool.lailin.xyz/master": "8", "node-pool.lailin.xyz/test": "2"},
				Handler: "runc",
			})},
			"master",
			class("node-pool-master", "runc",
				map[string]string{"node-pool.lailin.xyz/master": "8", "node-pool.lailin.xyz/test": "2", role("master"): ""},
				equal("node-pool.lailin.xyz", "master", "NoSchedule")),
		},
		"no labels": {
			"the role label selects, also where the controller puts it on; runc runs",
			[]*v1.NodePool{onNode("gpu", v1.NodePoolSpec{})}, "gpu",
			class("node-pool-gpu", "runc", map[string]string{role("gpu"): ""}),
		},
		"within another, of a higher priority": {
			"what both put on is selected and tolerated, and the handler is inherited",
			[]*v1.NodePool{outer, define("inner", v1.NodePoolSpec{
				Parent: "outer", Priority: 1,
				Labels: map[string]v1.LabelValue{"tier": "inner"},
				Taints: []v1.Taint{noSchedule("k", "inner"), noSchedule("only", "")},
			})},
			"inner",
			class("node-pool-inner", "kata", map[string]string{"zone": "a", "tier": "inner", role("inner"): "", role("outer"): ""},
				equal("k", "inner", "NoSchedule"), equal("k", "out", "NoExecute"), equal("only", "", "NoSchedule")),
		},
		"within another, of the same priority": {
			"it selects and tolerates what the nodes carry, which is by rank what the outer pool says",
			[]*v1.NodePool{since(1, outer.DeepCopy()), since(2, define("inner", v1.NodePoolSpec{
				Parent: "outer", Handler: "runc",
				Labels: map[string]v1.LabelValue{"tier": "inner"},
				Taints: []v1.Taint{noSchedule("k", "inner"), noSchedule("only", "")},
			}))},
			"inner",
			class("node-pool-inner", "runc", map[string]string{"zone": "a", "tier": "outer", role("inner"): "", role("outer"): ""},
				equal("k", "outer", "NoSchedule"), equal("only", "", "NoSchedule"), equal("k", "out", "NoExecute")),
		},
		"within another, without labels": {
			"the outer labels alone would select nodes that are not the pool's",
			[]*v1.NodePool{outer, define("inner", v1.NodePoolSpec{Parent: "outer", Handler: "runc"})},
			"inner",
			class("node-pool-inner", "runc", map[string]string{"zone": "a", "tier": "outer", role("inner"): "", role("outer"): ""},
				equal("k", "outer", "NoSchedule"), equal("k", "out", "NoExecute")),
		},
		"the outer one": {
			"it does not follow what is within it",
			[]*v1.NodePool{outer, define("inner", v1.NodePoolSpec{Parent: "outer", Handler: "runc", Taints: []v1.Taint{noSchedule("only", "")}})},
			"outer",
			class("node-pool-outer", "kata", map[string]string{"zone": "a", "tier": "outer", role("outer"): ""},
				equal("k", "outer", "NoSchedule"), equal("k", "out", "NoExecute")),
		},
		"a rollout policy": {
			"it is about other pools' nodes, and no pod names it",
			[]*v1.NodePool{onNode("fleet", v1.NodePoolSpec{Rollout: &v1.Rollout{Paused: true}})}, "fleet", nil,
		},
		"a rollout policy chosen by its role label": {
			"the same", []*v1.NodePool{define("fleet", v1.NodePoolSpec{Rollout: &v1.Rollout{Paused: true}})}, "fleet", nil,
		},
		"a rollout and a handler": {
			"pods are meant to name it",
			[]*v1.NodePool{onNode("gpu", v1.NodePoolSpec{Handler: "runc", Rollout: &v1.Rollout{Paused: true}})}, "gpu",
			class("node-pool-gpu", "runc", map[string]string{role("gpu"): ""}),
		},
		"within a rollout policy": {
			"no node has the role label of the policy",
			[]*v1.NodePool{onNode("fleet", v1.NodePoolSpec{Rollout: &v1.Rollout{Paused: true}}), define("inner", v1.NodePoolSpec{Parent: "fleet"})},
			"inner", class("node-pool-inner", "runc", map[string]string{role("inner"): ""}),
		},
		"faulty":  {"it is unknown what it should be", []*v1.NodePool{define("a", v1.NodePoolSpec{Parent: "gone"})}, "a", nil},
		"unknown": {"no pool, no RuntimeClass", nil, "a", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Expand(c.pools).RuntimeClass(c.pool)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
