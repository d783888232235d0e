package inventory

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodepools/nodepools/apply/plan"
)

func (r *reader) nodeGroup(group *fileNodes) error {
	var managed []metav1.ManagedFieldsEntry
	if group.AlsoApplied != nil {
		managed = plan.ManagedFields(plan.Keys{}, group.AlsoApplied.keys())[1:]
	}
	for _, manager := range slices.Sorted(maps.Keys(group.SetBy)) {
		set := group.SetBy[manager]
		managed = append(managed, plan.SetBy(plan.Setter{Manager: manager, Labels: set.Labels, Taints: set.Taints})...)
	}
	annotations := group.Annotations
	for _, key := range group.Others {
		put(&annotations, key, Unknown)
	}
	var conditions plan.Conditions
	if group.Conditions != nil {
		if conditions = plan.ParseConditions(*group.Conditions); conditions.String() != *group.Conditions {
			return fmt.Errorf("conditions are %s, which are no sorted types and statuses: Type=True,Type=False", quote(*group.Conditions))
		}
	}
	first := len(r.inv.Nodes)
	for _, text := range group.Names {
		names, err := expand(text, maxNodes-len(r.inv.Nodes))
		if err != nil {
			return err
		}
		if err := r.spend(len(names) * (nodeValues + len(group.Labels) + len(annotations) + len(group.Taints) + group.owned())); err != nil {
			return err
		}
		for _, name := range names {
			if err := r.newNode(name); err != nil {
				return err
			}
			r.inv.Nodes = append(r.inv.Nodes, &plan.NodeState{
				Name: name, Labels: labelsOf(name, group), Annotations: maps.Clone(annotations), ManagedFields: managed,
				Taints: slices.Clone(group.Taints), Unschedulable: group.Unschedulable, Conditions: conditions,
			})
			if group.NotReady {
				put(&r.inv.Unready, name, true)
			}
		}
	}
	return ownLabelsTo(r.inv.Nodes[first:], group.Own)
}

// owned counts the entries of owners. They are decoded for each node, although
// nodes share them.
func (g *fileNodes) owned() int {
	keys := g.AlsoApplied.keys()
	owned := len(keys.Labels) + len(keys.Annotations)
	for _, set := range g.SetBy {
		owned += objectValues + len(set.Labels)
	}
	return owned
}

// labelsOf returns the labels of a node that its group has.
func labelsOf(name string, group *fileNodes) map[string]string {
	labels := maps.Clone(group.Labels)
	for key, value := range labels {
		if value == itself {
			labels[key] = name
		}
	}
	return labels
}

// ownLabelsTo adds the individual labels to the nodes of a group.
func ownLabelsTo(nodes []*plan.NodeState, own map[string]map[string]string) error {
	if len(own) == 0 {
		return nil
	}
	called, byName := newHosts(nodes), make(map[string]*plan.NodeState, len(nodes))
	for _, node := range nodes {
		byName[node.Name] = node
	}
	for _, key := range slices.Sorted(maps.Keys(own)) {
		for _, name := range slices.Sorted(maps.Keys(own[key])) {
			full, known := called.full(name)
			if !known {
				return fmt.Errorf("ownLabels has %s, which is not one of the names, or several", quote(name))
			}
			put(&byName[full].Labels, key, own[key][name])
		}
	}
	return nil
}

// newNode records the name of a node, and refuses a duplicate.
func (r *reader) newNode(name string) error {
	if !isName(name) {
		return fmt.Errorf("%s is not the name of a node", quote(name))
	}
	if r.called.has(name) {
		return fmt.Errorf("node %q is there twice", name)
	}
	r.called.add(name)
	return nil
}
