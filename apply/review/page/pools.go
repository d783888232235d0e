package page

import (
	"maps"
	"slices"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/review"
)

// pool is a pool that the review tells of, with its nodes.
type pool struct {
	Name string
	// Object is nil where only its nodes change.
	Object *review.Object
	// Pictured is false where nothing of its nodes changes, or is known.
	Pictured      bool
	Before, After row
	// Entering, Leaving and Changed are how many do.
	Entering, Leaving, Changed int
	Groups                     []group
	// More are the nodes of groups that are not listed.
	More int
	// Open tells that the manifest need not be unfolded.
	Open bool
}

// mostGroups is how many different changes of nodes a pool lists.
const mostGroups = 100

// group is nodes on which the pool changes the same.
type group struct {
	Names []string
	Lines []review.Line
}

// pools are all that the review tells of: those that change, as it has them, then
// those of which only nodes change, by name.
func pools(r *review.Review, open bool) []pool {
	p := collect(r)
	var all []pool
	told := map[string]bool{}
	for i := range r.Pools {
		told[r.Pools[i].Name] = true
		all = append(all, p.pool(r.Pools[i].Name, &r.Pools[i]))
	}
	others := maps.Clone(p.members)
	for name := range p.groups {
		others[name] = p.members[name]
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		if !told[name] {
			all = append(all, p.pool(name, nil))
		}
	}
	for i := range all {
		all[i].Open = open
	}
	return all
}

// picture is what the review says of pools and nodes, by name.
type picture struct {
	members map[string]*review.Members
	groups  map[string][]group
	// pods are how many of a node go.
	pods map[string]int
	// left is how many cells may still be drawn.
	left int
}

func collect(r *review.Review) *picture {
	p := &picture{members: map[string]*review.Members{}, groups: map[string][]group{}, pods: map[string]int{}, left: mostCells}
	for i := range r.Members {
		p.members[r.Members[i].Pool] = &r.Members[i]
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

// byPool parts the changes of nodes by the pool that they are made for.
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
	all := pool{Name: name, Object: object, Groups: p.groups[name]}
	var changed []string
	for _, group := range all.Groups {
		changed = append(changed, group.Names...)
	}
	for len(all.Groups) > mostGroups {
		last := len(all.Groups) - 1
		all.More += len(all.Groups[last].Names)
		all.Groups = all.Groups[:last]
	}
	before := row{Count: unknown, Rest: unknown}
	after := before
	var entering, leaving []string
	if members := p.members[name]; members != nil {
		entering, leaving = members.Entering, members.Leaving
		before.Count, after.Count = members.Before, members.After
	}
	moving := map[string]bool{}
	for _, node := range slices.Concat(entering, leaving) {
		moving[node] = true
	}
	changed = slices.DeleteFunc(changed, func(node string) bool { return moving[node] })
	slices.Sort(changed)
	if before.Count != unknown {
		before.Rest = max(0, before.Count-len(leaving)-len(changed))
		after.Rest = max(0, after.Count-len(entering)-len(changed))
	}
	all.Entering, all.Leaving, all.Changed = len(entering), len(leaving), len(changed)
	all.Pictured = len(entering)+len(leaving)+len(changed) > 0
	p.draw(&before, cells(changed, ""), cells(leaving, "out"))
	p.draw(&after, cells(changed, "ch"), cells(entering, "in"))
	all.Before, all.After = before, after
	return all
}

// recordsOnly are the nodes on which nothing changes but the record.
func recordsOnly(r *review.Review) []string {
	var names []string
	for _, nodes := range r.Nodes {
		if len(nodes.Changes) == 0 {
			names = append(names, nodes.Names...)
		}
	}
	return names
}
