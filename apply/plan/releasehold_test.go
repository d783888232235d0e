package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

const zone = "example.com/zone"

// inZones makes so many nodes in each zone.
func inZones(counts map[string]int) []*NodeState {
	var nodes []*NodeState
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		for i := range counts[name] {
			node := newNode(fmt.Sprintf("%s-%02d", name, i))
			node.Labels = map[string]string{zone: name}
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// ofZone is a pool of the nodes in some zones, with a label of its own.
func ofZone(name string, zones ...string) *v1.NodePool {
	pool := define(name, v1.NodePoolSpec{
		Selector: &v1.LabelSelector{MatchExpressions: []v1.LabelSelectorRequirement{{Key: zone, Operator: metav1.LabelSelectorOpIn, Values: zones}}},
		Labels:   map[string]v1.LabelValue{"example.com/" + name: "yes"},
	})
	pool.UID, pool.Generation = "", 1
	pool.Finalizers = []string{v1.ReleaseFinalizer}
	return pool
}

// carriedOut is a cluster when the pools are carried out, and that is reported.
func carriedOut(t *testing.T, cluster Cluster) Cluster {
	t.Helper()
	d, err := Diff(Revision{}, cluster)
	if err != nil {
		t.Fatal(err)
	}
	return report(d.After(cluster))
}

// report writes the status of the pools, as the controller does when nodes have
// followed.
func report(cluster Cluster) Cluster {
	held := HeldReleases(cluster.Pools, cluster.Nodes)
	pools := make([]*v1.NodePool, 0, len(cluster.Pools))
	expansion, named := Expand(cluster.Pools, cluster.Nodes), byName(cluster.Pools)
	for _, pool := range cluster.Pools {
		pool = pool.DeepCopy()
		status := metav1.ConditionFalse
		if held[pool.Name] != nil {
			status = metav1.ConditionTrue
		} else if pool.DeletionTimestamp.IsZero() && !expansion.Holds(pool.Name) {
			ObserveMembership(&pool.Status, pool, named.around(pool))
		}
		pool.Status.Conditions = []metav1.Condition{{Type: v1.ReleaseBlockedCondition, Status: status, ObservedGeneration: pool.Generation}}
		if v1.IsDisabled(pool, v1.ReconcileAnnotation) {
			pool.Status.Conditions = append(pool.Status.Conditions, metav1.Condition{Type: v1.ReadyCondition, Status: metav1.ConditionFalse, Reason: v1.PausedReason})
		} else if parent := (*render.ParentError)(nil); errors.As(expansion.Problem(pool.Name), &parent) {
			pool.Status.Conditions = append(pool.Status.Conditions, metav1.Condition{Type: v1.ReadyCondition, Status: metav1.ConditionFalse, Reason: v1.ParentReason})
		}
		pools = append(pools, pool)
	}
	cluster.Pools = pools
	return cluster
}

// carriersOf counts the nodes that carry keys of each pool.
func carriersOf(nodes []*NodeState) map[string]int {
	carriers := map[string]int{}
	for _, node := range nodes {
		record, err := readRecord(node)
		if err != nil {
			continue
		}
		for pool := range record.Pools() {
			carriers[pool]++
		}
	}
	return carriers
}

// edited is a pool with another spec.
func edited(pools []*v1.NodePool, name string, edit func(*v1.NodePool)) []*v1.NodePool {
	pools = slices.Clone(pools)
	for i, pool := range pools {
		if pool.Name == name {
			pools[i] = pool.DeepCopy()
			pools[i].Generation++
			edit(pools[i])
		}
	}
	return pools
}

func zones(names ...string) func(*v1.NodePool) {
	return func(pool *v1.NodePool) { pool.Spec.Selector.MatchExpressions[0].Values = names }
}

func deleted(pool *v1.NodePool) { pool.DeletionTimestamp = ptr.To(metav1.Unix(1, 0)) }

func approvedBy(value string) func(*v1.NodePool) {
	return func(pool *v1.NodePool) {
		metav1.SetMetaDataAnnotation(&pool.ObjectMeta, v1.ApproveReleaseAnnotation, value)
	}
}

func TestHeldReleases(t *testing.T) {
	twenty := map[string]int{"a": 10, "b": 10}
	pools := func() []*v1.NodePool {
		return []*v1.NodePool{ofZone("p", "a", "b"), ofZone("q", "a"), ofZone("r", "b")}
	}
	evicting := func(pool *v1.NodePool) {
		pool.Spec.Taints = []v1.Taint{{Key: "example.com/wall", Effect: corev1.TaintEffectNoExecute}}
	}
	cases := map[string]struct {
		reason string
		zones  map[string]int
		pools  []*v1.NodePool
		// change is what somebody does when the pools are carried out.
		change func(cluster Cluster) Cluster
		want   []string
	}{
		"typo": {"no node is left in the pool", twenty, pools(),
			func(c Cluster) Cluster { c.Pools = edited(c.Pools, "p", zones("A")); return c }, []string{"p"}},
		"half": {"half of the nodes may go", twenty, pools(),
			func(c Cluster) Cluster { c.Pools = edited(c.Pools, "p", zones("a")); return c }, nil},
		"small": {"nine nodes are not limited", map[string]int{"a": 9}, []*v1.NodePool{ofZone("p", "a")},
			func(c Cluster) Cluster { c.Pools = edited(c.Pools, "p", zones("x")); return c }, nil},
		"parent": {"the pool within loses all, whatever the one around it loses", twenty,
			[]*v1.NodePool{ofZone("p", "a", "b"), within(ofZone("q", "a"), "p")},
			func(c Cluster) Cluster { c.Pools = edited(c.Pools, "p", zones("b")); return c }, []string{"p"}},
		"new parent": {"nodes leave by another parent", twenty, pools(),
			func(c Cluster) Cluster {
				c.Pools = edited(c.Pools, "p", func(pool *v1.NodePool) { pool.Spec.Parent = "none" })
				c.Pools = append(c.Pools, ofZone("none", "c"))
				return c
			}, []string{"p"}},
		"approved": {"the generation is that of the change", twenty, pools(),
			func(c Cluster) Cluster {
				c.Pools = edited(c.Pools, "p", func(pool *v1.NodePool) { zones("x")(pool); approvedBy("2")(pool) })
				return c
			}, nil},
		"approved before": {"an approval is of one change", twenty, pools(),
			func(c Cluster) Cluster {
				c.Pools = edited(c.Pools, "p", func(pool *v1.NodePool) { zones("x")(pool); approvedBy("1")(pool) })
				return c
			}, []string{"p"}},
		"approved by a source": {"the source has approved this very membership", twenty, pools(),
			func(c Cluster) Cluster {
				c.Pools = edited(c.Pools, "p", func(pool *v1.NodePool) { zones("x")(pool); approvedBy(Membership(pool))(pool) })
				return c
			}, nil},
		"labels of nodes": {"nodes that leave by themselves hold nothing", twenty, pools(),
			func(c Cluster) Cluster {
				for _, node := range c.Nodes {
					node.Labels[zone] = "c"
				}
				return c
			}, nil},
		"paused nodes": {"nothing is taken off them", twenty, pools(),
			func(c Cluster) Cluster {
				c.Pools = edited(c.Pools, "p", zones("x"))
				for _, node := range c.Nodes {
					annotate(node, v1.ReconcileAnnotation, v1.Disabled)
				}
				return c
			}, nil},
		"one deletion": {"it is meant as it is asked for", twenty, pools(),
			func(c Cluster) Cluster { c.Pools = edited(c.Pools, "p", deleted); return c }, nil},
		"small deletions": {"together they release half of the nodes", map[string]int{"a": 10, "b": 10, "c": 20}, append(pools()[1:], ofZone("s", "c")),
			func(c Cluster) Cluster {
				c.Pools = edited(edited(c.Pools, "q", deleted), "r", deleted)
				return c
			}, nil},
		"all deleted": {"as by the deletion of their CustomResourceDefinition", twenty, pools(),
			func(c Cluster) Cluster {
				for _, name := range []string{"p", "q", "r"} {
					c.Pools = edited(c.Pools, name, deleted)
				}
				return c
			}, []string{"p", "q", "r"}},
		"the only pool deleted": {"the deletion of all pools", twenty, pools()[:1],
			func(c Cluster) Cluster { c.Pools = edited(c.Pools, "p", deleted); return c }, []string{"p"}},
		"one deletion approved": {"the others stay held", twenty, pools(),
			func(c Cluster) Cluster {
				for _, name := range []string{"p", "q", "r"} {
					c.Pools = edited(c.Pools, name, deleted)
				}
				c = report(c)
				c.Pools = edited(c.Pools, "q", func(pool *v1.NodePool) { approvedBy(v1.DeletionApproval)(pool); pool.Generation-- })
				return c
			}, []string{"p", "r"}},
		"gone": {"their finalizers went with their CustomResourceDefinition", twenty, pools(),
			func(c Cluster) Cluster { c.Pools = nil; return c }, []string{"p", "q", "r"}},
		"gone and back": {"nothing has changed", twenty, pools(),
			func(c Cluster) Cluster { c.Pools = pools(); return c }, nil},
		"back as another one": {"the members of a pool that is made again are those by the records", twenty, pools(),
			func(c Cluster) Cluster { c.Pools = append(pools()[1:], ofZone("p", "x")); return c }, []string{"p"}},
		"evicts everywhere": {"a NoExecute taint on more than half of all nodes", twenty, pools(),
			func(c Cluster) Cluster { c.Pools = edited(c.Pools, "p", evicting); return c }, []string{"p"}},
		"two evict, and agree": {"without the one that has its way, the other has the same", twenty, pools(),
			func(c Cluster) Cluster {
				c.Pools = edited(edited(c.Pools, "p", evicting), "q", func(pool *v1.NodePool) { zones("a", "b")(pool); evicting(pool) })
				return c
			}, []string{"p", "q"}},
		"two evict, with different values": {"without the stronger one, the weaker one has its own", twenty, pools(),
			func(c Cluster) Cluster {
				c.Pools = edited(edited(c.Pools, "p", evicting), "q", func(pool *v1.NodePool) {
					zones("a", "b")(pool)
					evicting(pool)
					pool.Spec.Taints[0].Value, pool.Spec.Priority = "other", -1
				})
				return c
			}, []string{"p", "q"}},
		"two evict, one of them half": {"the other one reaches too few by itself", twenty, pools(),
			func(c Cluster) Cluster {
				c.Pools = edited(edited(c.Pools, "p", evicting), "q", evicting)
				return c
			}, []string{"p"}},
		"evicts by role": {"an installer may have labelled all of them", twenty, []*v1.NodePool{byRole("p")},
			func(c Cluster) Cluster {
				for _, node := range c.Nodes {
					node.Labels[v1.RoleLabel("p")] = ""
				}
				c.Pools = edited(c.Pools, "p", evicting)
				return c
			}, []string{"p"}},
		"evicts half": {"a NoExecute taint on half of all nodes", twenty, pools(),
			func(c Cluster) Cluster { c.Pools = edited(c.Pools, "q", evicting); return c }, nil},
		"evicts few": {"nine nodes are not limited", map[string]int{"a": 9}, []*v1.NodePool{ofZone("p", "a")},
			func(c Cluster) Cluster { c.Pools = edited(c.Pools, "p", evicting); return c }, nil},
		"blocked stays blocked": {"by then only half of the nodes would leave", map[string]int{"a": 10, "b": 12}, pools()[:1],
			func(c Cluster) Cluster {
				c.Pools = edited(c.Pools, "p", zones("a"))
				c = report(c)
				c.Nodes = c.Nodes[:len(c.Nodes)-4]
				return c
			}, []string{"p"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cluster := c.change(carriedOut(t, Cluster{Pools: c.pools, Nodes: inZones(c.zones)}))
			held := HeldReleases(cluster.Pools, cluster.Nodes)
			if got := slices.Sorted(maps.Keys(held)); !slices.Equal(got, c.want) {
				t.Fatalf("%s: held are %v, want %v", c.reason, got, c.want)
			}
			before := carriersOf(cluster.Nodes)
			after := carriedOut(t, cluster)
			for _, pool := range c.want {
				if now := carriersOf(after.Nodes)[pool]; now != before[pool] {
					t.Errorf("%s: pool %s is held, and %d of %d nodes carry keys of it", c.reason, pool, now, before[pool])
				}
			}
		})
	}
}

func byRole(name string) *v1.NodePool {
	pool := ofZone(name)
	pool.Spec.Selector = nil
	return pool
}

func within(pool *v1.NodePool, parent string) *v1.NodePool {
	pool.Spec.Parent = parent
	return pool
}

// The message of a held pool has the numbers, names and the command, and the command
// works, once.
func TestHeldReleaseIsApprovedOnce(t *testing.T) {
	cluster := carriedOut(t, Cluster{Pools: []*v1.NodePool{ofZone("p", "a")}, Nodes: inZones(map[string]int{"a": 12})})
	edit := func(values ...string) { cluster.Pools = edited(cluster.Pools, "p", zones(values...)) }
	edit("x")
	cluster = carriedOut(t, cluster)
	held := HeldReleases(cluster.Pools, cluster.Nodes)["p"]
	message := held.Error()
	generation := strconv.FormatInt(cluster.Pools[0].Generation, 10)
	for _, part := range []string{
		`pool "p" is held`, `12 of 12 nodes would leave pool "p"`, "a-00, a-01, a-02 and 9 more", "50%",
		"nodepools approve p",
	} {
		if !strings.Contains(message, part) {
			t.Errorf("%q does not say %q", message, part)
		}
	}
	if act := ApprovePool(nil, "", held); act.Set[v1.ApproveReleaseAnnotation] != generation {
		t.Errorf("the approval is %v, want of generation %s", act.Set, generation)
	}
	approve := func() {
		cluster.Pools = edited(cluster.Pools, "p", func(pool *v1.NodePool) { pool.Generation--; approvedBy(generation)(pool) })
	}
	approve()
	cluster = carriedOut(t, cluster)
	if left := carriersOf(cluster.Nodes)["p"]; left != 0 {
		t.Errorf("approved, and %d nodes carry keys of the pool", left)
	}
	edit("a")
	cluster = carriedOut(t, cluster)
	edit("x")
	if cluster = carriedOut(t, cluster); carriersOf(cluster.Nodes)["p"] != 12 {
		t.Errorf("the same change again was approved by the approval of the first")
	}
}
