package markdown

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/nodepools/nodepools/apply/preview/review"
)

// WriteClusters writes the reviews of several clusters as one comment, which is never
// longer than Options.MaxBytes: a table of all clusters, and a section for each. Where
// not all fits, details give way first, then the sections of the least affected
// clusters, and then their rows in the table. It is an error when not even the summary
// fits; the error says how many bytes it needs.
func WriteClusters(w io.Writer, r *review.Reviews, o Options) error {
	if err := o.complete(); err != nil {
		return err
	}
	comment, err := newClusters(r, o).fit(o.MaxBytes)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, comment)
	return err
}

// clusters is a comment on several clusters before it is fitted into its limit.
type clusters struct {
	command string
	// head is never cut.
	head  []string
	table section
	// sections of the clusters, in the order of the table.
	sections []clusterSection
}

// clusterSection is the part of a comment about one cluster.
type clusterSection struct {
	title string
	*document
}

func newClusters(r *review.Reviews, o Options) *clusters {
	c := &clusters{command: o.Command, head: []string{Marker(o.Marker), "## " + capital(sentence(r.Summary.Changes))}}
	if r.Summary.Impact != "" {
		c.head = append(c.head, bold(capital(sentence(r.Summary.Impact))))
	}
	const mostNotes = 5 // the head has to stay short
	for i, note := range r.Notes {
		if i == mostNotes {
			c.head = append(c.head, fmt.Sprintf("… %s.", count(len(r.Notes)-i, "more note", "more notes")))
			break
		}
		c.head = append(c.head, "Note: "+stop(sentence(note)))
	}
	columns := append(append([]string{"Cluster"}, review.Columns...), "As of")
	var rows [][]string
	for _, cluster := range r.Clusters {
		rows = append(rows, clusterRow(cluster))
	}
	c.table = tableOf(columns, rows)
	if o.Summary {
		return c
	}
	for _, cluster := range r.Clusters {
		c.sections = append(c.sections, sectionOf(cluster, o))
	}
	return c
}

func clusterRow(c review.Cluster) []string {
	row := []string{code(c.Name)}
	if c.Review == nil {
		return append(row, "**not compared**")
	}
	for _, cell := range c.Cells() {
		if cell == review.NotKnown {
			cell = "unknown"
		}
		row = append(row, cell)
	}
	if taken := c.Review.Compared.Taken; taken != "" {
		row = append(row, code(taken))
	}
	return row
}

func sectionOf(c review.Cluster, o Options) clusterSection {
	s := clusterSection{title: "## Cluster " + code(c.Name)}
	if c.Review != nil {
		s.document = newDocument(c.Review, o)
		return s
	}
	s.document = &document{command: o.Command, head: []string{"**Not compared:** " + stop(sentence(c.Failure.Message))}}
	if c.Failure.Remedy != "" {
		s.head = append(s.head, "What to do: "+stop(sentence(c.Failure.Remedy)))
	}
	problems := section{title: "Problems", one: "problem", more: "problems"}
	for _, problem := range c.Failure.List() {
		problems.rows = append(problems.rows, sentence(problem))
	}
	if len(problems.rows) > 0 {
		s.lists = []section{problems}
	}
	return s
}

// fit writes as much as fits: the table, and then the sections, the worst cluster first.
// Each of them has at least its summary, and an equal share of the room that is left.
func (c *clusters) fit(maxBytes int) (string, error) {
	text, _, _ := c.write(math.MaxInt)
	if len(text) <= maxBytes {
		return text, nil
	}
	least := len(c.beginning(0)) + len(c.notice(0, 0))
	if least > maxBytes {
		return "", fmt.Errorf("a comment of %s does not hold the summary, which takes %s\nraise --max-bytes to %d or more",
			count(maxBytes, "byte", "bytes"), thousands(least), least)
	}
	text, rows, shown := c.write(maxBytes - least)
	beginning := c.beginning(0)
	return beginning + c.notice(rows, shown) + strings.TrimPrefix(text, beginning), nil
}

// write writes the beginning, and of the rest what fits into a number of bytes. It
// returns how many rows and sections it has written.
func (c *clusters) write(room int) (text string, rows, sections int) {
	for _, row := range c.table.rows {
		if room -= len(row) + 1; room < len(c.table.table)+2 {
			break
		}
		rows++
	}
	text = c.beginning(rows)
	if room -= len(c.table.table) + 2; rows < len(c.table.rows) {
		return text, rows, 0
	}
	for i, section := range c.sections {
		room -= len(section.frame())
		least := section.least()
		if least > room {
			break
		}
		part, err := section.fit(max(least, room/(len(c.sections)-i)))
		if err != nil {
			break // never: it has what it needs
		}
		text += section.frame() + part
		room -= len(part)
		sections++
	}
	return text, rows, sections
}

// beginning writes all before the sections, with so many rows of the table.
func (c *clusters) beginning(rows int) string {
	text := strings.Join(c.head, "\n\n") + "\n"
	if rows > 0 {
		text += block(c.table.table + "\n" + strings.Join(c.table.rows[:rows], "\n"))
	}
	return text
}

// notice returns what is left out where there are so many rows and sections.
func (c *clusters) notice(rows, sections int) string {
	var missing []string
	if n := len(c.sections) - sections; n > 0 {
		missing = append(missing, "the "+count(n, "section of a cluster", "sections of clusters"))
	}
	if n := len(c.table.rows) - rows; n > 0 {
		missing = append(missing, count(n, "cluster", "clusters"))
	}
	if len(missing) == 0 {
		return ""
	}
	return block("**Cut to fit:** … left out: " + strings.Join(missing, ", ") + "; to see all, run: " + code(c.command))
}

// frame is what comes before a section.
func (s clusterSection) frame() string { return "\n" + s.title + "\n\n" }
