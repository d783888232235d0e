package markdown

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/review"
)

// changed is all that happens to one pool. There is one of each, unless somebody
// has given a RuntimeClass the name of a pool.
type changed struct {
	name    string
	pools   []review.Object
	classes []review.Object
	members []review.Members
	nodes   []review.Nodes
	// elsewhere counts, by pool, the nodes that change for this pool and are shown
	// with another one.
	elsewhere map[string]int
}

// empty reports whether there is nothing to show for a pool: its nodes change
// for other pools only.
func (c *changed) empty() bool {
	coming := slices.ContainsFunc(c.members, func(m review.Members) bool { return len(m.Entering)+len(m.Leaving) > 0 })
	return len(c.pools)+len(c.classes)+len(c.nodes)+len(c.elsewhere) == 0 && !coming
}

// pools returns the affected pools: first those that change, in the order of
// the review, then those of which only nodes or other objects change, sorted,
// and last what belongs to none.
func pools(r *review.Review) []fold {
	byName := map[string]*changed{}
	of := func(name string) *changed {
		if byName[name] == nil {
			byName[name] = &changed{name: name, elsewhere: map[string]int{}}
		}
		return byName[name]
	}
	var order []string
	for _, pool := range r.Pools {
		if c := of(pool.Name); len(c.pools) == 0 {
			order = append(order, pool.Name)
		}
		of(pool.Name).pools = append(of(pool.Name).pools, pool)
	}
	for _, class := range r.RuntimeClasses {
		pool, _ := review.PoolOf(class.Name)
		c := of(pool)
		c.classes = append(c.classes, class)
	}
	for _, members := range r.Members {
		of(members.Pool).members = append(of(members.Pool).members, members)
	}
	for _, nodes := range r.Nodes {
		c := of(belongs(nodes, byName))
		c.nodes = append(c.nodes, nodes)
		for _, other := range poolsOf(nodes) {
			if other != c.name {
				of(other).elsewhere[c.name] += len(nodes.Names)
			}
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(byName), lastEmpty) {
		if len(byName[name].pools) == 0 && !byName[name].empty() {
			order = append(order, name)
		}
	}
	folds := make([]fold, 0, len(order))
	for _, name := range order {
		folds = append(folds, byName[name].fold())
	}
	return folds
}

// lastEmpty sorts names, the empty one last.
func lastEmpty(a, b string) int {
	if (a == "") != (b == "") {
		return len(b) - len(a)
	}
	return cmp.Compare(a, b)
}

// poolsOf returns the pools for which nodes change, each once.
func poolsOf(nodes review.Nodes) []string {
	pools := map[string]bool{}
	for _, change := range nodes.Changes {
		pools[change.Pool] = true
	}
	return slices.Sorted(maps.Keys(pools))
}

// belongs returns the pool under which nodes are shown that change for several: one
// that changes itself rather than another, then the one for which most keys change.
// It is empty for nodes on which nothing changes but the record.
func belongs(nodes review.Nodes, byName map[string]*changed) string {
	if len(nodes.Changes) == 0 {
		return ""
	}
	keys := map[string]int{}
	for _, change := range nodes.Changes {
		keys[change.Pool]++
	}
	rank := func(name string) int {
		if c := byName[name]; c != nil {
			return len(c.pools)
		}
		return 0
	}
	return slices.MinFunc(slices.Collect(maps.Keys(keys)), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(keys[b], keys[a]), cmp.Compare(a, b))
	})
}

func (c *changed) fold() fold {
	f := fold{html: c.headline(htmlCode), markdown: c.headline(code)}
	for _, pool := range c.pools {
		title := "NodePool " + code(pool.Name) + " is " + happened(pool.Action) + where(pool) + ":"
		f.parts = append(f.parts, part{title, diffLines(pool.Lines())})
	}
	for _, class := range c.classes {
		title := "RuntimeClass " + code(class.Name) + " is " + happened(class.Action) + ":"
		f.parts = append(f.parts, part{title, diffLines(class.Lines())})
	}
	for _, m := range c.members {
		if len(m.Entering)+len(m.Leaving) == 0 {
			continue // they stay, and are among the nodes below
		}
		if lines := append(nameLines('+', m.Entering), nameLines('-', m.Leaving)...); len(lines) > 0 {
			title := "Nodes of the pool, " + thousands(m.Before) + " before and " + thousands(m.After) + " after:"
			f.parts = append(f.parts, part{title, lines})
		}
	}
	if len(c.nodes) > 0 {
		f.parts = append(f.parts, part{"Changes on nodes" + c.size() + ":", c.nodeLines()})
	}
	return f
}

// size returns how many nodes the pool has, where none enters or leaves.
func (c *changed) size() string {
	if len(c.members) != 1 || len(c.members[0].Entering)+len(c.members[0].Leaving) > 0 {
		return ""
	}
	return ", of " + thousands(c.members[0].After) + " in the pool"
}

// where a pool is defined.
func where(o review.Object) string {
	if place := o.Place(); place != "" {
		return " in " + code(place)
	}
	return ""
}

// headline returns in one line what happens to the pool.
func (c *changed) headline(code func(string) string) string {
	var what []string
	for _, pool := range c.pools {
		what = append(what, happened(pool.Action))
	}
	for _, class := range c.classes {
		what = append(what, "RuntimeClass "+happened(class.Action))
	}
	entering, leaving, changing := 0, 0, 0
	for _, members := range c.members {
		entering, leaving = entering+len(members.Entering), leaving+len(members.Leaving)
	}
	for _, nodes := range c.nodes {
		changing += len(nodes.Names)
	}
	for _, each := range []struct {
		n         int
		one, more string
	}{{entering, "node enters", "nodes enter"}, {leaving, "node leaves", "nodes leave"}, {changing, "node changes", "nodes change"}} {
		if each.n > 0 {
			what = append(what, count(each.n, each.one, each.more))
		}
	}
	for _, pool := range slices.Sorted(maps.Keys(c.elsewhere)) {
		what = append(what, count(c.elsewhere[pool], "node changes", "nodes change")+" with pool "+code(pool))
	}
	title := "Pool " + code(c.name)
	if c.name == "" {
		title = "No pool" // of a node on which nothing changes but the record
	}
	return title + ": " + strings.Join(what, ", ")
}

// nodeLines returns the changes of nodes, below the names of the nodes with the
// same changes.
func (c *changed) nodeLines() []string {
	var lines []string
	for _, nodes := range c.nodes {
		for i, names := range wrapped(nodes.Names) {
			if i == 0 {
				names = count(len(nodes.Names), "node", "nodes") + ": " + names
			}
			lines = append(lines, "@@ "+names+" @@")
		}
		lines = append(lines, diffLines(nodes.Lines())...)
	}
	return lines
}

// happened is a plain word.
func happened(action plan.Action) string { return sentence(review.Happened(action)) }
