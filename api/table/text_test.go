package table

import (
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	for reason, c := range map[string]struct {
		table Text
		rows  [][]string
		want  []string
	}{
		"cells are broken, and a single one is a heading": {
			table: Text{Columns: []Column{{Title: "name"}, {Title: "measured", Width: 6, Right: true}, {Title: "at most", Width: 9}}},
			rows: [][]string{
				{"a heading that is wider than all of the columns"},
				{"one", "1 s", "2 s"},
				{},
				{"sécond", "10 s of 20", ""},
			},
			want: []string{
				"name   measur at most",
				"           ed",
				"a heading that is wider",
				"than all of the columns",
				"one       1 s 2 s",
				"",
				"sécond   10 s",
				"        of 20",
			},
		},
		"the last of few cells takes what is left": {
			table: Text{Columns: []Column{{Title: "NAME"}, {Title: "A", Right: true}, {Title: "B", Right: true}}, Gap: "  ", Indent: "> "},
			rows:  [][]string{{"x", "1", "22"}, {"longer", "no one"}, {"y", "neither one"}},
			want: []string{
				"> NAME    A   B",
				"> x       1  22",
				"> longer  no",
				">         one",
				"> y       neith",
				">         er",
				">         one",
			},
		},
		"without titles there is no line of them": {
			table: Text{Columns: []Column{{}, {}}, Indent: "  "},
			rows:  [][]string{{"id", "what it is"}, {"longer", "another"}},
			want:  []string{"  id     what it is", "  longer another"},
		},
		"a cell that fits is kept as it is": {
			table: Text{Columns: []Column{{Width: 6}, {Width: 2}}},
			rows:  [][]string{{` a  b`, "x"}, {"a   b c", "y"}},
			want:  []string{" a  b  x", "a b c  y"},
		},
	} {
		var out strings.Builder
		if c.table.Write(&out, c.rows); out.String() != strings.Join(c.want, "\n")+"\n" {
			t.Errorf("%s: wrote\n%s\nwant\n%s", reason, out.String(), strings.Join(c.want, "\n"))
		}
	}
}
