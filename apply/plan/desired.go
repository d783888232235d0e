package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodepools/nodepools/render"
)

// Desired returns what the pools want of a live node: they see it without the
// labels that they have put there themselves. A node whose record cannot be read
// gives a [*RecordError].
func Desired(node *NodeState, pools *render.Expansion) (render.Desired, error) {
	recorded, err := readRecord(node)
	if err != nil {
		return render.Desired{}, err
	}
	return pools.Node(node.Name, recorded.underlyingLabels(node.Labels)), nil
}

// Members returns the pools that a live node is in, sorted by name: those of [Desired],
// for the price of looking. A node whose record cannot be read gives a
// [*RecordError].
func Members(node *NodeState, pools *render.Expansion) ([]string, error) {
	recorded, err := readRecord(node)
	if err != nil {
		return nil, err
	}
	return pools.Members(node.Name, recorded.underlyingLabels(node.Labels)), nil
}

// UnderlyingLabels returns the labels of a live node by which pools choose their
// members: those that pools have not put there, and the earlier values of those that
// they have. A node whose record cannot be read gives a [*RecordError].
func UnderlyingLabels(node *NodeState) (map[string]string, error) {
	recorded, err := readRecord(node)
	if err != nil {
		return nil, err
	}
	return recorded.underlyingLabels(node.Labels), nil
}

// NodePatches returns what the pools want of each node, sorted by its name, where they
// want anything: objects with that and nothing else. What pools want of a key that another
// of the same priority has is no part of it, and [Undecided] says so of the node.
func NodePatches(nodes []*NodeState, pools *render.Expansion) (patches []any, undecided []string, err error) {
	for _, node := range slices.SortedFunc(slices.Values(nodes), func(a, b *NodeState) int { return strings.Compare(a.Name, b.Name) }) {
		desired, err := Desired(node, pools)
		if err != nil {
			return nil, nil, err
		}
		if patch := desired.NodePatch(node.Name); patch != nil {
			patches = append(patches, patch)
		}
		for _, conflict := range Undecided(desired) {
			undecided = append(undecided, fmt.Sprintf("node %q: %s", node.Name, conflict))
		}
	}
	return patches, undecided, nil
}
