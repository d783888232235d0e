package markdown

import (
	"fmt"
	"math"
	"strings"

	"github.com/nodepools/nodepools/apply/preview/review"
)

// Bounds of what one part of a comment lists.
const (
	mostRows  = 50  // of a table or a list
	mostLines = 200 // of a fold
	// fewItems is how many pools without their details are listed unfolded.
	fewItems = 50
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
	// fold has the details of the rows; nil for none.
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
		d.head = append([]string{"**No difference** between " + between(r.Compared, "and") + "."}, guards(r)...)
		d.lists = lists(r)
	} else {
		d.head = summary(r)
		d.impact, d.pools, d.lists = sections(review.Consequences(r.Impact)), pools(r), lists(r)
	}
	if o.Summary {
		d.impact, d.pools, d.lists = nil, nil, nil
	}
	return d
}

// left is what a comment leaves out.
type left struct {
	sections []string
	// pools are not named, and details are those of pools and of sections.
	pools, details int
}

// notice returns what is left out, and how to see it.
func (d *document) notice(l left) string {
	parts := l.sections
	if l.pools > 0 {
		parts = append(parts, count(l.pools, "pool", "pools"))
	}
	if l.details > 0 {
		parts = append(parts, "the details of "+count(l.details, "pool or section", "pools or sections"))
	}
	if len(parts) == 0 {
		return ""
	}
	return block("**Cut to fit:** … left out: " + strings.Join(parts, ", ") + "; to see all, run: " + code(d.command))
}

// least is the length of a comment that leaves out all that it may.
func (d *document) least() int {
	var all left
	for _, section := range append(d.impact[:len(d.impact):len(d.impact)], d.lists...) {
		all.sections = append(all.sections, section.title)
	}
	all.pools, all.details = len(d.pools), len(d.pools)+len(d.impact)
	return len(d.beginning()) + len(d.notice(all))
}

func (d *document) beginning() string { return strings.Join(d.head, "\n\n") + "\n" }

// fit writes the document in at most as many bytes. What does not fit is left out as a
// whole: first the details of pools, the last pool first, then those of the sections,
// then the names of pools, the lists, and the impact.
func (d *document) fit(maxBytes int) (string, error) {
	if text, left := d.write(math.MaxInt); len(text) <= maxBytes && d.notice(left) == "" {
		return text, nil
	}
	least := d.least()
	if least > maxBytes {
		return "", fmt.Errorf("a comment of %s does not hold the summary, which takes %s\nraise --max-bytes to %d or more",
			count(maxBytes, "byte", "bytes"), thousands(least), least)
	}
	text, left := d.write(maxBytes - least)
	return d.beginning() + d.notice(left) + strings.TrimPrefix(text, d.beginning()), nil
}

// write writes the beginning, and of the rest what fits into a number of bytes.
func (d *document) write(room int) (string, left) {
	var l left
	take := func(text string) bool {
		if len(text) > room {
			return false
		}
		room -= len(text)
		return true
	}
	takeSections := func(all []section) []string {
		texts := make([]string, len(all))
		for i, section := range all {
			if text := section.String(); take(text) {
				texts[i] = text
			} else {
				l.sections = append(l.sections, section.title)
			}
		}
		return texts
	}
	impact, lists := takeSections(d.impact), takeSections(d.lists)
	named, opened := 0, 0
	if take(poolsFrame) {
		for named < len(d.pools) && take(item(d.pools[named].markdown)) {
			named++
		}
	}
	for i, section := range d.impact {
		if section.fold == nil || impact[i] == "" {
			continue
		}
		if text := section.fold.String(); take(text) {
			impact[i] += text
		} else {
			l.details++
		}
	}
	for opened < named && take(d.pools[opened].String()) {
		opened++
	}
	l.pools = len(d.pools) - named
	l.details += named - opened
	return d.beginning() + strings.Join(impact, "") + writePools(d.pools[:opened], d.pools[opened:named]) + strings.Join(lists, ""), l
}

// poolsFrame is what surrounds pools at most.
const poolsFrame = "\n#### Pools\n\n<details>\n<summary>1,000,000 pools without their details</summary>\n\n\n</details>\n"

// writePools writes pools with their details, and others without.
func writePools(opened, closed []fold) string {
	if len(opened)+len(closed) == 0 {
		return ""
	}
	text := block("#### Pools")
	var items string
	for _, fold := range opened {
		if len(fold.parts) == 0 {
			items += item(fold.markdown)
			continue
		}
		text += list(items) + fold.String()
		items = ""
	}
	text += list(items)
	items = ""
	for _, fold := range closed {
		items += item(fold.markdown)
	}
	if len(closed) <= fewItems {
		return text + list(items)
	}
	return text + block("<details>\n<summary>"+count(len(closed), "pool", "pools")+" without their details</summary>") + list(items) + block("</details>")
}

// block is a paragraph, a table, or another element between empty lines; an empty one is
// nothing.
func block(text string) string {
	if text == "" {
		return ""
	}
	return "\n" + text + "\n"
}

func item(text string) string { return "- " + text + "\n" }

// list is a list of items.
func list(items string) string {
	if items == "" {
		return ""
	}
	return "\n" + items
}

func (s section) String() string {
	text := block("#### "+s.title) + block(s.intro)
	shown := s.rows[:min(mostRows, len(s.rows))]
	if s.table != "" {
		text += block(s.table + "\n" + strings.Join(shown, "\n"))
	} else {
		text += list(item(strings.Join(shown, "\n- ")))
	}
	if more := len(s.rows) - len(shown); more > 0 {
		text += block("… " + count(more, "more "+s.one, "more "+s.more))
	}
	return text
}

// String writes a fold. Its Markdown is between empty lines, and its title has none:
// otherwise neither would be parsed as such.
func (f fold) String() string {
	text := block("<details>\n<summary>" + f.html + "</summary>")
	room := mostLines
	for _, part := range f.parts {
		shown := part.lines[:min(room, len(part.lines))]
		if len(shown) == 0 && len(part.lines) > 0 {
			break
		}
		text += block(part.title)
		if len(shown) > 0 {
			text += block(fence(shown))
		}
		room -= len(shown)
	}
	if more := f.lines() - (mostLines - room); more > 0 {
		text += block("… " + count(more, "more line", "more lines"))
	}
	return text + block("</details>")
}
