package plan

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

const (
	zone          = "example.com/zone"
	evictionNodes = 40
)

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

func byRole(name string) *v1.NodePool {
	pool := ofZone(name)
	pool.Spec.Selector = nil
	return pool
}

func within(pool *v1.NodePool, parent string) *v1.NodePool {
	pool.Spec.Parent = parent
	return pool
}

func pause(pool *v1.NodePool) {
	metav1.SetMetaDataAnnotation(&pool.ObjectMeta, v1.ReconcileAnnotation, v1.Disabled)
}

// evictedBy counts the nodes that have a NoExecute taint which they had not.
func evictedBy(before, after []*NodeState) (count int) {
	for i, node := range after {
		for _, taint := range node.Taints {
			if !slices.Contains(before[i].Taints, taint) {
				count++
				break
			}
		}
	}
	return count
}

// lostBy returns a pool that has lost more than half of the nodes it had, and was not deleted;
// empty where none has.
func lostBy(pools []*v1.NodePool, before, after []*NodeState) string {
	had, has := carriersOf(before), carriersOf(after)
	for _, pool := range pools {
		if count := had[pool.Name]; pool.DeletionTimestamp.IsZero() && count > 1 && 2*has[pool.Name] < count {
			return pool.Name
		}
	}
	return ""
}

// revisionOfPools is what a source says: these pools.
func revisionOfPools(name string, policy ReleasePolicy, pools ...*v1.NodePool) Revision {
	revision := Revision{
		Source: "team", Name: name, Release: policy,
		Prune: PrunePolicy{Enabled: true, Limit: intstr.FromString("100%")},
	}
	for _, pool := range pools {
		revision.Pools = append(revision.Pools, render.Definition{Pool: pool, File: "pools.yaml", Line: 1})
	}
	return revision
}

// appliedRevision is a cluster in which a revision is carried out, and that is reported.
func appliedRevision(t *testing.T, revision Revision, cluster Cluster) Cluster {
	t.Helper()
	d, err := Diff(revision, cluster)
	if err != nil {
		t.Fatal(err)
	}
	if d.Pools.Held != nil {
		t.Fatalf("the revision is held: %v", d.Pools.Held)
	}
	return d.After(cluster)
}

// losers are the pools for whose losses a revision is held.
func losers(d *Difference) (pools []string) {
	if d.Pools.Held != nil {
		for _, loss := range d.Pools.Held.Losses {
			pools = append(pools, loss.Pool)
		}
	}
	return pools
}

// carriedOut is a cluster when what was written by hand is accepted, and nodes follow.
func carriedOut(t *testing.T, cluster Cluster) Cluster {
	t.Helper()
	d, err := Diff(Revision{}, cluster)
	if err != nil {
		t.Fatal(err)
	}
	return d.After(cluster)
}

// heldNames are the pools that wait for an approval.
func heldNames(c Cluster) []string {
	_, _, blocks := atRest(c.Pools, c.Nodes, c.Numbers)
	return slices.Sorted(maps.Keys(blocks))
}
