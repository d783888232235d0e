package main

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/nodepools/nodepools/api/table"
	"github.com/nodepools/nodepools/api/wrap"
)

// table is the report for a terminal and for the page: what was measured where, and a table
// of Markdown.
func (r Report) table() string {
	var cells [][]string
	row := ""
	for _, f := range r.Figures {
		if f.Row != row {
			row = f.Row
			cells = append(cells, []string{"**" + cell(row) + "**"})
		}
		compared, ratio := "", ""
		if f.Baseline != nil {
			compared, ratio = number(f.Baseline.Value)+" "+f.Unit+", "+f.Baseline.Name, number(f.judged())+" ×"
		}
		cells = append(cells, []string{cell(f.Name), cell(number(f.Value) + " " + f.Unit), cell(compared), ratio, f.verdict()})
	}
	head, lines := table.Markdown([]table.Column{
		{}, {Title: "measured", Right: true}, {Title: "compared with"}, {Title: "ratio", Right: true}, {Title: "at most", Right: true},
	}, cells)
	said := strings.Join(wrap.Lines(cell(r.title()+"; "+r.where()+". "+r.balance()), wrap.Width), "\n")
	return said + "\n\n" + head + "\n" + strings.Join(lines, "\n") + "\n"
}

// verdict is the target and whether it is reached; empty where there is none.
func (f Figure) verdict() string {
	if f.Target == nil {
		return ""
	}
	text := number(f.Target.AtMost)
	if f.Baseline != nil {
		text += " ×"
	}
	if f.missed() {
		return text + " MISSED"
	}
	return text + " reached"
}

// balance counts the targets, and names those that are missed.
func (r Report) balance() string {
	targets := 0
	var missed []string
	for _, f := range r.Figures {
		if f.Target != nil {
			targets++
		}
		if f.missed() {
			missed = append(missed, f.Row+": "+f.Name)
		}
	}
	text := fmt.Sprintf("%d of %d targets reached.", targets-len(missed), targets)
	if len(missed) > 0 {
		text += " Missed: " + strings.Join(missed, "; ") + "."
	}
	return text
}

func (r Report) title() string {
	return fmt.Sprintf("%s nodes, %s pools", number(float64(r.Nodes)), number(float64(r.Pools)))
}

// where says on what machine and of what program the figures are.
func (r Report) where() string {
	return fmt.Sprintf("%d cores, %.0f GiB, %s/%s, %s, Kubernetes %s, nodepools %s, %s", r.Machine.Cores, float64(r.Machine.MemoryMiB)/1024,
		r.Machine.OS, r.Machine.Arch, r.Machine.Go, cmp.Or(r.Kubernetes, "not recorded"), r.Program, r.Taken.UTC().Format("2006-01-02"))
}

// number writes a figure with three digits that count, whole from 100 on, with commas
// between thousands.
func number(n float64) string {
	if n == 0 || math.IsInf(n, 0) || math.Abs(n) < 0.0005 {
		return strconv.FormatFloat(n, 'g', 2, 64)
	}
	digits := max(0, 2-int(math.Floor(math.Log10(math.Abs(n)))))
	text := strconv.FormatFloat(n, 'f', digits, 64)
	if digits > 0 {
		return strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// cell is text in one line, and harmless in Markdown.
func cell(text string) string { return markdownText.Replace(strings.Join(strings.Fields(text), " ")) }

var markdownText = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`,
)
