package adopt

import (
	"fmt"
	"slices"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

// check verifies the proposal by the plan of the controller: with the pools no
// node changes otherwise than without them, except for the role labels of pools
// that have NewRole.
func (p *Proposal) check(cluster plan.Cluster) error {
	standing := cluster.Numbers.AllAccepted(cluster.Pools)
	proposed := slices.Clone(standing)
	roles := map[string]map[string]bool{} // of each node, the role labels that it gets
	for _, pool := range p.Pools {
		if problems := v1.ValidateNodePool(pool.NodePool); len(problems) > 0 {
			return fmt.Errorf("pool %q: %w", pool.Name, problems[0])
		}
		proposed = append(proposed, pool.NodePool)
		for _, node := range pool.Nodes {
			if pool.NewRole {
				if roles[node] == nil {
					roles[node] = map[string]bool{}
				}
				roles[node][v1.RoleLabel(pool.Name)] = true
			}
		}
	}
	before, after := render.Expand(standing), render.Expand(proposed)
	for _, node := range cluster.Nodes {
		was, err := plan.Node(node, before)
		if err != nil {
			continue // its record cannot be read, and nothing is written to it
		}
		will, err := plan.Node(node, after)
		if err != nil {
			return err
		}
		changes := slices.DeleteFunc(slices.Clone(will.Changes), func(change plan.KeyChange) bool {
			return change.Field == plan.Label && change.Before == nil && roles[node.Name][change.Key]
		})
		if !slices.EqualFunc(was.Changes, changes, sameChange) {
			return fmt.Errorf("node %q would change, which no adoption does: %s; please report this", node.Name, firstDifferent(was.Changes, changes))
		}
	}
	return nil
}

func sameChange(a, b plan.KeyChange) bool {
	return a.Field == b.Field && a.Key == b.Key && (a.After == nil) == (b.After == nil) && (a.After == nil || *a.After == *b.After)
}

// firstDifferent names the first key that only one of two lists changes.
func firstDifferent(was, will []plan.KeyChange) string {
	for _, changes := range [][2][]plan.KeyChange{{will, was}, {was, will}} {
		for _, change := range changes[0] {
			if !slices.ContainsFunc(changes[1], func(other plan.KeyChange) bool { return sameChange(change, other) }) {
				return fmt.Sprintf("%s %s", change.Field, change.Key)
			}
		}
	}
	return "in another order"
}
