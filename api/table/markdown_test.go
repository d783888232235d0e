package table

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMarkdown(t *testing.T) {
	long := strings.Repeat("x", widest+1)
	head, lines := Markdown([]Column{{Title: "Nöme"}, {Title: "n", Right: true}, {}}, [][]string{
		{"é", "1,000"},
		{"**all**", "", long},
		{},
	})
	want := []string{
		"| Nöme    |     n | " + strings.Repeat(" ", widest) + " |",
		"| ------- | ----: | " + strings.Repeat("-", widest) + " |",
		"| é       | 1,000 | " + strings.Repeat(" ", widest) + " |",
		"| **all** |       | " + long + " |",
		"|         |       | " + strings.Repeat(" ", widest) + " |",
	}
	if diff := cmp.Diff(want, append(strings.Split(head, "\n"), lines...)); diff != "" {
		t.Errorf("a table with few cells and a long one (-want +got):\n%s", diff)
	}
}
