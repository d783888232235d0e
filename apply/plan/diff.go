package plan

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// Cluster is what lives in a cluster, as far as a plan depends on it.
type Cluster struct {
	Pools          []*v1.NodePool
	RuntimeClasses []*nodev1.RuntimeClass
	Nodes          []*corev1.Node
}

// Difference is all that a revision would change in a cluster.
type Difference struct {
	Pools          *PoolsPlan
	RuntimeClasses []RuntimeClassChange
	// Nodes with something to write or to report, sorted by name.
	Nodes []NodeDifference
	// Problems are what would be reported and left alone: a pool that is paused or
	// cannot be carried out, a RuntimeClass of somebody else, a node that is
	// paused or whose record cannot be read.
	Problems []error
}

// NodeDifference is what a revision would change on one node.
type NodeDifference struct {
	Name string
	*NodePlan
}

// Diff tells all that a revision would change, by the same functions that plan
// the writes. An error means that the revision would not be taken at all.
func Diff(revision Revision, cluster Cluster) (*Difference, error) {
	pools, err := Pools(revision, cluster.Pools)
	if err != nil {
		return nil, err
	}
	d := &Difference{Pools: pools}
	after := pools.After(cluster.Pools)
	expansion := render.Expand(after)
	for _, pool := range after {
		if problem := expansion.Problem(pool.Name); problem != nil {
			d.Problems = append(d.Problems, problem)
		} else if v1.IsDisabled(pool, v1.ReconcileAnnotation) {
			d.Problems = append(d.Problems, fmt.Errorf("pool %q is paused by its annotation %s: its RuntimeClass and its nodes stay as they are", pool.Name, v1.ReconcileAnnotation))
		}
	}
	d.runtimeClasses(cluster, after, expansion)
	d.nodes(cluster, expansion)
	return d, nil
}

// Empty tells whether nothing would change.
func (d *Difference) Empty() bool {
	return len(d.Pools.Changes) == 0 && len(d.RuntimeClasses) == 0 &&
		!slices.ContainsFunc(d.Nodes, func(node NodeDifference) bool { return !node.Quiet() })
}

func (d *Difference) runtimeClasses(cluster Cluster, after []*v1.NodePool, expansion *render.Expansion) {
	live := make(map[string]*nodev1.RuntimeClass, len(cluster.RuntimeClasses))
	for _, class := range cluster.RuntimeClasses {
		live[class.Name] = class
	}
	for _, pool := range after {
		want := expansion.RuntimeClass(pool.Name)
		if want == nil || expansion.HoldsRuntimeClass(pool.Name) {
			continue
		}
		change, err := RuntimeClass(live[want.Name], want, pool)
		if err != nil {
			d.Problems = append(d.Problems, err)
		} else if change.Action != None {
			d.RuntimeClasses = append(d.RuntimeClasses, change)
		}
	}
	for _, gone := range d.Pools.Changes {
		class := live[v1.RuntimeClassName(gone.Name)]
		if gone.Action == Delete && class != nil && ownedBy(class, gone.Live) {
			d.RuntimeClasses = append(d.RuntimeClasses, RuntimeClassChange{Action: Delete, Live: class})
		}
	}
	slices.SortFunc(d.RuntimeClasses, func(a, b RuntimeClassChange) int { return strings.Compare(a.Name(), b.Name()) })
}

func (d *Difference) nodes(cluster Cluster, expansion *render.Expansion) {
	sorted := slices.SortedFunc(slices.Values(cluster.Nodes), func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	for _, node := range sorted {
		switch p, err := Node(node, expansion); {
		case err != nil:
			d.Problems = append(d.Problems, err)
		case p.Quiet() && len(p.Conflicts) == 0:
		case v1.IsDisabled(node, v1.ReconcileAnnotation):
			d.Problems = append(d.Problems, fmt.Errorf("node %q is paused by its annotation %s", node.Name, v1.ReconcileAnnotation))
		default:
			d.Nodes = append(d.Nodes, NodeDifference{Name: node.Name, NodePlan: p})
		}
	}
}
