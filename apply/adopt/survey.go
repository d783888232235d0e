package adopt

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

// feature is a label or a taint with its value.
type feature struct {
	field plan.Field
	// key of the label; key:effect of a taint.
	key, value string
}

func compareFeatures(a, b feature) int {
	return cmp.Or(cmp.Compare(a.field, b.field), cmp.Compare(a.key, b.key), cmp.Compare(a.value, b.value))
}

// name is the key without its effect.
func (f feature) name() string {
	if f.field == plan.Taint {
		key, _, _ := strings.Cut(f.key, ":")
		return key
	}
	return f.key
}

// surveyed is a node, and what of it is for pools.
type surveyed struct {
	name string
	// labels by which pools choose their members.
	labels map[string]string
	// roles are the names of the roles that the node has, sorted.
	roles []string
	// features are what pools may carry, sorted.
	features []feature
	// unreadable nodes are not changed. Their features are all that they carry, so
	// that nothing changes when their record can be read again.
	unreadable bool
}

// survey is what the nodes of a cluster carry.
type survey struct {
	nodes []surveyed
	// left counts what no pool gets, by all but the count.
	left map[LeftOut]int
	// taken are names that no pool can have, and why.
	taken map[string]string
	// recordedOn are the names of the nodes that carry keys of a pool, sorted, by pool.
	recordedOn map[string][]string
	// ownersUnknown counts nodes without owners of their labels.
	ownersUnknown int
}

func newSurvey(cluster plan.Cluster, o Options) *survey {
	s := &survey{left: map[LeftOut]int{}, taken: map[string]string{}, recordedOn: map[string][]string{}}
	for _, class := range cluster.RuntimeClasses {
		if pool, found := strings.CutPrefix(class.Name, v1.RuntimeClassPrefix); found {
			s.taken[pool] = "the RuntimeClass " + class.Name + " exists"
		}
	}
	for _, pool := range cluster.Pools {
		s.taken[pool.Name] = "the pool exists"
	}
	rules := newRules(cluster, o)
	nodes := slices.SortedFunc(slices.Values(cluster.Nodes), func(a, b *plan.NodeState) int { return cmp.Compare(a.Name, b.Name) })
	for _, node := range nodes {
		s.add(node, rules)
	}
	for pool, nodes := range s.recordedOn {
		if s.taken[pool] == "" {
			s.taken[pool] = carryKeys(nodes)
		}
	}
	s.leaveOutOwnValues()
	return s
}

// carryKeys is why no new pool gets the name of one whose keys nodes carry. It names a
// node, as whoever may write the record of one stops the pool of a role by it.
func carryKeys(nodes []string) string {
	if len(nodes) == 1 {
		return fmt.Sprintf("node %q carries keys of a pool of that name", nodes[0])
	}
	return fmt.Sprintf("node %q and %d more carry keys of a pool of that name", nodes[0], len(nodes)-1)
}

func (s *survey) leave(f feature, why string) {
	s.left[LeftOut{Field: f.field, Key: f.key, Why: why}]++
}

// add surveys a node.
func (s *survey) add(node *plan.NodeState, rules *rules) {
	on, err := rules.on(node)
	if err != nil {
		s.nodes = append(s.nodes, surveyedUnreadable(node))
		return
	}
	for pool := range on.record.Pools() {
		s.recordedOn[pool] = append(s.recordedOn[pool], node.Name)
	}
	if len(node.Labels) > 0 && len(on.labelSetters) == 0 && len(on.taintSetters) == 0 {
		s.ownersUnknown++
	}
	n := surveyed{name: node.Name, labels: on.underlying}
	for _, f := range features(node) {
		if role, isRole := strings.CutPrefix(f.key, v1.RoleLabelPrefix); isRole && f.field == plan.Label {
			switch value, theirs := on.underlying[f.key]; {
			case on.poolOf(f) != "":
				s.leave(f, on.poolOf(f))
			case matches(rules.options.Exclude, f.name()):
				s.leave(f, excluded)
			case !theirs || value != "":
				s.leave(f, "a role label with a value, by which no pool chooses")
			default:
				n.roles = append(n.roles, role)
			}
			continue
		}
		if why := on.refusal(f); why != "" {
			s.leave(f, why)
		} else {
			n.features = append(n.features, f)
		}
	}
	s.nodes = append(s.nodes, n)
}

func surveyedUnreadable(node *plan.NodeState) surveyed {
	n := surveyed{name: node.Name, labels: node.Labels, unreadable: true, features: features(node)}
	for _, f := range n.features {
		if role, isRole := strings.CutPrefix(f.key, v1.RoleLabelPrefix); isRole && f.field == plan.Label && f.value == "" {
			n.roles = append(n.roles, role)
		}
	}
	return n
}

// features are all labels and taints of a node, sorted.
func features(node *plan.NodeState) []feature {
	all := make([]feature, 0, len(node.Labels)+len(node.Taints))
	for _, key := range slices.Sorted(maps.Keys(node.Labels)) {
		all = append(all, feature{plan.Label, key, node.Labels[key]})
	}
	values := map[render.TaintID]string{} // of two with one identity, which no API server has, the last counts
	for _, taint := range node.Taints {
		values[render.TaintID{Key: taint.Key, Effect: taint.Effect}] = taint.Value
	}
	for id, value := range values {
		all = append(all, feature{plan.Taint, id.String(), value})
	}
	slices.SortFunc(all, compareFeatures)
	return all
}

// ownValues is the number of values from which on a key may identify nodes
// instead of grouping them.
const ownValues = 16

// leaveOutOwnValues leaves out the keys that identify a node, such as a serial
// number: most nodes with such a key have a unique value, or their name. They
// would result in a pool for each node.
func (s *survey) leaveOutOwnValues() {
	type place struct {
		field plan.Field
		key   string
	}
	type use struct {
		values          map[string]bool
		carriers, named int
	}
	uses := map[place]*use{}
	for _, node := range s.nodes {
		if node.unreadable {
			continue
		}
		short, _, _ := strings.Cut(node.name, ".")
		for _, f := range node.features {
			at := place{f.field, f.key}
			if uses[at] == nil {
				uses[at] = &use{values: map[string]bool{}}
			}
			uses[at].values[f.value] = true
			uses[at].carriers++
			if f.value == node.name || f.value == short {
				uses[at].named++
			}
		}
	}
	for i := range s.nodes {
		node := &s.nodes[i]
		if node.unreadable {
			continue
		}
		node.features = slices.DeleteFunc(node.features, func(f feature) bool {
			u := uses[place{f.field, f.key}]
			own := u.carriers > 1 && u.named*2 > u.carriers || len(u.values) > ownValues && len(u.values)*2 > u.carriers
			if own {
				s.leave(f, "has a value of its own on nearly every node")
			}
			return own
		})
	}
}

// unreadable are the names of the nodes whose record cannot be read.
func (s *survey) unreadable() []string {
	var names []string
	for _, node := range s.nodes {
		if node.unreadable {
			names = append(names, node.name)
		}
	}
	return names
}
