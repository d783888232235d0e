package text

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/api/wrap"
	"github.com/nodepools/nodepools/apply/preview/review"
)

// WriteClusters writes the reviews of several clusters: a summary of all, and a section
// for each, which is what [Write] writes of it.
func WriteClusters(w io.Writer, r *review.Reviews, o Options) error {
	t := &writer{painter: painter(o.Color)}
	t.summary(r.Summary)
	t.line("")
	t.clusters(r.Clusters)
	for _, note := range r.Notes {
		t.sentence("", "Note: "+note)
	}
	if !o.Summary {
		for _, cluster := range r.Clusters {
			t.cluster(cluster, o)
		}
	}
	_, err := io.WriteString(w, sanitize.BreakCommands(t.String()))
	return err
}

// clusterColumn is how wide the names of clusters may be in the table: all of it fits a
// terminal where no count has more than its heading.
var clusterColumn = wrap.Width - utf8.RuneCountInString(strings.Join(review.Columns, "  ")) - len("  ")

// clusters writes the table of all clusters.
func (t *writer) clusters(clusters []review.Cluster) {
	widths := []int{len("CLUSTER")}
	for _, column := range review.Columns {
		widths = append(widths, len(column))
	}
	var rows [][]string
	for _, cluster := range clusters {
		row := append([]string{short(review.Word(cluster.Name))}, cluster.Cells()...)
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
		rows = append(rows, row)
	}
	t.line(t.bold(strings.ToUpper(tableRow(append([]string{"Cluster"}, review.Columns...), widths))))
	for i, row := range rows {
		if clusters[i].Review == nil {
			t.line(t.alarm(tableRow(append(row, "not compared"), widths)))
			continue
		}
		t.line(tableRow(row, widths))
	}
}

// short is a name that fits its column; the section of the cluster has all of it.
func short(name string) string {
	if utf8.RuneCountInString(name) <= clusterColumn {
		return name
	}
	return sanitize.BeginRunes(name, clusterColumn-1) + "…"
}

// tableRow writes the cells in columns, of which all but the first are numbers.
func tableRow(cells []string, widths []int) string {
	row := cells[0] + strings.Repeat(" ", widths[0]-utf8.RuneCountInString(cells[0]))
	for i, cell := range cells[1:] {
		row += "  " + strings.Repeat(" ", max(0, widths[i+1]-utf8.RuneCountInString(cell))) + cell
	}
	return row
}

// cluster writes the section of a cluster.
func (t *writer) cluster(c review.Cluster, o Options) {
	title := clipped(fmt.Sprintf("Cluster %s, of %s", review.Word(c.Name), review.Word(c.Inventory)))
	t.line("")
	t.line(t.bold(title))
	t.line(t.bold(strings.Repeat("-", min(utf8.RuneCountInString(title), wrap.Width))))
	if c.Review != nil {
		t.review(c.Review, o)
		return
	}
	for line := range strings.Lines(wrapped("", "  ", strings.Fields("Not compared: "+review.Visible(c.Failure.Message)))) {
		t.line(t.alarm(strings.TrimSuffix(line, "\n")))
	}
	for _, problem := range c.Failure.List() {
		t.sentence("  ", problem)
	}
	if c.Failure.Remedy != "" {
		t.sentence("  ", c.Failure.Remedy)
	}
}
