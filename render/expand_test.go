package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// define returns a pool as it is in a cluster.
func define(name string, spec v1.NodePoolSpec) *v1.NodePool {
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
	v1.SetNodePoolDefaults(pool)
	return pool
}

func pausedPool(pool *v1.NodePool) *v1.NodePool {
	pool.Annotations = map[string]string{v1.ReconcileAnnotation: v1.Disabled}
	return pool
}

func deletedPool(pool *v1.NodePool) *v1.NodePool {
	deleted := metav1.Unix(1, 0)
	pool.DeletionTimestamp = &deleted
	return pool
}

// onNode returns a pool of the one node named n.
func onNode(name string, spec v1.NodePoolSpec) *v1.NodePool {
	spec.NodeNames = []string{"n"}
	return define(name, spec)
}

func role(pool string) string { return v1.RoleLabel(pool) }

func noSchedule(key, value string) v1.Taint {
	return v1.Taint{Key: key, Value: value, Effect: corev1.TaintEffectNoSchedule}
}

// wants is what a pool wants that has the default conflict policy.
func wants(pool, value string) Want {
	return Want{Value: value, Pool: pool, Policy: v1.ReportConflicts}
}

func TestExpansionNode(t *testing.T) {
	master := define("master", v1.NodePoolSpec{
		Taints: []v1.Taint{noSchedule("node-pool.lailin.xyz", "master")},
		Labels: map[string]v1.LabelValue{"node-pool.lailin.xyz/master": "8", "node-pool.lailin.xyz/test": "2"},
	})
	brokenSelector := &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"a b": "x"}}
	cases := map[string]struct {
		reason string
		pools  []*v1.NodePool
		labels map[string]string
		want   Desired
	}{
		"by role": {
			"members by role label have it already: it is not the pool's to put there",
			[]*v1.NodePool{master},
			map[string]string{role("master"): ""},
			Desired{
				Pools: []string{"master"},
				Labels: map[string]Want{
					"node-pool.lailin.xyz/master": wants("master", "8"),
					"node-pool.lailin.xyz/test":   wants("master", "2"),
				},
				Taints: map[TaintID]Want{{"node-pool.lailin.xyz", "NoSchedule"}: wants("master", "master")},
			},
		},
		"not a member": {
			"a node outside of all pools gets nothing",
			[]*v1.NodePool{master},
			map[string]string{"other": ""},
			Desired{},
		},
		"role label put on": {
			"members by another way get the role label, for kubectl get nodes to show",
			[]*v1.NodePool{onNode("gpu", v1.NodePoolSpec{Annotations: map[string]v1.AnnotationValue{"team": "a\nb"}})},
			nil,
			Desired{
				Pools:       []string{"gpu"},
				Labels:      map[string]Want{role("gpu"): wants("gpu", "")},
				Annotations: map[string]Want{"team": wants("gpu", "a\nb")},
			},
		},
		"no role label of a rollout policy": {
			"kubectl get nodes would show it on all of them, and it says nothing of a node",
			[]*v1.NodePool{onNode("fleet", v1.NodePoolSpec{Rollout: &v1.Rollout{Paused: true}}), onNode("gpu", v1.NodePoolSpec{Rollout: &v1.Rollout{Paused: true}, Handler: "runc"})},
			nil,
			Desired{Pools: []string{"fleet", "gpu"}, Labels: map[string]Want{role("gpu"): wants("gpu", "")}},
		},
		"own role label": {
			"a pool may say what the controller does by itself",
			[]*v1.NodePool{onNode("gpu", v1.NodePoolSpec{Labels: map[string]v1.LabelValue{role("gpu"): ""}})},
			nil,
			Desired{Pools: []string{"gpu"}, Labels: map[string]Want{role("gpu"): wants("gpu", "")}},
		},
		"one taint key, two effects": {
			"a taint is known by key and effect",
			[]*v1.NodePool{onNode("a", v1.NodePoolSpec{Taints: []v1.Taint{
				{Key: "k", Value: "1", Effect: corev1.TaintEffectNoSchedule},
				{Key: "k", Value: "2", Effect: corev1.TaintEffectNoExecute},
			}})},
			nil,
			Desired{
				Pools:  []string{"a"},
				Labels: map[string]Want{role("a"): wants("a", "")},
				Taints: map[TaintID]Want{{"k", "NoSchedule"}: wants("a", "1"), {"k", "NoExecute"}: wants("a", "2")},
			},
		},
		"deleted pool": {
			"a pool that is being deleted wants nothing any more",
			[]*v1.NodePool{deletedPool(onNode("a", v1.NodePoolSpec{}))},
			nil,
			Desired{},
		},
		"broken pool": {
			"a pool whose selector cannot be read has no members, and the others go on",
			[]*v1.NodePool{
				define("a", v1.NodePoolSpec{Selector: brokenSelector, Labels: map[string]v1.LabelValue{"k": "v"}}),
				onNode("b", v1.NodePoolSpec{}),
			},
			map[string]string{"a b": "x"},
			Desired{Pools: []string{"b"}, Labels: map[string]Want{role("b"): wants("b", "")}},
		},
		"child outside of its parent": {
			"the nodes of a pool are within those of the parent",
			[]*v1.NodePool{
				define("outer", v1.NodePoolSpec{NodeNames: []string{"m*"}}),
				onNode("inner", v1.NodePoolSpec{Parent: "outer"}),
			},
			nil,
			Desired{},
		},
		"parent's role label with a value": {
			"it does not make members, of the parent or of what is within",
			[]*v1.NodePool{define("outer", v1.NodePoolSpec{}), onNode("inner", v1.NodePoolSpec{Parent: "outer"})},
			map[string]string{role("outer"): "true"},
			Desired{},
		},
		"child within its parent": {
			"each pool puts on its own part; the rank decides who has a key that both want",
			[]*v1.NodePool{
				onNode("outer", v1.NodePoolSpec{Priority: 9, Labels: map[string]v1.LabelValue{"k": "outer", "zone": "a"}}),
				onNode("inner", v1.NodePoolSpec{Parent: "outer", Labels: map[string]v1.LabelValue{"k": "inner"}}),
			},
			nil,
			Desired{
				Pools: []string{"inner", "outer"},
				Labels: map[string]Want{
					role("inner"): wants("inner", ""), role("outer"): wants("outer", ""),
					"k": wants("outer", "outer"), "zone": wants("outer", "a"),
				},
			},
		},
		"parent deleted": {
			"its members are unknown: the child is faulty and frozen",
			[]*v1.NodePool{
				deletedPool(onNode("outer", v1.NodePoolSpec{})),
				onNode("inner", v1.NodePoolSpec{Parent: "outer"}),
			},
			nil,
			Desired{},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := Expand(c.pools).Node("n", c.labels)
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Want{}, "Rank")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestExpansionProblem(t *testing.T) {
	unreadable := &v1.LabelSelector{MatchExpressions: []v1.LabelSelectorRequirement{{Key: "k", Operator: "Near"}}}
	pools := []*v1.NodePool{
		define("sound", v1.NodePoolSpec{}),
		pausedPool(define("paused", v1.NodePoolSpec{})),
		define("unreadable", v1.NodePoolSpec{Selector: unreadable}),
		define("within-unreadable", v1.NodePoolSpec{Parent: "unreadable"}),
		define("deep-within-unreadable", v1.NodePoolSpec{Parent: "within-unreadable"}),
		define("orphan", v1.NodePoolSpec{Parent: "gone"}),
		define("within-orphan", v1.NodePoolSpec{Parent: "orphan"}),
		define("both", v1.NodePoolSpec{Parent: "unreadable", NodeNames: []string{"["}}),
		deletedPool(define("deleted", v1.NodePoolSpec{Parent: "gone"})),
	}
	cases := map[string]struct {
		reason  string
		problem string // part of it; empty for none
		holds   bool
	}{
		"sound":                  {"nothing is wrong", "", false},
		"unknown":                {"there is no such pool, and nobody has deleted it: nothing is released on doubt", "", true},
		"deleted":                {"a pool that is being deleted must release its nodes, even if it is faulty", "", false},
		"paused":                 {"nodes follow what it says: it is for others to accept nothing of it", "", false},
		"unreadable":             {"its own selector", "spec.selector cannot be read", true},
		"within-unreadable":      {"it names the pool at fault", `enclosing pool "unreadable": spec.selector cannot be read`, true},
		"deep-within-unreadable": {"the same pool, not the one between", `enclosing pool "unreadable": spec.selector cannot be read`, true},
		"orphan":                 {"its parent", `names the parent "gone", which does not exist`, true},
		"within-orphan":          {"the parent of its parent", `whose enclosing pool "gone" does not exist`, true},
		"both":                   {"its own fault first", `spec.nodeNames has "["`, true},
	}
	for range 20 { // the order of maps must not show
		expansion := Expand(pools)
		for name, c := range cases {
			got := ""
			if err := expansion.Problem(name); err != nil {
				got = err.Error()
			}
			if (got == "") != (c.problem == "") || !strings.Contains(got, c.problem) {
				t.Errorf("%s: problem %q, want %q: %s", name, got, c.problem, c.reason)
			}
			if holds := expansion.Holds(name); holds != c.holds {
				t.Errorf("%s: holds is %v: %s", name, holds, c.reason)
			}
		}
	}
}
