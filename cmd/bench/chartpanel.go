package main

import (
	"slices"
	"strings"
)

// What the chart looks for among the figures, by how names begin.
const (
	rowConverge = "converge"
	rowMemory   = "memory"
	rowGrowth   = "growth"
	rowJoin     = "join"

	bareClient = "bare client" // the baseline that others are multiples of
	peakMemory = "peak"        // of memory, and of growth
	sinceAsked = "from "       // of joining: the whole time, and not what is above a bare informer
)

// panel is one comparison of the chart.
type panel struct {
	title string
	bars  []bar
}

// bar is one line of a panel: a value, or an extent of which the end is lighter.
type bar struct {
	label  string
	of     extent
	text   string // what the bar says in figures
	ours   bool
	target float64 // 0 for none
}

// panels are those that the report has figures for.
func (r Report) panels() []panel {
	var all []panel
	for _, p := range []panel{r.convergePanel(), r.memoryPanel(), r.joinPanel()} {
		if slices.ContainsFunc(p.bars, func(b bar) bool { return b.ours }) {
			all = append(all, p)
		}
	}
	return all
}

// in are the figures of the rows whose name begins so.
func (r Report) in(row string) []Figure {
	return slices.DeleteFunc(slices.Clone(r.Figures), func(f Figure) bool { return !strings.HasPrefix(f.Row, row) })
}

// convergePanel has everybody as a multiple of the bare client of the own run.
func (r Report) convergePanel() panel {
	figures := r.in(rowConverge)
	at := slices.IndexFunc(figures, func(f Figure) bool {
		return f.Baseline != nil && f.Baseline.Value > 0 && strings.HasPrefix(f.Baseline.Name, bareClient)
	})
	if at < 0 {
		return panel{}
	}
	ours := figures[at]
	p := panel{title: sentence(ours.Row + ": " + ours.Name + ", as a multiple of a " + bareClient)}
	p.bars = append(p.bars, ourBar("nodepools", ours))
	p.add(ours.Baseline.Name, exactly(1), "×")
	asScripted := false
	for _, f := range figures {
		// The same time once more, beside something else.
		if f.Baseline != nil && f.Value == ours.Value && f.Unit == ours.Unit && !strings.HasPrefix(f.Baseline.Name, bareClient) {
			p.add(f.Baseline.Name, exactly(f.Baseline.Value/ours.Baseline.Value), "×")
			asScripted = asScripted || strings.Contains(f.Baseline.Name, "kubectl")
		}
	}
	for _, o := range others {
		if o.name != scripted || !asScripted {
			p.add(o.name, o.converge, "×")
		}
	}
	return p
}

// memoryPanel has the peak for each number of nodes; that of the whole run goes
// before that of growth alone.
func (r Report) memoryPanel() panel {
	p := panel{title: "Memory, at the most"}
	for _, f := range slices.Concat(r.in(rowMemory), r.in(rowGrowth)) {
		if f.Unit != "MiB" || !strings.HasPrefix(f.Name, peakMemory) {
			continue
		}
		parts := strings.Split(f.Name, ", ")
		label := "nodepools, " + parts[len(parts)-1] // the number of nodes
		if !slices.ContainsFunc(p.bars, func(b bar) bool { return b.label == label }) {
			p.bars = append(p.bars, ourBar(label, Figure{Value: f.Value, Unit: f.Unit, Target: f.Target}))
		}
	}
	for _, o := range others {
		p.add(o.name, o.memory, "MiB")
	}
	return p
}

// joinPanel shows the median and, lighter, what 99 of 100 do not exceed.
func (r Report) joinPanel() panel {
	half, most := r.joined("p50"), r.joined("p99")
	if half == nil || most == nil {
		return panel{}
	}
	p := panel{title: sentence(half.Row + ": " + half.Name + " to p99")}
	p.bars = append(p.bars, bar{
		label: "nodepools", of: extent{half.Value, most.Value}, ours: true,
		text: number(half.Value) + " to " + withUnit(most.Value, most.Unit),
	})
	for _, o := range others {
		p.add(o.name, o.join, "ms")
	}
	return p
}

// joined is the figure of joining that has a word such as p50.
func (r Report) joined(word string) *Figure {
	for _, f := range r.in(rowJoin) {
		words := strings.FieldsFunc(f.Name, func(r rune) bool { return r == ' ' || r == ',' })
		if f.Unit == "ms" && strings.HasPrefix(f.Name, sinceAsked) && slices.Contains(words, word) {
			return &f
		}
	}
	return nil
}

// ourBar shows a figure of the report: its ratio where it has one.
func ourBar(label string, f Figure) bar {
	b := bar{label: label, of: exactly(f.Value), text: f.measured(), ours: true}
	if f.Baseline != nil {
		b.of, b.text = exactly(f.Ratio()), f.times()
	}
	if f.Target != nil {
		b.target = f.Target.AtMost
		bound := f.bound()
		if f.Baseline == nil {
			bound += unit(f.Unit)
		}
		b.text += ", target " + bound + ": " + f.verdict()
	}
	return b
}

func (p *panel) add(label string, of extent, unit string) {
	if !of.known() {
		return
	}
	text := withUnit(of.to, unit)
	if of.from != of.to {
		text = number(of.from) + " to " + text
	}
	p.bars = append(p.bars, bar{label: label, of: of, text: text})
}

func sentence(text string) string {
	return strings.ToUpper(text[:1]) + text[1:]
}
