package inventory

import (
	"cmp"
	"maps"
	"slices"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// ownValues is the number of values from which on a label may identify nodes
// instead of grouping them.
const ownValues = 16

// nodesToFile groups equal nodes.
func nodesToFile(inv *Inventory) ([]fileNodes, error) {
	named := map[string]bool{}
	for _, pool := range inv.Pools {
		for key := range pool.Spec.Annotations {
			named[key] = true
		}
	}
	own := ownLabels(inv.Nodes)
	called := newHosts(inv.Nodes)
	groups := map[string]*fileNodes{}
	for _, node := range inv.Nodes {
		alike, owned := nodeToFile(node, inv.Unready[node.Name], named, own)
		same, err := toJSON(alike)
		if err != nil {
			return nil, err
		}
		group := groups[string(same)]
		if group == nil {
			group = &alike
			groups[string(same)] = group
		}
		group.Names = append(group.Names, node.Name)
		for key, value := range owned {
			values := group.Own[key]
			put(&values, called.short(node.Name), value)
			put(&group.Own, key, values)
		}
	}
	all := make([]fileNodes, 0, len(groups))
	for _, group := range groups {
		group.Names = compact(group.Names)
		all = append(all, *group)
	}
	slices.SortFunc(all, func(a, b fileNodes) int { return cmp.Compare(a.Names[0], b.Names[0]) })
	return all, nil
}

// nodeToFile returns the group of a node, and the node's individual labels.
func nodeToFile(node *plan.NodeState, notReady bool, named, own map[string]bool) (fileNodes, map[string]string) {
	written := fileNodes{Unschedulable: node.Unschedulable, NotReady: notReady}
	if node.Conditions.Known() {
		written.Conditions = new(node.Conditions.String())
	}
	var owned map[string]string
	for key, value := range node.Labels {
		switch {
		case value == node.Name:
			put(&written.Labels, key, itself)
		case own[key]:
			put(&owned, key, value)
		default:
			put(&written.Labels, key, value)
		}
	}
	for _, taint := range node.Taints {
		taint.TimeAdded = nil // nothing depends on it
		written.Taints = append(written.Taints, taint)
	}
	recorded := recordedKeys(node)
	for key, value := range node.Annotations {
		known := isOurs(key) || named[key] || slices.Contains(recorded.Annotations, key)
		if known && value != Unknown {
			put(&written.Annotations, key, value)
		} else {
			written.Others = append(written.Others, key)
		}
	}
	slices.Sort(written.Others)
	written.AlsoApplied = keysToFile(plan.AlsoApplied(node, recorded))
	for _, setter := range plan.SettersOf(node).All() {
		put(&written.SetBy, setter.Manager, fileSet{setter.Labels, setter.Taints})
	}
	return written, owned
}

// recordedKeys returns the keys in the record of a node; none where it cannot be read.
func recordedKeys(node *plan.NodeState) plan.Keys {
	record, err := plan.ParseRecord(node.Annotations[v1.AppliedAnnotation])
	if err != nil {
		return plan.Keys{}
	}
	return plan.Keys{
		Labels:      slices.Sorted(maps.Keys(record.Labels)),
		Annotations: slices.Sorted(maps.Keys(record.Annotations)),
	}
}

// ownLabels returns the keys for which most nodes that have them have a unique
// value other than their name.
func ownLabels(nodes []*plan.NodeState) map[string]bool {
	values, carriers := map[string]map[string]bool{}, map[string]int{}
	for _, node := range nodes {
		for key, value := range node.Labels {
			if value == node.Name {
				continue
			}
			if values[key] == nil {
				values[key] = map[string]bool{}
			}
			values[key][value] = true
			carriers[key]++
		}
	}
	own := map[string]bool{}
	for key, different := range values {
		own[key] = len(different) > ownValues && len(different)*2 > carriers[key]
	}
	return own
}
