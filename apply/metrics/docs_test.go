package metrics

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/testdata/docs"
)

// The marks between which docs/metrics.md is made of the definitions.
const (
	docsBegin = "<!-- metrics: made by go test ./apply/metrics -update, not by hand -->\n"
	docsEnd   = "<!-- metrics: end -->\n"
)

// documented is the table of all metrics.
func documented() string {
	var text strings.Builder
	text.WriteString("| metric | type | labels | what it is |\n|---|---|---|---|\n")
	for _, d := range Definitions() {
		labels := make([]string, len(d.Labels))
		for i, label := range d.Labels {
			labels[i] = "`" + label + "`"
		}
		fmt.Fprintf(&text, "| `%s` | %s | %s | %s |\n", d.Name, d.Type, strings.Join(labels, ", "), d.Help)
	}
	return text.String()
}

// Each metric has a row, made of its help text.
func TestMetricsAreDocumented(t *testing.T) {
	page := docs.Read(t, "docs/metrics.md")
	before, rest, begins := strings.Cut(page.Text, docsBegin)
	table, after, ends := strings.Cut(rest, docsEnd)
	if !begins || !ends {
		t.Fatalf("docs/metrics.md has no place for the metrics between %q and %q", docsBegin, docsEnd)
	}
	if *update {
		file := filepath.Join(docs.Root(t), "docs", "metrics.md")
		if err := os.WriteFile(file, []byte(before+docsBegin+documented()+docsEnd+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != documented() {
		t.Errorf("docs/metrics.md is not what the help texts say; go test ./apply/metrics -update:\n%s", documented())
	}
}
