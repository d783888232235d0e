package adopt

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

// group is nodes that carry the same roles, labels and taints.
type group struct {
	nodes    []*surveyed
	roles    []string
	features []feature
}

// frozen reports whether the node of the group must not be changed. Its group
// has no other.
func (g *group) frozen() bool { return g.nodes[0].unreadable }

// names are those of the nodes, sorted.
func (g *group) names() []string {
	names := make([]string, 0, len(g.nodes))
	for _, node := range g.nodes {
		names = append(names, node.name)
	}
	return names
}

// groupNodes puts nodes together, in the order of the first of each group.
func groupNodes(nodes []surveyed) []*group {
	var groups []*group
	known := map[string]*group{}
	for i := range nodes {
		node := &nodes[i]
		identity := identityOf(node)
		g := known[identity]
		if g == nil {
			g = &group{roles: node.roles, features: node.features}
			known[identity] = g
			groups = append(groups, g)
		}
		g.nodes = append(g.nodes, node)
	}
	return groups
}

// identityOf is what all nodes of a group have in common, and no other node has.
func identityOf(node *surveyed) string {
	if node.unreadable {
		return "\x00" + node.name
	}
	var text strings.Builder
	for _, role := range node.roles {
		text.WriteString(role + "\x00")
	}
	for _, f := range node.features {
		text.WriteString("\x01" + string(f.field) + "\x00" + f.key + "\x00" + f.value)
	}
	return text.String()
}

// The bounds of a pool, as its schema has them.
const (
	maxLabels    = 64
	maxTaints    = 32
	maxNodeNames = 1000
)

// carried are the features that a pool carries: those that are not left out, and no
// more than a pool may have.
func carried(features []feature, leftOut map[string]bool) []feature {
	var all []feature
	labels, taints := 0, 0
	for _, f := range features {
		switch {
		case f.field == plan.Label && !leftOut[f.key] && labels < maxLabels:
			labels++
		case f.field == plan.Taint && taints < maxTaints:
			taints++
		default:
			continue
		}
		all = append(all, f)
	}
	return all
}

// rolePool is the pool of a role: it carries what all nodes with the role have in
// common.
type rolePool struct {
	role   string
	groups []*group
	// features are all that the nodes have from the pool and from those around it; own
	// are those of them that the pool itself carries.
	features, own []feature
	// parent is the pool of a role that all nodes of this one have, too; nil for none.
	parent *rolePool
}

// rolePools are the pools of the roles that nodes have, by role, as far as there is
// anything for them to carry.
func rolePools(groups []*group, taken map[string]string, leftOut map[string]bool) map[string]*rolePool {
	found := map[string]*rolePool{}
	for _, g := range groups {
		for _, role := range g.roles {
			if found[role] == nil {
				found[role] = &rolePool{role: role}
			}
			found[role].groups = append(found[role].groups, g)
		}
	}
	pools := make(map[string]*rolePool, len(found))
	// The largest go first, as they are around the others.
	for _, pool := range slices.SortedFunc(maps.Values(found), compareRolePools) {
		if taken[pool.role] != "" || !isPoolName(pool.role) || allFrozen(pool.groups) {
			continue
		}
		pool.features = carried(common(pool.groups), leftOut)
		pool.parent = parentOf(pool.groups, pools)
		pool.own = without(pool.features, pool.parent)
		if len(pool.own) > 0 {
			pools[pool.role] = pool
		}
	}
	return pools
}

func compareRolePools(a, b *rolePool) int {
	return cmp.Or(cmp.Compare(len(b.groups), len(a.groups)), cmp.Compare(a.role, b.role))
}

// parentOf is the pool, of those of roles that all the groups have, that carries most;
// nil where there is none. What is said there is changed there, and the RuntimeClass
// of the inner pool has it all the same.
func parentOf(groups []*group, pools map[string]*rolePool) *rolePool {
	var parent *rolePool
	for _, role := range groups[0].roles { // sorted, so that the first of equals is taken
		pool := pools[role]
		if pool == nil || parent != nil && len(pool.features) <= len(parent.features) {
			continue
		}
		if !slices.ContainsFunc(groups, func(g *group) bool { return !slices.Contains(g.roles, role) }) {
			parent = pool
		}
	}
	return parent
}

// without are the features that a parent, which may be nil, does not carry.
func without(features []feature, parent *rolePool) []feature {
	if parent == nil {
		return features
	}
	return slices.DeleteFunc(slices.Clone(features), func(f feature) bool { return slices.Contains(parent.features, f) })
}

func allFrozen(groups []*group) bool {
	return !slices.ContainsFunc(groups, func(g *group) bool { return !g.frozen() })
}

// common are the features that all groups have, sorted.
func common(groups []*group) []feature {
	count := map[feature]int{}
	for _, g := range groups {
		for _, f := range g.features {
			count[f]++
		}
	}
	return slices.DeleteFunc(slices.Clone(groups[0].features), func(f feature) bool { return count[f] < len(groups) })
}

// isPoolName reports whether a pool that chooses its members by its role label may
// have a name.
func isPoolName(name string) bool {
	pool := &v1.NodePool{}
	pool.Name = name
	return len(v1.ValidateNodePool(pool)) == 0
}

// covered reports whether the pools of a group's roles carry all that it carries.
func (g *group) covered(features []feature, pools map[string]*rolePool) bool {
	if len(features) == 0 {
		return true
	}
	has := map[feature]bool{}
	for _, role := range g.roles {
		if pool := pools[role]; pool != nil {
			for _, f := range pool.features {
				has[f] = true
			}
		}
	}
	return !slices.ContainsFunc(features, func(f feature) bool { return !has[f] })
}

// poolLabels are those by which provisioners say which pool of theirs a node is of.
var poolLabels = []string{
	"agentpool", "alpha.eksctl.io/nodegroup-name", "cloud.google.com/gke-nodepool", "doks.digitalocean.com/node-pool",
	"eks.amazonaws.com/nodegroup", "k8s.scaleway.com/pool-name", "karpenter.sh/nodepool", "kops.k8s.io/instancegroup",
	"kubernetes.azure.com/agentpool", "lke.linode.com/pool-id", "worker.gardener.cloud/pool",
}

// protectedKeys returns the label keys by which pools select without an option,
// sorted: people set them to distinguish nodes, and no kubelet may set them.
func protectedKeys(groups []*group) []string {
	keys := map[string]bool{}
	for _, g := range groups {
		for _, node := range g.nodes {
			for key := range node.labels {
				if !keys[key] && !render.KubeletMaySet(key) && (slices.Contains(poolLabels, key) || isRestricted(key)) {
					keys[key] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// isRestricted reports whether a label is under the domain that is reserved
// against kubelets.
func isRestricted(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return domain == corev1.LabelNamespaceNodeRestriction || strings.HasSuffix(domain, "."+corev1.LabelNamespaceNodeRestriction)
}
