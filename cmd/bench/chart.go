package main

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// Sizes of the chart in pixels. A bar as long as targetWidth is at its target.
const (
	chartWidth  = 800
	barLeft     = 440
	targetWidth = 140
	barHeight   = 12
	barStep     = 20
)

// chartStyle has a light and a dark mode. The background is the chart's own: the page and
// the reader's system may differ in mode.
const chartStyle = `
text { font: 12px -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; fill: #1f2328 }
.title { font-size: 16px; font-weight: 600 }
.ground { fill: #ffffff; stroke: #d1d9e0 }
.bar { fill: #0969da }
.missed { fill: #bc4c00 }
.target { stroke: #1f2328; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc }
.ground { fill: #0d1117; stroke: #3d444d }
.bar { fill: #4493f8 }
.missed { fill: #db6d28 }
.target { stroke: #f0f6fc }
}
`

// chart is a picture of the figures with a target above 0: how much of its target each one
// takes. It is an SVG without scripts and without anything that is elsewhere.
func (r Report) chart() string {
	var body strings.Builder
	y := 64
	for _, f := range r.Figures {
		if f.Target == nil || f.Target.AtMost == 0 {
			continue
		}
		class, share := "bar", f.judged()/f.Target.AtMost
		if f.missed() {
			class = "missed"
		}
		width := targetWidth * max(0, min(share, 2.2)) // a longer bar is cut
		fmt.Fprintf(&body, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", barLeft-10, y+10, escaped(f.Row+": "+f.Name, 68))
		fmt.Fprintf(&body, `<rect class="%s" x="%d" y="%d" width="%.1f" height="%d"/>`+"\n", class, barLeft, y, width, barHeight)
		fmt.Fprintf(&body, `<text x="%.1f" y="%d">%.0f %%</text>`+"\n", barLeft+max(width, targetWidth)+8, y+10, 100*share)
		y += barStep
	}
	height := y + 16
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" role="img" aria-labelledby="title desc">
<title id="title">nodepools: share of each target that is used; %[3]s</title>
<desc id="desc">%[4]s</desc>
<style>%[5]s</style>
<rect class="ground" x="0.5" y="0.5" width="%[6]d" height="%[7]d" rx="6"/>
<text class="title" x="20" y="28">nodepools: share of each target that is used</text>
<text x="20" y="48">%[3]s. Less is better; the line is the target.</text>
%[8]s<line class="target" x1="%[9]d" x2="%[9]d" y1="58" y2="%[10]d"/>
</svg>
`, chartWidth, height, escaped(r.title()+"; "+r.where(), 400), escaped(r.balance(), 4000), chartStyle, chartWidth-1, height-1,
		body.String(), barLeft+targetWidth, y)
}

// escaped makes text of at most so many letters of anything; what XML cannot hold becomes
// U+FFFD.
func escaped(text string, most int) string {
	if letters := []rune(text); len(letters) > most {
		text = string(letters[:most-1]) + "…"
	}
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text)) // a Builder takes all
	return out.String()
}
