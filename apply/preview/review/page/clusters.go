package page

import (
	"bytes"
	_ "embed" // the template and the style
	"fmt"
	"html/template"
	"io"

	"github.com/nodepools/nodepools/apply/preview/review"
)

var (
	//go:embed clusters.html
	clustersLayout string
	//go:embed clusters.css
	clustersStyle string
)

// WriteClusters writes the reviews of several clusters as one page: a table that leads
// to the section of each, which is what [Write] writes of it.
func WriteClusters(w io.Writer, r *review.Reviews, o Options) error {
	all := style + clustersStyle
	content := clusters{
		Reviews: r, Policy: policy(all), Style: template.CSS(all),
		Columns: review.Columns, Counts: r.Summary.Counts.Say(),
	}
	for i, cluster := range r.Clusters {
		prefix := fmt.Sprintf("c%d-", i+1)
		row := clusterRow{Name: cluster.Name, Failed: cluster.Review == nil}
		if !o.Summary {
			section, err := clusterSection(cluster, prefix, o)
			if err != nil {
				return err
			}
			content.Sections = append(content.Sections, section)
			row.ID = prefix + "section"
		}
		if cluster.Review != nil {
			row.Cells, row.Taken = clusterCells(cluster), cluster.Review.Compared.Taken
		}
		content.Rows = append(content.Rows, row)
	}
	return execute(w, "clusters", "", content)
}

// clusters is the input of the template of several.
type clusters struct {
	*review.Reviews
	Policy  string
	Style   template.CSS
	Columns []string
	Counts  []review.Said
	Rows    []clusterRow
	// Sections are written by the same template, so they are markup.
	Sections []template.HTML
}

// clusterRow is a cluster in the table.
type clusterRow struct {
	Name string
	// ID is the anchor of its section; empty where there is none.
	ID     string
	Failed bool
	Cells  []clusterCell
	Taken  string
}

type clusterCell struct {
	Text string
	// Bad reports that it is something harmful, or not known.
	Bad bool
}

func clusterCells(c review.Cluster) []clusterCell {
	var cells []clusterCell
	for i, text := range c.Cells() {
		harmful := review.Columns[i] != "Pools" && review.Columns[i] != "Nodes"
		cells = append(cells, clusterCell{text, harmful && text != "0"})
	}
	return cells
}

// clusterSection writes the section of a cluster, with anchors of its own.
func clusterSection(c review.Cluster, prefix string, o Options) (template.HTML, error) {
	var section bytes.Buffer
	if c.Review == nil {
		err := execute(&section, "failure", prefix, c)
		return template.HTML(section.String()), err
	}
	content := newDocument(c.Review, o)
	content.Cluster = c.Name
	err := execute(&section, "cluster", prefix, content)
	return template.HTML(section.String()), err
}
