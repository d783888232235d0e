package plan

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Setters names the field managers that set what stands on a node, ours left aside,
// by its managed fields.
type Setters struct {
	node   *NodeState
	owners owners
}

// SettersOf reads the managed fields of a node.
func SettersOf(node *NodeState) *Setters {
	return &Setters{node, owners{object: node}}
}

// Setter is what one field manager has set on a node.
type Setter struct {
	Manager string
	// Labels are keys, sorted.
	Labels []string
	// Taints is true of who owns the taints. They are one list: whoever changed one of
	// them last owns all.
	Taints bool
}

// All returns what stands on the node by who has set it, sorted by manager. Nothing is
// known of the rest.
func (s *Setters) All() []Setter {
	byManager := map[string]*Setter{}
	of := func(manager string) *Setter {
		if byManager[manager] == nil {
			byManager[manager] = &Setter{Manager: manager}
		}
		return byManager[manager]
	}
	for _, owner := range s.owners.all() {
		if owner.manager == "" {
			continue
		}
		owner.fields.Iterate(func(path fieldpath.Path) {
			switch {
			case path.Equals(taintsPath):
				if len(s.node.Taints) > 0 {
					of(owner.manager).Taints = true
				}
			case len(path) == 3 && path[2].FieldName != nil && path[:2].Equals(labelsPath):
				if _, stands := s.node.Labels[*path[2].FieldName]; stands {
					of(owner.manager).Labels = append(of(owner.manager).Labels, *path[2].FieldName)
				}
			}
		})
	}
	all := make([]Setter, 0, len(byManager))
	for _, setter := range byManager {
		slices.Sort(setter.Labels)
		setter.Labels = slices.Compact(setter.Labels)
		all = append(all, *setter)
	}
	slices.SortFunc(all, func(a, b Setter) int { return cmp.Compare(a.Manager, b.Manager) })
	return all
}

// SetBy are managed fields from which [SettersOf] reads what a manager has set. No plan
// depends on them, but for whom a conflict names.
func SetBy(setter Setter) []metav1.ManagedFieldsEntry {
	var entries []metav1.ManagedFieldsEntry
	owns := func(fields string) {
		entries = append(entries, metav1.ManagedFieldsEntry{
			Manager: setter.Manager, Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(fields),
		})
	}
	if len(setter.Labels) > 0 {
		owns(Keys{Labels: setter.Labels}.fields())
	}
	if setter.Taints {
		owns(`{"f:spec":{"f:taints":{}}}`)
	}
	return entries
}
