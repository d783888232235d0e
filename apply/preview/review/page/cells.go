package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodepools/nodepools/apply/preview/review"
)

const (
	// unknown is a number that the review does not have.
	unknown = -1
	// mostNamed is the number of cells up to which a page shows their names in
	// them. Those of larger pages have them in their tooltips, and the lists below
	// name all.
	mostNamed = 120
	// mostCells is how many cells a page has: as many as a browser renders easily,
	// about a mebibyte. Further nodes are counted.
	mostCells = 24_000
	// mostRest is how many cells are drawn for unchanged nodes.
	mostRest = 200
)

// row has the nodes of a pool before or after the change.
type row struct {
	// Name is Before, After, or nothing where both are the same nodes.
	Name string
	// Count is how many there are, or unknown.
	Count int
	Cells []cell
	// Rest is how many more are unchanged, or unknown.
	Rest int
	// Named reports that the cells have their names in them.
	Named bool
	// Hidden are how many cells are not drawn.
	Hidden int
}

// cell is a node.
type cell struct {
	Name string
	// Kind is in, out, ch or empty, as in the style.
	Kind string
	// Pods is how many of its pods are deleted.
	Pods int
}

func cells(names []string, kind string) []cell {
	all := make([]cell, len(names))
	for i, name := range names {
		all[i] = cell{Name: name, Kind: kind}
	}
	return all
}

// draw puts cells into a row, as many as the limits of the page allow.
func (p *picture) draw(r *row, groups ...[]cell) {
	r.Cells = slices.Concat(groups...)
	slices.SortStableFunc(r.Cells, func(a, b cell) int { return strings.Compare(a.Name, b.Name) })
	if len(r.Cells) > p.left {
		r.Hidden = len(r.Cells) - p.left
		r.Cells = r.Cells[:p.left]
	}
	p.left -= len(r.Cells)
	for i := range r.Cells {
		if r.Cells[i].Kind != "" { // its pods are deleted by the change
			r.Cells[i].Pods = p.pods[r.Cells[i].Name]
		}
	}
}

// Mark returns the sign of what happens to the node, for those who cannot
// distinguish the colours. The style draws it.
func (c cell) Mark() string {
	return map[string]string{"in": "+", "out": "−", "ch": "~"}[c.Kind]
}

// Class returns the CSS classes: the kind, and whether pods are deleted.
func (c cell) Class() string {
	if c.Pods > 0 {
		return c.Kind + " hit"
	}
	return c.Kind
}

// nameRoom is how many characters of a name the narrowest cell has room for, and nameTail
// how many at its end are kept where it is cut: nodes of a kind differ in their last ones.
const nameRoom, nameTail = 7, 5

// Head and Tail are the name as it stands in the cell, which cuts the head where there is no
// room. The domain of a long name, which is that of all nodes, is left out.
func (c cell) Head() string { head, _ := c.parts(); return head }
func (c cell) Tail() string { _, tail := c.parts(); return tail }

func (c cell) parts() (head, tail string) {
	name := []rune(review.Word(c.Name))
	if dot := slices.Index(name, '.'); len(name) > nameRoom && dot > 0 {
		name = name[:dot]
	}
	if len(name) <= nameRoom {
		return string(name), ""
	}
	at := len(name) - nameTail
	return string(name[:at]), string(name[at:])
}

// Tip returns the tooltip of the cell.
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

// Title returns how many nodes there are.
func (r row) Title() string {
	if r.Count == unknown {
		return ""
	}
	return review.Count(r.Count, "node")
}

// Label returns a description of the cells for screen readers.
func (r row) Label() string {
	kinds, hit := map[string]int{}, 0
	for _, cell := range r.Cells {
		kinds[cell.Kind]++
		if cell.Pods > 0 {
			hit++
		}
	}
	label := review.Count(len(r.Cells), "node")
	for _, kind := range []struct{ kind, verb string }{{"ch", "changed"}, {"in", "entering"}, {"out", "leaving"}} {
		if n := kinds[kind.kind]; n > 0 {
			label += fmt.Sprintf(", %d %s", n, kind.verb)
		}
	}
	if hit > 0 {
		label += fmt.Sprintf(", pods go from %d", hit)
	}
	return label
}

// Plain returns the cells of unchanged nodes; none where they are too many to draw.
func (r row) Plain() []struct{} {
	if r.Rest > mostRest {
		return nil
	}
	return make([]struct{}, max(r.Rest, 0))
}
