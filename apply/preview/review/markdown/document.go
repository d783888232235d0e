package markdown

import (
	"strings"

	"github.com/nodepools/nodepools/apply/preview/review"
)

// document is a comment before it is fitted into its limit.
type document struct {
	command string
	// head is never cut: the marker, and paragraphs.
	head []string
	// impact, then the pools, then the lists.
	impact []section
	pools  []fold
	lists  []section
}

// section is a table or a list with a title.
type section struct {
	title string
	intro string // empty for none
	table string // the head of the table; empty for a list
	rows  []string
	// one and more name what a row is, in the singular and the plural.
	one, more string
	// fold has the details of the rows; it is omitted where none of its lines fits.
	fold *fold
}

// fold is a section that can be unfolded.
type fold struct {
	// html is the title of a fold with lines, and markdown that of one without.
	html, markdown string
	parts          []part
}

// part is a paragraph and the lines of a diff below it.
type part struct {
	title string
	lines []string
}

func (f fold) lines() int {
	n := 0
	for _, part := range f.parts {
		n += len(part.lines)
	}
	return n
}

func newDocument(r *review.Review, o Options) *document {
	d := &document{command: o.Command}
	if nothing(r) {
		d.head = []string{"**No difference** between " + between(r.Compared, "and") + "."}
		if r.Compared.BrokenBase != nil {
			d.head = append(d.head, brokenBase(r.Compared.BrokenBase))
		}
		d.lists = lists(r)
	} else {
		d.head = summary(r)
		d.impact, d.pools, d.lists = impacts(r.Impact), pools(r), lists(r)
	}
	if o.Summary {
		d.impact, d.pools, d.lists = nil, nil, nil
	}
	return d
}

// folds returns all folds, in their order.
func (d *document) folds() []fold {
	var folds []fold
	for _, section := range d.impact {
		if section.fold != nil {
			folds = append(folds, *section.fold)
		}
	}
	return append(folds, d.pools...)
}

// most returns the limits with which nothing is omitted.
func (d *document) most() limits {
	most := limits{pools: len(d.pools), folds: len(d.folds())}
	for _, section := range d.impact {
		most.rows = max(most.rows, len(section.rows))
	}
	for _, section := range d.lists {
		most.entries = max(most.entries, len(section.rows))
	}
	for _, fold := range d.folds() {
		most.lines = max(most.lines, fold.lines())
	}
	return most
}

// leftOut counts what limits omit.
func (d *document) leftOut(l limits) left {
	left := left{pools: max(0, len(d.pools)-l.pools)}
	for _, section := range d.impact {
		left.entries += max(0, len(section.rows)-l.rows)
	}
	for _, section := range d.lists {
		left.entries += max(0, len(section.rows)-l.entries)
	}
	hidden := len(d.folds()) - len(d.pools) // those of the impact come first
	for i, fold := range d.folds() {
		if shown := i < l.folds && i-hidden < l.pools; shown {
			left.lines += max(0, fold.lines()-l.lines)
		} else {
			left.lines += fold.lines()
		}
	}
	return left
}

// write writes what the limits allow, and reports whether it fits. It may stop
// writing when it does not.
func (d *document) write(l limits, maxBytes int) (string, bool) {
	p := &page{max: maxBytes}
	for _, paragraph := range d.head {
		p.block(paragraph)
	}
	p.block(d.leftOut(l).notice(d.command))
	folds := l.folds
	for _, section := range d.impact {
		p.section(section, l.rows)
		if section.fold == nil {
			continue
		}
		if folds > 0 {
			p.fold(*section.fold, l.lines)
		}
		folds--
	}
	p.pools(d.pools, l, folds)
	for _, section := range d.lists {
		p.section(section, l.entries)
	}
	return p.String(), p.Len() <= maxBytes
}

// page is the text of a document, up to about its limit.
type page struct {
	strings.Builder
	max int
	// list is true within a list, whose items have no empty line between them.
	list bool
}

// block writes a paragraph, a table, or another element between empty lines. An
// empty one is not written.
func (p *page) block(text string) {
	if text == "" || p.Len() > p.max {
		return
	}
	if p.Len() > 0 {
		p.WriteString("\n")
	}
	p.WriteString(text)
	p.WriteString("\n")
	p.list = false
}

// item writes an item of a list.
func (p *page) item(text string) {
	if p.Len() > p.max {
		return
	}
	if !p.list {
		p.WriteString("\n")
	}
	p.WriteString("- " + text + "\n")
	p.list = true
}

func (p *page) section(s section, rows int) {
	if rows < 1 || len(s.rows) == 0 {
		return
	}
	p.block("#### " + s.title)
	p.block(s.intro)
	shown := s.rows[:min(rows, len(s.rows))]
	if s.table != "" {
		p.block(s.table + "\n" + strings.Join(shown, "\n"))
	} else {
		for _, row := range shown {
			p.item(row)
		}
	}
	if more := len(s.rows) - len(shown); more > 0 {
		p.block("… " + count(more, "more "+s.one, "more "+s.more))
	}
}

// pools writes as many as the limits allow, of which so many are folds.
func (p *page) pools(all []fold, l limits, folds int) {
	shown := all[:min(l.pools, len(all))]
	if len(shown) == 0 {
		return
	}
	p.block("#### Pools")
	opened := min(max(folds, 0), len(shown))
	for _, fold := range shown[:opened] {
		if len(fold.parts) > 0 {
			p.fold(fold, l.lines)
		} else {
			p.item(fold.markdown)
		}
	}
	closed := shown[opened:]
	if len(closed) > fewRows {
		p.block("<details>\n<summary>" + count(len(closed), "pool", "pools") + " without their details</summary>")
	}
	for _, fold := range closed {
		p.item(fold.markdown)
	}
	if len(closed) > fewRows {
		p.block("</details>")
	}
	if more := len(all) - len(shown); more > 0 {
		p.block("… " + count(more, "more pool", "more pools"))
	}
}

// fold writes a fold. Its Markdown is between empty lines, and its title has
// none: otherwise neither would be parsed as such.
func (p *page) fold(f fold, lines int) {
	p.block("<details>\n<summary>" + f.html + "</summary>")
	written := 0
	for _, part := range f.parts {
		shown := part.lines[:min(lines-written, len(part.lines))]
		if len(shown) == 0 && len(part.lines) > 0 {
			break
		}
		p.block(part.title)
		if len(shown) > 0 {
			p.block(fence(shown))
		}
		written += len(shown)
	}
	if more := f.lines() - written; more > 0 {
		p.block("… " + count(more, "more line", "more lines"))
	}
	p.block("</details>")
}
