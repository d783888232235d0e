package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodepools/nodepools/apply/review"
)

const (
	// unknown is a number that the review does not tell.
	unknown = -1
	// mostNamed is how many cells of a row have room for their names.
	mostNamed = 150
	// mostCells is how many cells a page has: as many as a browser shows with ease,
	// and a mebibyte or so of them. Further nodes are counted.
	mostCells = 24_000
	// mostRest is how many cells are drawn for nodes that stay as they are.
	mostRest = 200
)

// row is the nodes of a pool at one time.
type row struct {
	// Count is how many there are, or unknown.
	Count int
	Cells []cell
	// Rest is how many more stay as they are, or unknown.
	Rest int
	// Small is a row of so many that names stand in the tips of the cells alone.
	Small bool
	// Hidden are how many cells are not drawn.
	Hidden int
}

// cell is a node.
type cell struct {
	Name string
	// Kind is in, out, ch or empty, as in the style.
	Kind string
	// Pods is how many of them go.
	Pods int
}

func cells(names []string, kind string) []cell {
	all := make([]cell, len(names))
	for i, name := range names {
		all[i] = cell{Name: name, Kind: kind}
	}
	return all
}

// draw puts cells into a row, as many as there is room for on the page.
func (p *picture) draw(r *row, groups ...[]cell) {
	r.Cells = slices.Concat(groups...)
	slices.SortStableFunc(r.Cells, func(a, b cell) int { return strings.Compare(a.Name, b.Name) })
	if len(r.Cells) > p.left {
		r.Hidden = len(r.Cells) - p.left
		r.Cells = r.Cells[:p.left]
	}
	p.left -= len(r.Cells)
	r.Small = len(r.Cells) > mostNamed
	for i := range r.Cells {
		if r.Cells[i].Kind != "" { // what goes goes when the change comes
			r.Cells[i].Pods = p.pods[r.Cells[i].Name]
		}
	}
}

// Mark is the sign of what happens to the node, for those to whom a colour says
// nothing.
func (c cell) Mark() string {
	return map[string]string{"in": "+", "out": "−", "ch": "~"}[c.Kind]
}

// Class is the kind, and whether pods go.
func (c cell) Class() string {
	if c.Pods > 0 {
		return c.Kind + " hit"
	}
	return c.Kind
}

// Tip says in words what the cell shows.
func (c cell) Tip() string {
	tip := review.Word(c.Name)
	if what := map[string]string{"in": "enters", "out": "leaves", "ch": "changed"}[c.Kind]; what != "" {
		tip += ": " + what
	}
	if c.Pods > 0 {
		tip += fmt.Sprintf(", %s gone", review.Count(c.Pods, "pod"))
	}
	return tip
}

// Title says how many nodes there are.
func (r row) Title() string {
	if r.Count == unknown {
		return ""
	}
	return review.Count(r.Count, "node")
}

// Plain are the cells of nodes that stay as they are; there are none where they are
// too many to draw.
func (r row) Plain() []struct{} {
	if r.Rest > mostRest {
		return nil
	}
	return make([]struct{}, max(r.Rest, 0))
}
