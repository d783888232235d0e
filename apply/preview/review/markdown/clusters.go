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
// not all fits, the details of the longest sections give way first, then the sections of
// the least affected clusters, and then their rows in the table. It is an error when not
// even the summary fits; the error says how many bytes it needs.
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
	c.table = section{one: "cluster", more: "clusters"}.with(columns, rows)
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

// fit writes as much as fits.
func (c *clusters) fit(maxBytes int) (string, error) {
	if least := len(c.beginning(0, 0)); least > maxBytes {
		return "", fmt.Errorf("a comment of %s does not hold the summary, which takes %s\nraise --max-bytes to %d or more",
			count(maxBytes, "byte", "bytes"), thousands(least), least)
	}
	rows, sections := 0, 0
	raise(&rows, len(c.table.rows), func() bool { return len(c.beginning(rows, 0)) <= maxBytes })
	if rows == len(c.table.rows) {
		raise(&sections, len(c.sections), func() bool {
			length := len(c.beginning(rows, sections))
			for _, section := range c.sections[:sections] {
				length += len(section.frame()) + section.least()
			}
			return length <= maxBytes
		})
	}
	comment := c.beginning(rows, sections)
	shown := c.sections[:sections]
	left := maxBytes - len(comment)
	for _, section := range shown {
		left -= len(section.frame())
	}
	for i, share := range shares(shown, left) {
		text, err := shown[i].fit(share)
		if err != nil {
			return "", fmt.Errorf("cluster %d of %d: %w: this is a bug of nodepools", i+1, len(shown), err)
		}
		comment += shown[i].frame() + text
	}
	return comment, nil
}

// beginning writes all before the sections: so many rows of the table, and what is
// omitted where that many sections follow.
func (c *clusters) beginning(rows, sections int) string {
	p := &page{max: math.MaxInt}
	for _, paragraph := range c.head {
		p.block(paragraph)
	}
	var missing []string
	if n := len(c.sections) - sections; n > 0 {
		missing = append(missing, "the "+count(n, "section of a cluster", "sections of clusters"))
	}
	if n := len(c.table.rows) - rows; n > 0 {
		missing = append(missing, count(n, "cluster", "clusters"))
	}
	if len(missing) > 0 {
		p.block(fmt.Sprintf("**Cut to fit:** … %s left out; to see all, run: %s", strings.Join(missing, ", "), code(c.command)))
	}
	if rows > 0 {
		p.block(c.table.table + "\n" + strings.Join(c.table.rows[:rows], "\n"))
	}
	return p.String()
}

// frame is what comes before a section.
func (s clusterSection) frame() string { return "\n" + s.title + "\n\n" }

// least is the length of the section without anything that can be cut.
func (s clusterSection) least() int {
	text, _ := s.write(limits{}, math.MaxInt)
	return len(text)
}

// shares divides bytes among sections, each of which gets at least what it needs: all
// have the same share of what is left then, so that the longest is cut first.
func shares(sections []clusterSection, bytes int) []int {
	shares, wanted := make([]int, len(sections)), make([]int, len(sections))
	for i, section := range sections {
		all, _ := section.write(unlimited(), math.MaxInt)
		shares[i] = section.least()
		wanted[i] = max(0, len(all)-shares[i])
		bytes -= shares[i]
	}
	// The share with which all that is wanted, and no more than that of each, fits.
	share, most := 0, bytes
	raise(&share, most, func() bool {
		sum := 0
		for _, want := range wanted {
			sum += min(want, share)
		}
		return sum <= bytes
	})
	for i, want := range wanted {
		shares[i] += min(want, share)
	}
	return shares
}
