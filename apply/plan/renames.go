package plan

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Rename is a pool that goes while another one comes, with the same nodes and keys: on the
// nodes, the role label alone changes.
type Rename struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Nodes is how many nodes both have.
	Nodes int `json:"nodes"`
}

func (r Rename) String() string {
	nodes := "its node keeps"
	if r.Nodes != 1 {
		nodes = fmt.Sprintf("its %d nodes keep", r.Nodes)
	}
	return fmt.Sprintf("renames pool %q to %q: %s all but the role label; what names RuntimeClass %s has to name %s",
		r.From, r.To, nodes, v1.RuntimeClassName(r.From), v1.RuntimeClassName(r.To))
}

// Renames are the pools that the difference renames, sorted by their old name. A pool without
// nodes is none of them.
func (d *Difference) Renames(before Cluster) []Rename {
	var gone, fresh []PoolChange
	for _, change := range d.PoolChanges {
		switch change.Action {
		case Delete:
			gone = append(gone, change)
		case Create:
			fresh = append(fresh, change)
		}
	}
	if len(gone) == 0 || len(fresh) == 0 {
		return nil
	}
	was, is := before.Members(), d.After(before).Members()
	var renames []Rename
	for _, from := range gone {
		nodes := was[from.Name]
		to := slices.IndexFunc(fresh, func(to PoolChange) bool {
			return len(nodes) > 0 && slices.Equal(nodes, is[to.Name]) && sameKeys(from.Live, to.Want)
		})
		if to < 0 {
			continue
		}
		renames = append(renames, Rename{From: from.Name, To: fresh[to].Name, Nodes: len(nodes)})
		fresh = slices.Delete(fresh, to, to+1)
	}
	return renames
}

// Members are the names of the nodes of each pool, sorted, as the status of pools has them.
func (cluster Cluster) Members() map[string][]string {
	expansion, members := Expand(cluster.Pools, cluster.Numbers), map[string][]string{}
	for _, node := range cluster.Nodes {
		for _, pool := range CurrentMembers(node, expansion) {
			members[pool] = append(members[pool], node.Name)
		}
	}
	for _, names := range members {
		slices.Sort(names)
	}
	return members
}

// sameKeys reports whether two pools say the same of their nodes, role labels apart.
func sameKeys(a, b *v1.NodePool) bool {
	return equality.Semantic.DeepEqual(saidOf(a), saidOf(b))
}

// saidOf is the part of a pool that nodes carry, without its role label.
func saidOf(pool *v1.NodePool) v1.NodePoolSpec {
	said := v1.NodePoolSpec{Labels: maps.Clone(pool.Spec.Labels), Annotations: pool.Spec.Annotations, Taints: slices.Clone(pool.Spec.Taints)}
	delete(said.Labels, v1.RoleLabel(pool.Name))
	slices.SortFunc(said.Taints, func(a, b v1.Taint) int {
		return slices.Compare([]string{a.Key, string(a.Effect)}, []string{b.Key, string(b.Effect)})
	})
	return said
}
