package adopt

import (
	"cmp"
	"maps"
	"slices"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// excluded is why what the options exclude is left out.
const excluded = "excluded"

// choosesMembers is why a label is left out by which pools choose.
const choosesMembers = "there to choose members by"

// leftOut is what no pool gets, sorted by reason, field and key.
func (s *survey) leftOut(c *choice, pools []Pool, o Options) []LeftOut {
	carriers := map[string][]feature{} // by node, what its pools carry
	for _, pool := range pools {
		features := carriedBy(pool.NodePool)
		for _, node := range pool.Nodes {
			carriers[node] = append(carriers[node], features...)
		}
	}
	for i := range s.nodes {
		node := &s.nodes[i]
		if node.unreadable {
			continue
		}
		for _, f := range node.features {
			if slices.Contains(carriers[node.name], f) {
				continue
			}
			s.leave(f, c.reason(f, o))
		}
		for _, role := range node.roles {
			if why := c.roleReason(role, s.taken[role]); why != "" {
				s.leave(feature{field: plan.Label, key: v1.RoleLabel(role)}, why)
			}
		}
	}
	all := make([]LeftOut, 0, len(s.left))
	for what, nodes := range s.left {
		what.Nodes = nodes
		all = append(all, what)
	}
	slices.SortFunc(all, func(a, b LeftOut) int {
		return cmp.Or(cmp.Compare(a.Why, b.Why), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Key, b.Key))
	})
	return all
}

// carriedBy are the features that a pool carries.
func carriedBy(pool *v1.NodePool) []feature {
	var features []feature
	for _, key := range slices.Sorted(maps.Keys(pool.Spec.Labels)) {
		features = append(features, feature{plan.Label, key, string(pool.Spec.Labels[key])})
	}
	for _, taint := range pool.Spec.Taints {
		features = append(features, feature{plan.Taint, taint.Key + ":" + string(taint.Effect), taint.Value})
	}
	return features
}

// reason says why what a pool could carry is in none.
func (c *choice) reason(f feature, o Options) string {
	switch {
	case f.field == plan.Label && c.keys[f.key]:
		return choosesMembers
	case o.NoNewRoles:
		return "for a pool whose role label the nodes do not have"
	default:
		return "more than a pool may carry"
	}
}

// roleReason says why a role is no pool; empty for one that is.
func (c *choice) roleReason(role, taken string) string {
	switch {
	case c.roles[role] != nil:
		return ""
	case taken != "":
		return "a role that is no pool, as " + taken
	case !isPoolName(role):
		return "a role whose name no pool can have"
	default:
		return "a role whose nodes have nothing else in common for its pool to carry"
	}
}
