package plan

// Write is one of the writes by which a difference is carried out. One of its fields is
// set.
type Write struct {
	Pool         *PoolChange
	RuntimeClass *RuntimeClassChange
	Node         *NodeWrite
}

// NodeWrite is the write of one node, by the plan that was made for it.
type NodeWrite struct {
	Node *NodeState
	Plan *NodePlan
}

// Writes returns the writes of a difference to a cluster in the order in which they are
// made: what the revision says of the pools, then the RuntimeClasses, then the first
// write of each node. What follows it, where a node takes two, is of the same kind. RuntimeClasses
// that are deleted are left out: the garbage collector deletes those of pools that are gone, and
// that of a pool which has become a rollout policy goes after the writes of the nodes.
func (d *Difference) Writes(cluster Cluster) []Write {
	var all []Write
	for i := range d.Pools.Changes {
		all = append(all, Write{Pool: &d.Pools.Changes[i]})
	}
	for i := range d.RuntimeClasses {
		if change := &d.RuntimeClasses[i]; change.Action != Delete {
			all = append(all, Write{RuntimeClass: change})
		}
	}
	live := make(map[string]*NodeState, len(cluster.Nodes))
	for _, node := range cluster.Nodes {
		live[node.Name] = node
	}
	expansion := d.Expansion()
	for _, change := range d.Nodes {
		node := live[change.Name]
		if outcome := NodeOutcomeOf(node, expansion, NodeFacts{}); outcome.State == NodeStateChanging {
			all = append(all, Write{Node: &NodeWrite{Node: node, Plan: outcome.Plan}})
		}
	}
	return all
}
