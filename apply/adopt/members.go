package adopt

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// choice is which pools to propose, and how they select their members.
type choice struct {
	groups []*group
	roles  map[string]*rolePool
	// owned are the groups that get a pool of their own, with what it carries.
	owned []ownPool
	// keys are the labels by which pools select, which no pool has: a pool must
	// not set the label by which a node joins it.
	keys map[string]bool
	// distinct are the keys that distinguish the nodes of a group from all others.
	distinct *distinctKeys
}

// ownPool is the pool of one group.
type ownPool struct {
	*group
	features []feature
	// key of the label by which the members are chosen; empty where that is by names.
	key string
}

// chooseMembers decides which groups need a pool of their own, and whether a
// label distinguishes its nodes from all others. It uses one that a kubelet
// cannot set, or that the options name; a label by which no pool selects in the
// end is adopted like others.
func chooseMembers(groups []*group, s *survey, o Options) *choice {
	preferred := slices.Concat(o.SelectBy, protectedKeys(groups))
	distinct := newDistinctKeys(groups, slices.Concat(preferred, poolLabels))
	allowed := map[string]bool{}
	for _, key := range preferred {
		allowed[key] = !o.NoNewRoles
	}
	for {
		c := choose(groups, s, allowed, distinct)
		used := map[string]bool{}
		for _, own := range c.owned {
			if own.key != "" {
				used[own.key] = true
			}
		}
		if maps.Equal(used, c.keys) {
			return c
		}
		maps.DeleteFunc(allowed, func(key string, _ bool) bool { return c.keys[key] && !used[key] })
	}
}

func choose(groups []*group, s *survey, allowed map[string]bool, distinct *distinctKeys) *choice {
	c := &choice{groups: groups, keys: map[string]bool{}, distinct: distinct}
	keys := make([]string, len(groups))
	roles := rolePools(groups, s.taken, nil)
	for i, g := range groups {
		if g.frozen() || g.covered(g.features, roles) {
			continue
		}
		for _, key := range distinct.byGroup[i] {
			if allowed[key] && len(carried(g.features, map[string]bool{key: true})) > 0 {
				keys[i], c.keys[key] = key, true
				break
			}
		}
	}
	c.roles = rolePools(groups, s.taken, c.keys)
	for i, g := range groups {
		features := carried(g.features, c.keys)
		if !g.frozen() && !g.covered(features, c.roles) {
			c.owned = append(c.owned, ownPool{group: g, features: features, key: keys[i]})
		}
	}
	return c
}

// unused are those of keys by which no pool chooses.
func (c *choice) unused(keys []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return c.keys[key] })
}

// distinctKeys are labels, and the groups whose nodes they distinguish from all others.
type distinctKeys struct {
	groups map[*group]int
	// byKey has, by key and group, the values of the label on the nodes of the group;
	// none where other nodes have one of them, or a node of the group lacks the label.
	byKey map[string]map[int][]string
	// byGroup has the keys that distinguish the nodes of a group, the best first.
	byGroup [][]string
}

// mostValues is how many values of a label may choose the members of one pool.
const mostValues = 100

// newDistinctKeys evaluates keys, the best first. It iterates over the labels
// of the nodes once, as there may be as many keys as nodes.
func newDistinctKeys(groups []*group, keys []string) *distinctKeys {
	t := &distinctKeys{groups: map[*group]int{}, byKey: map[string]map[int][]string{}, byGroup: make([][]string, len(groups))}
	uses := make(map[string]*labelUse, len(keys))
	for _, key := range keys {
		uses[key] = &labelUse{holder: map[string]int{}, values: map[int]map[string]bool{}, carriers: map[int]int{}}
	}
	for i, g := range groups {
		t.groups[g] = i
		for _, node := range g.nodes {
			for key, value := range node.labels {
				if use := uses[key]; use != nil {
					use.add(i, value)
				}
			}
		}
	}
	for _, key := range keys {
		if t.byKey[key] != nil {
			continue
		}
		t.byKey[key] = uses[key].distinctValues(groups)
		for i := range t.byKey[key] {
			t.byGroup[i] = append(t.byGroup[i], key)
		}
	}
	return t
}

// labelUse is what the nodes of groups have of a label.
type labelUse struct {
	// holder is the group whose nodes have a value, or several.
	holder map[string]int
	// values and carriers are, by group, which values its nodes have, and how many have
	// one.
	values   map[int]map[string]bool
	carriers map[int]int
}

// several is the holder of what the nodes of more than one group have.
const several = -1

func (u *labelUse) add(group int, value string) {
	if first, known := u.holder[value]; !known {
		u.holder[value] = group
	} else if first != group {
		u.holder[value] = several
	}
	if u.values[group] == nil {
		u.values[group] = map[string]bool{}
	}
	u.values[group][value] = true
	u.carriers[group]++
}

// distinctValues returns the values of the label by the groups whose nodes it
// distinguishes from all others.
func (u *labelUse) distinctValues(groups []*group) map[int][]string {
	values := map[int][]string{}
	for i, of := range u.values {
		all := slices.Sorted(maps.Keys(of))
		shared := slices.ContainsFunc(all, func(value string) bool { return u.holder[value] == several })
		if u.carriers[i] == len(groups[i].nodes) && !shared && len(all) <= mostValues {
			values[i] = all
		}
	}
	return values
}

// values of a label on the nodes of a group, sorted, which no other node has; nil
// where the label does not distinguish them from all others.
func (t *distinctKeys) values(key string, group int) []string { return t.byKey[key][group] }

// selectorOf chooses nodes by the values of a label.
func selectorOf(key string, values []string) *v1.LabelSelector {
	if len(values) == 1 {
		return &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{key: v1.LabelValue(values[0])}}
	}
	return &v1.LabelSelector{MatchExpressions: []v1.LabelSelectorRequirement{{
		Key: key, Operator: metav1.LabelSelectorOpIn, Values: values,
	}}}
}
