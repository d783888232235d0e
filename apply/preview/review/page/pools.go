package page

import (
	"fmt"
	"slices"

	"github.com/nodepools/nodepools/apply/preview/review"
)

// pool is a pool of the review, with its nodes.
type pool struct {
	*review.PoolChange
	// ID is the anchor of its card.
	ID string
	// Rows are its nodes: before and after, one row where both are the same or one
	// is empty, and none where no node changes, or none is known.
	Rows []row
	// Entering, Leaving, Changed and Hit are the names of such nodes; Hit are
	// those that lose pods.
	Entering, Leaving, Changed, Hit []string
	// Pods is how many pods are deleted.
	Pods   int
	Groups []review.Nodes
	// More are the nodes of groups that are not listed.
	More int
	// Open reports that the card is shown unfolded, Manifests that its content is.
	Open, Manifests bool
}

// mostGroups is how many different changes of nodes a pool lists.
const mostGroups = 100

// pools returns all pools of the review.
func pools(r *review.Review) []pool {
	p := &picture{pods: podsOf(r), left: mostCells}
	var all []pool
	for _, change := range r.ByPool() {
		all = append(all, p.pool(change))
	}
	ids, objects, drawn := anchors{}, 0, 0
	for i := range all {
		all[i].ID = ids.anchor("pool", all[i].Name)
		for _, row := range all[i].Rows {
			drawn += len(row.Cells)
		}
		objects += len(all[i].Pools) + len(all[i].Classes)
	}
	for i := range all {
		all[i].Open = len(all) <= fewPools
		// Whoever unfolds a card wants to see its content.
		all[i].Manifests = objects <= fewObjects || !all[i].Open
		for j := range all[i].Rows {
			all[i].Rows[j].Named = drawn <= mostNamed
		}
	}
	return all
}

// picture has what is drawn of nodes.
type picture struct {
	// pods counts the deleted pods of each node.
	pods map[string]int
	// left is how many cells may still be drawn.
	left int
}

func podsOf(r *review.Review) map[string]int {
	pods := map[string]int{}
	if r.Impact == nil {
		return pods
	}
	for _, eviction := range r.Impact.Evictions {
		for _, pod := range eviction.Pods {
			pods[pod.Node]++
		}
	}
	for _, daemon := range r.Impact.DaemonPods {
		for _, pod := range daemon.Removed {
			pods[pod.Node]++
		}
	}
	return pods
}

func (p *picture) pool(change *review.PoolChange) pool {
	all := pool{PoolChange: change, Groups: change.Nodes}
	for _, group := range all.Groups {
		all.Changed = append(all.Changed, group.Names...)
	}
	for len(all.Groups) > mostGroups {
		last := len(all.Groups) - 1
		all.More += len(all.Groups[last].Names)
		all.Groups = all.Groups[:last]
	}
	if members := change.Members; members != nil {
		all.Entering, all.Leaving = members.Entering, members.Leaving
	}
	moving := map[string]bool{}
	for _, node := range slices.Concat(all.Entering, all.Leaving) {
		moving[node] = true
	}
	all.Changed = slices.DeleteFunc(all.Changed, func(node string) bool { return moving[node] })
	slices.Sort(all.Changed)
	for _, node := range slices.Concat(all.Changed, all.Entering, all.Leaving) {
		if n := p.pods[node]; n > 0 {
			all.Hit = append(all.Hit, node)
			all.Pods += n
		}
	}
	all.Rows = p.rows(&all)
	return all
}

// HowMany returns how many nodes change, of those that the pool has.
func (p pool) HowMany() string {
	if len(p.Rows) == 1 && p.Rows[0].Rest > 0 {
		return fmt.Sprintf("%d of %s", len(p.Changed), p.Rows[0].Title())
	}
	return review.Count(len(p.Changed), "node")
}

// rows returns one row with the nodes of a pool, or two where nodes enter or
// leave one that has nodes before and after.
func (p *picture) rows(of *pool) []row {
	before, after := row{Count: unknown, Rest: unknown}, row{Count: unknown, Rest: unknown}
	if members := of.Members; members != nil {
		before.Count, after.Count = members.Before, members.After
		before.Rest = max(0, before.Count-len(of.Leaving)-len(of.Changed))
		after.Rest = max(0, after.Count-len(of.Entering)-len(of.Changed))
	}
	switch {
	case len(of.Entering)+len(of.Leaving) > 0:
		before.Name, after.Name = "Before", "After"
		p.draw(&before, cells(of.Changed, ""), cells(of.Leaving, "out"))
		p.draw(&after, cells(of.Changed, "ch"), cells(of.Entering, "in"))
		switch {
		case before.Count == 0:
			after.Name = ""
			return []row{after}
		case after.Count == 0:
			before.Name = ""
			return []row{before}
		}
		return []row{before, after}
	case len(of.Changed) > 0:
		p.draw(&after, cells(of.Changed, "ch"))
		return []row{after}
	}
	return nil
}
