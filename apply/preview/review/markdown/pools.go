package markdown

import (
	"strings"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/review"
)

// pools returns the affected pools.
func pools(r *review.Review) []fold {
	var folds []fold
	for _, change := range r.ByPool() {
		folds = append(folds, poolFold(change))
	}
	return folds
}

func poolFold(c *review.PoolChange) fold {
	f := fold{html: headline(c, htmlCode), markdown: headline(c, code)}
	for _, pool := range c.Pools {
		title := "NodePool " + code(pool.Name) + " is " + happened(pool.Action)
		if place := pool.Place(); place != "" {
			title += " in " + code(place)
		}
		f.parts = append(f.parts, part{title + ":", diffLines(pool.Lines())})
	}
	for _, class := range c.Classes {
		f.parts = append(f.parts, part{"RuntimeClass " + code(class.Name) + " is " + happened(class.Action) + ":", diffLines(class.Lines())})
	}
	size := ""
	switch m := c.Members; {
	case c.Moves():
		title := "Nodes of the pool, " + thousands(m.Before) + " before and " + thousands(m.After) + " after:"
		f.parts = append(f.parts, part{title, append(nameLines('+', m.Entering), nameLines('-', m.Leaving)...)})
	case m != nil:
		size = ", of " + thousands(m.After) + " in the pool"
	}
	if len(c.Nodes) > 0 {
		f.parts = append(f.parts, part{"Changes on nodes" + size + ":", nodeLines(c.Nodes)})
	}
	return f
}

// headline returns in one line what happens to the pool.
func headline(c *review.PoolChange, code func(string) string) string {
	var what []string
	for _, pool := range c.Pools {
		what = append(what, happened(pool.Action))
	}
	for _, class := range c.Classes {
		what = append(what, "RuntimeClass "+happened(class.Action))
	}
	add := func(n int, one, more string) {
		if n > 0 {
			what = append(what, count(n, one, more))
		}
	}
	if c.Moves() {
		add(len(c.Members.Entering), "node enters", "nodes enter")
		add(len(c.Members.Leaving), "node leaves", "nodes leave")
	}
	changing := 0
	for _, nodes := range c.Nodes {
		changing += len(nodes.Names)
	}
	add(changing, "node changes", "nodes change")
	return "Pool " + code(c.Name) + ": " + strings.Join(what, ", ")
}

// nodeLines returns the changes of nodes, below the names of the nodes with the
// same changes.
func nodeLines(all []review.Nodes) []string {
	var lines []string
	for _, nodes := range all {
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
