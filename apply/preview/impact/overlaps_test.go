package impact

import (
	"maps"
	"slices"
	"testing"

	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// newPool makes a pool of the nodes from words as newNode takes them.
func newPool(name string, nodes []string, words ...string) *v1.NodePool {
	carrying := newNode(name, words...)
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.NodePoolSpec{NodeNames: nodes}}
	for _, key := range slices.Sorted(maps.Keys(carrying.Labels)) {
		if pool.Spec.Labels == nil {
			pool.Spec.Labels = map[string]v1.LabelValue{}
		}
		pool.Spec.Labels[key] = v1.LabelValue(carrying.Labels[key])
	}
	for _, taint := range carrying.Taints {
		pool.Spec.Taints = append(pool.Spec.Taints, v1.Taint{Key: taint.Key, Value: taint.Value, Effect: taint.Effect})
	}
	return pool
}

func within(parent string, pool *v1.NodePool) *v1.NodePool {
	pool.Spec.Parent = parent
	return pool
}

func urgent(pool *v1.NodePool) *v1.NodePool {
	pool.Spec.Priority = 1
	return pool
}

// TestOverlaps asks whether the pods of any pool of a node can be scheduled there.
func TestOverlaps(t *testing.T) {
	n := words("n")
	const roles = "node-role.kubernetes.io/"
	pools := func(pools ...*v1.NodePool) []*v1.NodePool { return pools }
	cases := map[string]struct {
		reason        string
		before, after []*v1.NodePool
		was, is       []string
		classes       []*nodev1.RuntimeClass
		want          []Overlap
	}{
		"shut each other out": {
			reason: "each pool's RuntimeClass tolerates its own taint and not the other's",
			after:  pools(newPool("a", n, "team=a:NoSchedule"), newPool("b", n, "for=b:NoExecute")),
			is:     words(roles+"a", roles+"b", "team=a:NoSchedule", "for=b:NoExecute"),
			want: []Overlap{{
				Pools: words("a", "b"), Nodes: n,
				Reason: Words("pods of a do not tolerate for=b:NoExecute of b, pods of b do not tolerate team=a:NoSchedule of a"),
			}},
		},
		"one pool alone": {
			reason: "a pool that keeps others' pods out is what it is for",
			after:  pools(newPool("a", n, "team=a:NoSchedule")),
			is:     words(roles+"a", "team=a:NoSchedule"),
		},
		"one class fits": {
			reason: "the pods of the pool with the taint can run",
			after:  pools(newPool("a", n, "team=a:NoSchedule"), newPool("b", n)),
			is:     words(roles+"a", roles+"b", "team=a:NoSchedule"),
		},
		"a pool within another": {
			reason: "the RuntimeClass of the inner pool tolerates both taints",
			after:  pools(newPool("outer", n, "team=a:NoSchedule"), within("outer", newPool("inner", n, "gpu=yes:NoSchedule"))),
			is:     words(roles+"outer", roles+"inner", "team=a:NoSchedule", "gpu=yes:NoSchedule"),
		},
		"two pools within another": {
			reason: "which tolerate what they share, and not each other",
			after: pools(newPool("outer", n, "team=a:NoSchedule"),
				within("outer", newPool("x", n, "x=:NoSchedule")), within("outer", newPool("y", n, "y=:NoSchedule"))),
			is: words(roles+"outer", roles+"x", roles+"y", "team=a:NoSchedule", "x=:NoSchedule", "y=:NoSchedule"),
			want: []Overlap{{
				Pools: words("outer", "x", "y"), Nodes: n,
				Reason: Words("pods of outer do not tolerate x:NoSchedule of x, pods of x do not tolerate y:NoSchedule of y, pods of y do not tolerate x:NoSchedule of x"),
			}},
		},
		"PreferNoSchedule": {
			reason: "which keeps no pod out",
			after:  pools(newPool("a", n, "team=a:PreferNoSchedule"), newPool("b", n, "for=b:PreferNoSchedule")),
			is:     words(roles+"a", roles+"b", "team=a:PreferNoSchedule", "for=b:PreferNoSchedule"),
		},
		"the same taint": {
			reason: "both tolerate it",
			after:  pools(newPool("a", n, "team=x:NoSchedule"), newPool("b", n, "team=x:NoSchedule")),
			is:     words(roles+"a", roles+"b", "team=x:NoSchedule"),
		},
		"a label that the other overrules": {
			reason: "pods of a cannot be led here by their node selector, nor those of b by the taint",
			after:  pools(newPool("a", n, "tier=low", "team=a:NoSchedule"), urgent(newPool("b", n, "tier=high"))),
			is:     words(roles+"a", roles+"b", "tier=high", "team=a:NoSchedule"),
			want: []Overlap{{
				Pools: words("a", "b"), Nodes: n,
				Reason: Words(`pods of a select tier=low, which b sets to "high", pods of b do not tolerate team=a:NoSchedule of a`),
			}},
		},
		"a label over which they disagree": {
			reason: "the older one has its way, and its pods find the node",
			after:  pools(newPool("a", n, "tier=low"), newPool("b", n, "tier=high")),
			is:     words(roles+"a", roles+"b"),
		},
		"a taint of somebody else": {
			reason: "what no pool has put there is not of their overlap",
			after:  pools(newPool("a", n, "team=a:NoSchedule"), newPool("b", n)),
			is:     words(roles+"a", roles+"b", "maintenance=:NoSchedule", "team=a:NoSchedule"),
		},
		"a taint that did not get there": {
			reason: "somebody else holds the key at another value, which shuts out both",
			after:  pools(newPool("a", n, "team=a:NoSchedule"), newPool("b", n, "for=b:NoSchedule")),
			is:     words(roles+"a", roles+"b", "team=somebody:NoSchedule", "for=b:NoSchedule"),
		},
		"it was so before": {
			reason: "no new overlap is listed",
			before: pools(newPool("a", n, "team=a:NoSchedule"), newPool("b", n, "for=b:NoSchedule")),
			after:  pools(newPool("a", n, "team=a:NoSchedule", "new=label"), newPool("b", n, "for=b:NoSchedule")),
			was:    words(roles+"a", roles+"b", "team=a:NoSchedule", "for=b:NoSchedule"),
			is:     words(roles+"a", roles+"b", "new=label", "team=a:NoSchedule", "for=b:NoSchedule"),
		},
		"a third pool comes": {
			reason: "that is new for the pods of the third",
			before: pools(newPool("a", n, "team=a:NoSchedule"), newPool("b", n, "for=b:NoSchedule")),
			after:  pools(newPool("a", n, "team=a:NoSchedule"), newPool("b", n, "for=b:NoSchedule"), newPool("c", n)),
			was:    words(roles+"a", roles+"b", "team=a:NoSchedule", "for=b:NoSchedule"),
			is:     words(roles+"a", roles+"b", roles+"c", "team=a:NoSchedule", "for=b:NoSchedule"),
			want: []Overlap{{
				Pools: words("a", "b", "c"), Nodes: n,
				Reason: Words("pods of a do not tolerate for=b:NoSchedule of b, pods of b do not tolerate team=a:NoSchedule of a, pods of c do not tolerate for=b:NoSchedule of b"),
			}},
		},
		"a third pool goes": {
			reason: "the others stay in each other's way",
			before: pools(newPool("a", n, "team=a:NoSchedule"), newPool("b", n, "for=b:NoSchedule"), newPool("c", n)),
			after:  pools(newPool("a", n, "team=a:NoSchedule"), newPool("b", n, "for=b:NoSchedule")),
			was:    words(roles+"a", roles+"b", roles+"c", "team=a:NoSchedule", "for=b:NoSchedule"),
			is:     words(roles+"a", roles+"b", "team=a:NoSchedule", "for=b:NoSchedule"),
		},
		"many pools": {
			reason: "three are named in the reason",
			after: pools(newPool("a", n, "a=:NoSchedule"), newPool("b", n, "b=:NoSchedule"), newPool("c", n, "c=:NoSchedule"),
				newPool("d", n, "d=:NoSchedule"), newPool("e", n, "e=:NoSchedule")),
			is: words(roles+"a", roles+"b", roles+"c", roles+"d", roles+"e", "a=:NoSchedule", "b=:NoSchedule", "c=:NoSchedule", "d=:NoSchedule", "e=:NoSchedule"),
			want: []Overlap{{
				Pools: words("a", "b", "c", "d", "e"), Nodes: n,
				Reason: Words("pods of a do not tolerate b:NoSchedule of b, pods of b do not tolerate a:NoSchedule of a, pods of c do not tolerate a:NoSchedule of a, and so on for 2 more"),
			}},
		},
		"the live RuntimeClass": {
			reason: "a RuntimeClass that is not as its pool says leads pods as it stands",
			after:  pools(newPool("a", n, "team=a:NoSchedule"), newPool("b", n, "for=b:NoSchedule")),
			is:     words(roles+"a", roles+"b", "team=a:NoSchedule", "for=b:NoSchedule"),
			classes: []*nodev1.RuntimeClass{newClass(v1.RuntimeClassName("a"), "runc",
				bearing(bears("team:NoSchedule"), bears("for:NoSchedule")))},
		},
	}
	for _, name := range sortedNames(cases) {
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			s := (&scene{}).node("n", c.was, c.is)
			s.before.Pools, s.after.Pools = c.before, c.after
			s.before.RuntimeClasses, s.after.RuntimeClasses = c.classes, c.classes
			expectEqual(t, c.reason, Impact{Overlaps: c.want}, s.of())
		})
	}

	t.Run("nodes are listed together, sorted", func(t *testing.T) {
		two := words("m", "n")
		s := (&scene{}).node("n", nil, words("team=a:NoSchedule", "for=b:NoSchedule", roles+"a", roles+"b")).
			node("m", nil, words("team=a:NoSchedule", "for=b:NoSchedule", roles+"a", roles+"b"))
		s.after.Pools = pools(newPool("b", two, "for=b:NoSchedule"), newPool("a", two, "team=a:NoSchedule"))
		expectEqual(t, "one overlap of two nodes", Impact{Overlaps: []Overlap{{
			Pools: words("a", "b"), Nodes: two,
			Reason: Words("pods of a do not tolerate for=b:NoSchedule of b, pods of b do not tolerate team=a:NoSchedule of a"),
		}}}, s.of())
	})
}
