package page

import (
	"fmt"
	"maps"
	"slices"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/review"
)

// pool is a pool of the review, with its nodes.
type pool struct {
	Name string
	// ID is the anchor of its card.
	ID string
	// Object is nil where only its nodes or its RuntimeClass change; RuntimeClass
	// is nil where it does not change.
	Object, RuntimeClass *review.Object
	// Rows are its nodes: before and after, one row where both are the same or one
	// is empty, and none where no node changes, or none is known.
	Rows []row
	// Entering, Leaving, Changed and Hit are the names of such nodes; Hit are
	// those that lose pods.
	Entering, Leaving, Changed, Hit []string
	// Pods is how many pods are deleted.
	Pods   int
	Groups []group
	// More are the nodes of groups that are not listed.
	More int
	// Open reports that the card is shown unfolded, Manifests that its content is.
	Open, Manifests bool
}

// mostGroups is how many different changes of nodes a pool lists.
const mostGroups = 100

// group is nodes with the same changes by the pool.
type group struct {
	Names []string
	Lines []review.Line
}

// pools returns all pools of the review: those that change, in its order, then
// those of which only nodes or a RuntimeClass change, by name.
func pools(r *review.Review) []pool {
	p := collect(r)
	var all []pool
	listed := map[string]bool{}
	for i := range r.Pools {
		listed[r.Pools[i].Name] = true
		all = append(all, p.pool(r.Pools[i].Name, &r.Pools[i]))
	}
	others := map[string]bool{}
	for _, names := range []func(func(string) bool){maps.Keys(p.members), maps.Keys(p.groups), maps.Keys(p.classes)} {
		for name := range names {
			others[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		if !listed[name] {
			all = append(all, p.pool(name, nil))
		}
	}
	ids, objects, drawn := anchors{}, 0, 0
	for i := range all {
		all[i].ID = ids.anchor("pool", all[i].Name)
		for _, row := range all[i].Rows {
			drawn += len(row.Cells)
		}
		for _, object := range []*review.Object{all[i].Object, all[i].RuntimeClass} {
			if object != nil {
				objects++
			}
		}
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

// picture has the changes of the review by pool and node.
type picture struct {
	members map[string]*review.Members
	groups  map[string][]group
	// classes are the RuntimeClasses of pools.
	classes map[string]*review.Object
	// pods counts the deleted pods of each node.
	pods map[string]int
	// left is how many cells may still be drawn.
	left int
}

func collect(r *review.Review) *picture {
	p := &picture{
		members: map[string]*review.Members{}, groups: map[string][]group{},
		classes: map[string]*review.Object{}, pods: map[string]int{}, left: mostCells,
	}
	for i := range r.Members {
		p.members[r.Members[i].Pool] = &r.Members[i]
	}
	for i := range r.RuntimeClasses {
		pool, ofPool := review.PoolOf(r.RuntimeClasses[i].Name)
		if ofPool && p.classes[pool] == nil {
			p.classes[pool] = &r.RuntimeClasses[i]
		}
	}
	for _, nodes := range r.Nodes {
		for _, part := range byPool(nodes) {
			name := part.Changes[0].Pool
			p.groups[name] = append(p.groups[name], group{part.Names, part.Lines()})
		}
	}
	if r.Impact == nil {
		return p
	}
	for _, eviction := range r.Impact.Evictions {
		for _, pod := range eviction.Pods {
			p.pods[pod.Node]++
		}
	}
	for _, daemon := range r.Impact.DaemonPods {
		for _, pod := range daemon.Removed {
			p.pods[pod.Node]++
		}
	}
	return p
}

// byPool splits the changes of nodes by the pool that causes them.
func byPool(nodes review.Nodes) []review.Nodes {
	changes := map[string][]plan.KeyChange{}
	for _, change := range nodes.Changes {
		changes[change.Pool] = append(changes[change.Pool], change)
	}
	var parts []review.Nodes
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		parts = append(parts, review.Nodes{Names: nodes.Names, Changes: changes[name]})
	}
	return parts
}

func (p *picture) pool(name string, object *review.Object) pool {
	all := pool{Name: name, Object: object, RuntimeClass: p.classes[name], Groups: p.groups[name]}
	for _, group := range all.Groups {
		all.Changed = append(all.Changed, group.Names...)
	}
	for len(all.Groups) > mostGroups {
		last := len(all.Groups) - 1
		all.More += len(all.Groups[last].Names)
		all.Groups = all.Groups[:last]
	}
	if members := p.members[name]; members != nil {
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
	all.Rows = p.rows(name, &all)
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
func (p *picture) rows(name string, of *pool) []row {
	before, after := row{Count: unknown, Rest: unknown}, row{Count: unknown, Rest: unknown}
	if members := p.members[name]; members != nil {
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

// recordsOnly returns the nodes on which nothing changes but the record.
func recordsOnly(r *review.Review) []string {
	var names []string
	for _, nodes := range r.Nodes {
		if len(nodes.Changes) == 0 {
			names = append(names, nodes.Names...)
		}
	}
	return names
}
