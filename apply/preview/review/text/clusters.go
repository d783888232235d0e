package text

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/api/table"
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
var clusterColumn = wrap.Width - utf8.RuneCountInString(strings.Join(review.Columns, gap)) - len(gap)

// gap is what stands between the columns of the table.
const gap = "  "

// clusters writes the table of all clusters.
func (t *writer) clusters(clusters []review.Cluster) {
	columns := []table.Column{{Title: "CLUSTER"}}
	for _, title := range review.Columns {
		columns = append(columns, table.Column{Title: strings.ToUpper(title), Right: true})
	}
	var rows [][]string
	for _, cluster := range clusters {
		cells := cluster.Cells()
		if cluster.Review == nil {
			cells = []string{"not compared"}
		}
		rows = append(rows, append([]string{short(review.Word(cluster.Name))}, cells...))
	}
	titles, lines := table.Text{Columns: columns, Gap: gap}.Lines(rows)
	t.line(t.bold(strings.Join(titles, "\n")))
	for i, row := range lines {
		line := strings.Join(row, "\n")
		if clusters[i].Review == nil {
			line = t.alarm(line)
		}
		t.line(line)
	}
}

// short is a name that fits its column; the section of the cluster has all of it.
func short(name string) string {
	if utf8.RuneCountInString(name) <= clusterColumn {
		return name
	}
	return sanitize.BeginRunes(name, clusterColumn-1) + "…"
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
