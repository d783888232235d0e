package status

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/api/table"
	"github.com/nodepools/nodepools/api/wrap"
	"github.com/nodepools/nodepools/apply/preview/review"
)

// What bars are drawn of: nodes that have followed, those of them that are not available,
// and nodes that wait.
const (
	followedMark = "█"
	brokenMark   = "▒"
	waitingMark  = "░"
)

const (
	// longestWave and longestPool are how many characters of names are shown in a column.
	longestWave = 20
	longestPool = 30
	// widestBar and narrowestBar are in characters.
	widestBar, narrowestBar = 24, 8
)

// bar draws how many of some nodes have followed. Whatever there is of something is seen.
func bar(nodes, followed, failed, width int) string {
	if nodes == 0 {
		return strings.Repeat(" ", width)
	}
	share := func(n int) int {
		cells := n * width / nodes
		if n > 0 {
			cells = max(cells, 1)
		}
		if n < nodes {
			cells = min(cells, width-1)
		}
		return cells
	}
	done, broken := share(followed), share(failed)
	broken = min(broken, done)
	return strings.Repeat(followedMark, done-broken) + strings.Repeat(brokenMark, broken) + strings.Repeat(waitingMark, width-done)
}

// bars draws a line for each wave, or one for all nodes.
func (p Pool) bars(w io.Writer) {
	waves, title := p.Waves, "WAVE"
	if len(waves) == 0 {
		if p.Nodes == nil || p.Nodes.Desired == 0 {
			return
		}
		title = ""
		all := Wave{Name: "all", Nodes: p.Nodes.Desired, Followed: p.Nodes.Updated, Waiting: p.Nodes.Waiting}
		if p.Nodes.Unavailable != nil {
			all.Unavailable, all.Failed = *p.Nodes.Unavailable, *p.Nodes.Failed
		}
		waves = []Wave{all}
	}
	columns := []table.Column{
		{}, {Title: title}, {}, {Title: "FOLLOWED", Right: true}, {Title: "WAITING", Right: true}, {Title: "UNAVAILABLE", Right: true}, {Title: "FAILED", Right: true},
	}
	rows := make([][]string, len(waves))
	for i, wave := range waves {
		rows[i] = []string{wave.mark(), sanitize.ClipRunes(review.Word(wave.Name), longestWave), "", strconv.Itoa(wave.Followed) + "/" + strconv.Itoa(wave.Nodes),
			strconv.Itoa(wave.Waiting), strconv.Itoa(wave.Unavailable), strconv.Itoa(wave.Failed)}
		if p.Nodes == nil || p.Nodes.Unavailable == nil {
			rows[i][5], rows[i][6] = "-", "-" // nothing is known of nodes
		}
	}
	width := barWidth(columns, rows)
	for i, wave := range waves {
		rows[i][2] = bar(wave.Nodes, wave.Followed, wave.Failed, width)
	}
	fmt.Fprintln(w)
	table.Text{Columns: columns, Gap: "  "}.Write(w, rows)
	for _, wave := range waves {
		if wave.State == WaveCurrent && wave.Unavailable > 0 {
			wrap.Hang(w, "", "  ", strings.Fields(wave.unavailable()))
		}
	}
}

// mark points at the wave that others wait for.
func (w Wave) mark() string {
	if w.State == WaveCurrent {
		return ">"
	}
	return " "
}

func (w Wave) unavailable() string {
	names := make([]string, len(w.UnavailableNodes))
	for i, name := range w.UnavailableNodes {
		names[i] = review.Word(name)
	}
	text := "Not available in wave " + review.Word(w.Name) + ": " + strings.Join(names, ", ")
	if more := w.Unavailable - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// barWidth is what is left of a line for bars.
func barWidth(columns []table.Column, rows [][]string) int {
	left := wrap.Width
	for i, column := range columns {
		width := len([]rune(column.Title))
		for _, row := range rows {
			width = max(width, len([]rune(row[i])))
		}
		left -= width + 2
	}
	return max(narrowestBar, min(widestBar, left+2))
}

// list writes a line for each pool.
func (r *Report) list(w io.Writer) {
	columns := []table.Column{{Title: "POOL"}, {Title: "PHASE"}, {Title: "UPDATED", Right: true}, {Title: "WAITS FOR"}}
	rows, name, updated := make([][]string, len(r.Pools)), len("POOL"), len("UPDATED")
	for i, pool := range r.Pools {
		counts := "-"
		if pool.Nodes != nil {
			counts = fmt.Sprintf("%d/%d", pool.Nodes.Updated, pool.Nodes.Desired)
		}
		rows[i] = []string{review.Word(pool.Name), string(pool.Phase), counts, strings.Join(strings.Fields(sanitize.Line(pool.WaitsFor)), " ")}
		name, updated = max(name, len([]rune(rows[i][0]))), max(updated, len(counts))
	}
	name = min(name, longestPool)
	columns[0].Width = name
	columns[3].Width = wrap.Width - name - len(Progressing) - updated - 3*2
	for i := range rows {
		rows[i][3] = sanitize.ClipRunes(rows[i][3], 2*columns[3].Width-8) // two lines, and what breaking them takes
	}
	columns[1].Width = len(Progressing)
	table.Text{Columns: columns, Gap: "  "}.Write(w, rows)
	r.stranded(w)
}

// Line says in one line how far nodes are in following the pool.
func (p Pool) Line() string {
	text := review.Word(p.Name) + ": " + string(p.Phase)
	if p.Nodes != nil {
		text += ", " + p.Nodes.text()
	}
	switch p.WaitsFor {
	case "":
	case p.Message:
		text += "; " + p.Message
	default:
		text += "; waits for " + p.WaitsFor
	}
	if p.PodsStranded != nil {
		text += "; " + p.PodsStranded.Message
	}
	return sanitize.Line(text)
}

// The colours are those that a terminal has for good, pending and bad.
const (
	green, yellow, red, off = "\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[0m"
)

var painted = regexp.MustCompile(`█+|▒+|\b(?:Halted|Stalled|Approval|Paused|Complete)\b`)

// paint colours bars and phases in a text that is harmless to a terminal.
func paint(text string) string {
	return painted.ReplaceAllStringFunc(text, func(part string) string {
		switch {
		case strings.HasPrefix(part, followedMark), part == string(Complete):
			return green + part + off
		case part == string(Approval), part == string(Paused):
			return yellow + part + off
		default:
			return red + part + off
		}
	})
}
