package main

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/api/wrap"
)

// Sizes of the chart, in pixels; the page shows it 800 wide at the most.
const (
	chartWidth  = 800
	chartMargin = 24
	labelWidth  = 232 // of what is measured, at the left of its bar
	labelMost   = 36  // letters that fit into it
	barLeft     = chartMargin + labelWidth + 12
	barWidth    = 300 // of the longest; what it says in figures stands beside it
	barHeight   = 14
	barStep     = 24
	panelGap    = 26
)

// chartStyle has both modes. The background is the chart's own in either, as a page
// need not be in the mode that the reader's system is in.
const chartStyle = `
text { font: 13px -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; fill: #1f2328 }
.title { font-size: 18px; font-weight: 600 }
.panel { font-size: 14px; font-weight: 600 }
.note { font-size: 12px; fill: #59636e }
.ours { font-weight: 600 }
.ground { fill: #ffffff; stroke: #d1d9e0 }
.bar { fill: #8c959f }
.ourbar { fill: #0969da }
.rest { opacity: .4 }
.target { stroke: #1f2328; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc }
.note { fill: #9198a1 }
.ground { fill: #0d1117; stroke: #3d444d }
.bar { fill: #7d8590 }
.ourbar { fill: #4493f8 }
.target { stroke: #f0f6fc }
}
`

// chart is the report as a picture, an SVG without scripts and without anything
// that is elsewhere; empty where it has no figure that the chart shows.
func (r Report) chart() string {
	panels := r.panels()
	if len(panels) == 0 {
		return ""
	}
	var body strings.Builder
	y := 40
	write := func(class, text string) {
		fmt.Fprintf(&body, `<text class="%s" x="%d" y="%d">%s</text>`+"\n", class, chartMargin, y, escaped(text))
	}
	write("title", "nodepools: "+r.size())
	for _, line := range wrap.Lines(r.circumstances(), 110) {
		y += 20
		write("note", plainSpaces(line))
	}
	for _, p := range panels {
		y += panelGap + 6
		write("panel", p.title)
		y += 10
		longest := p.longest()
		for _, b := range p.bars {
			b.draw(&body, y, barWidth/longest)
			y += barStep
		}
	}
	for _, line := range wrap.Lines(chartNote, 112) {
		y += 18
		write("note", line)
	}
	height := y + chartMargin
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title desc">
<title id="title">%s</title>
<desc id="desc">%s</desc>
<style>%s</style>
<rect class="ground" x="0.5" y="0.5" width="%d" height="%d" rx="6"/>
`, chartWidth, height, chartWidth, height, escaped("Speed of nodepools beside others: "+r.size()), escaped(description(panels)),
		chartStyle, chartWidth-1, height-1) + body.String() + "</svg>\n"
}

// chartNote says whose the figures of others are.
const chartNote = "Less is better. Figures of others: 5,000 nodes, one run each on 2 cores, each beside the bare client of its own run; the lighter part of a bar is up to the larger of two figures."

func (p panel) longest() float64 {
	longest := 0.0
	for _, b := range p.bars {
		longest = max(longest, b.of.to, b.target)
	}
	if longest <= 0 {
		return 1 // all are nothing, and no bar is to be seen
	}
	return longest
}

// draw writes one line of a panel; scale is how many pixels one is.
func (b bar) draw(body *strings.Builder, y int, scale float64) {
	middle := y + barHeight - 3
	class, fill := "", "bar"
	if b.ours {
		class, fill = ` class="ours"`, "ourbar"
	}
	label, whole := b.label, ""
	if label = sanitize.ClipRunes(label, labelMost); label != b.label {
		whole = "<title>" + escaped(b.label) + "</title>"
	}
	fmt.Fprintf(body, `<text%s x="%d" y="%d" text-anchor="end">%s%s</text>`+"\n", class, barLeft-12, middle, escaped(label), whole)
	from, to := pixels(b.of.from, scale), pixels(b.of.to, scale)
	fmt.Fprintf(body, `<rect class="%s" x="%d" y="%d" width="%.1f" height="%d"/>`+"\n", fill, barLeft, y, from, barHeight)
	if to > from {
		fmt.Fprintf(body, `<rect class="%s rest" x="%.1f" y="%d" width="%.1f" height="%d"/>`+"\n", fill, barLeft+from, y, to-from, barHeight)
	}
	end := max(from, to)
	if b.target > 0 {
		at := pixels(b.target, scale)
		end = max(end, at)
		fmt.Fprintf(body, `<line class="target" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>`+"\n", barLeft+at, barLeft+at, y-3, y+barHeight+3)
	}
	fmt.Fprintf(body, `<text%s x="%.1f" y="%d">%s</text>`+"\n", class, barLeft+end+8, middle, escaped(b.text))
}

// pixels of a bar; what is less than nothing has none.
func pixels(n, scale float64) float64 { return max(0, n*scale) }

// description says in words what the picture shows.
func description(panels []panel) string {
	var all []string
	for _, p := range panels {
		var bars []string
		for _, b := range p.bars {
			bars = append(bars, plainSpaces(b.label+" "+b.text))
		}
		all = append(all, p.title+": "+strings.Join(bars, "; ")+".")
	}
	return strings.Join(all, " ")
}

func plainSpaces(text string) string { return strings.ReplaceAll(text, joined, " ") }

// escaped makes text of anything; what XML cannot hold becomes U+FFFD.
func escaped(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(plainSpaces(text))) // a Builder takes all
	return out.String()
}
