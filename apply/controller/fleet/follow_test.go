package fleet

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/nodecache"
	"github.com/nodepools/nodepools/apply/plan"
)

// poolList is a cache that has these pools, sources and nodes. The pools are accepted as they
// are, unless they say themselves what is.
type poolList struct {
	client.Reader
	saysItself bool
	pools      map[string]*v1.NodePool
	sources    []v1.NodePoolSource
	nodes      []plan.NodeState
}

func (l *poolList) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch list := list.(type) {
	case *v1.NodePoolList:
		for _, pool := range l.pools {
			item := *pool
			if !l.saysItself {
				item.Status.Accepted = plan.AcceptedSpecOf(pool)
			}
			list.Items = append(list.Items, item)
		}
	case *v1.NodePoolSourceList:
		list.Items = l.sources
	case *corev1.NodeList:
		for i := range l.nodes {
			list.Items = append(list.Items, *l.nodes[i].Object())
		}
	default:
		return fmt.Errorf("a list of %T", list)
	}
	return nil
}

// anyChange is a change of one of a few pools that get in each other's way.
func (l *poolList) anyChange(random *rand.Rand) {
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	name := one("a", "b", "c", "d")
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(fmt.Sprint(random.Uint64())), Generation: 1}}
	if was, found := l.pools[name]; found {
		pool = was.DeepCopy()
		pool.Generation++
	}
	switch random.IntN(12) {
	case 0:
		delete(l.pools, name)
		return
	case 1:
		pool.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	case 2:
		pool.Annotations = map[string]string{v1.ReconcileAnnotation: one(v1.Disabled, "")}
	case 3:
		pool.Spec.Parent = one("", "a", "b", "c", "missing")
	case 4:
		pool.Spec.Priority = int32(random.IntN(2))
	case 5:
		pool.Spec.ConflictPolicy = v1.ConflictPolicy(one(string(v1.Adopt), string(v1.TakeOver), ""))
	case 6:
		pool.Spec.Taints = []v1.Taint{{Key: one("t", "u"), Value: one("1", "2"), Effect: corev1.TaintEffectNoSchedule}}
	case 7, 8:
		pool.Spec.Labels = map[string]v1.LabelValue{one("x", "y", "zone"): v1.LabelValue(one("1", "2"))}
	case 9:
		pool.Spec.Selector, pool.Spec.NodeNames = nil, []string{one("n1", "n*", "n[", "m?")}
	case 10:
		pool.Spec.Selector, pool.Spec.NodeNames = nil, nil
	default:
		pool.Spec.NodeNames = nil
		pool.Spec.Selector = &v1.LabelSelector{MatchExpressions: []v1.LabelSelectorRequirement{
			{Key: one("zone", "x"), Operator: metav1.LabelSelectorOperator(one("Exists", "DoesNotExist", "Sometimes"))},
		}}
	}
	if random.IntN(4) > 0 {
		pool.Status.Accepted = plan.AcceptedSpecOf(pool)
	}
	l.pools[name] = pool
}

// A node that no change of pools is said to concern would get the same plan.
func TestChangesConcernEveryNodeWhosePlanChanges(t *testing.T) {
	const worlds, steps = 300, 20
	var concerned, spared int
	for seed := range uint64(worlds) {
		random := rand.New(rand.NewPCG(seed, 1))
		cache := &poolList{pools: map[string]*v1.NodePool{}, saysItself: true}
		pools := New(cache, nodecache.Live(cache))
		nodes := []*plan.NodeState{
			{Name: "n1", Labels: map[string]string{"zone": "1", v1.RoleLabel("a"): ""}},
			{Name: "n2", Labels: map[string]string{"x": "1"}},
			{Name: "m1", Labels: map[string]string{v1.RoleLabel("b"): "", v1.RoleLabel("c"): ""}},
		}
		var before *Snapshot
		found, plans := map[string]*Observation{}, map[string]*plan.NodePlan{}
		for step := range steps {
			for range 1 + random.IntN(3) {
				cache.anyChange(random)
			}
			pools.changed("")
			now, err := pools.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i, node := range nodes {
				p, err := plan.Node(node, now.Expansion)
				if err != nil {
					t.Fatal(err)
				}
				members, err := plan.Members(node, now.Expansion)
				if err != nil {
					t.Fatal(err)
				}
				last := found[node.Name]
				if last != nil && !now.ChangedSince(last) && (!now.regrouped(before) || slices.Equal(members, last.Members)) {
					spared++
					if diff := cmp.Diff(plans[node.Name], p, cmpopts.IgnoreUnexported(plan.NodePlan{}), cmpopts.EquateEmpty()); diff != "" {
						t.Fatalf("world %d, step %d: node %s is spared, and its plan was another (-then +now):\n%s", seed, step, node.Name, diff)
					}
					last.Epoch = now.Epoch
					continue
				}
				concerned++
				nodes[i] = p.After(node)
				found[node.Name] = &Observation{Epoch: now.Epoch, observed: true, FollowerState: plan.FollowerState{Members: p.Pools, Recorded: slices.Sorted(maps.Keys(p.Record.Pools()))}}
				if plans[node.Name], err = plan.Node(nodes[i], now.Expansion); err != nil {
					t.Fatal(err)
				}
			}
			before = now
		}
	}
	if concerned == 0 || spared == 0 {
		t.Errorf("%d nodes were concerned and %d spared: nothing was tried", concerned, spared)
	}
	t.Logf("%d concerned, %d spared", concerned, spared)
}

// A pool whose nodes are in the queue is not carried out, whatever changes meanwhile.
func TestNodeThatIsDueStaysSo(t *testing.T) {
	named := func(name string, generation int64, nodeNames ...string) *v1.NodePool {
		return &v1.NodePool{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Generation: generation},
			Spec:       v1.NodePoolSpec{NodeNames: nodeNames, Priority: int32(generation)},
		}
	}
	cache := &poolList{
		pools: map[string]*v1.NodePool{"q": named("q", 1, "other")},
		nodes: []plan.NodeState{{Name: "n1"}, {Name: "n2"}},
	}
	fleet, queued := New(cache, nodecache.Live(cache)), map[string]bool{}
	change := func(pool *v1.NodePool) {
		t.Helper()
		cache.pools[pool.Name] = pool
		fleet.changed("")
		if err := fleet.Follow(t.Context(), func(node string) { queued[node] = true }); err != nil {
			t.Fatal(err)
		}
	}
	for _, node := range cache.nodes {
		fleet.Report(node.Name, Observation{Epoch: fleet.latest()}, nil)
	}
	change(cache.pools["q"])
	change(named("p", 1, "n*"))
	if len(queued) != 2 {
		t.Fatalf("%d nodes are in the queue, want those that are in the new pool", len(queued))
	}
	now, err := fleet.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	since := now.Since("p")
	change(named("q", 2, "other"))
	fleet.Report("n1", Observation{Epoch: fleet.latest(), FollowerState: plan.FollowerState{Members: []string{"p"}}}, nil)
	if fleet.Await("p", since) {
		t.Error("the pool is carried out, and n2 was not looked at")
	}
	fleet.Report("n2", Observation{Epoch: fleet.latest(), FollowerState: plan.FollowerState{Members: []string{"p"}}}, nil)
	if !fleet.Await("p", since) {
		t.Error("the pool is not carried out, and both nodes were looked at")
	}
}
