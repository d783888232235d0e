package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/testdata/browser"
)

// The chart is on a page of Markdown, so what it shows has to fit, in either mode, and it
// asks for nothing.
func TestChartInABrowser(t *testing.T) {
	b := browser.Start(t)
	hostile := madeUp()
	hostile.Program = `"><script>alert(1)</script>`
	hostile.Figures[0].Baseline.Name = bareClient + `</text><image href="https://far.invalid/x"/>` + strings.Repeat("W", 100)
	for name, r := range map[string]Report{"ordinary": madeUp(), "hostile": hostile} {
		for mode, dark := range map[string]bool{"light": false, "dark": true} {
			t.Run(name+" "+mode, func(t *testing.T) {
				p := b.Open(t, `<!DOCTYPE html><meta charset="utf-8">`+r.chart(), browser.View{Width: chartWidth + 16, Dark: dark})
				var outside []string
				p.Evaluate(t, `[...document.querySelectorAll("text")].filter(text => {
					const box = text.getBBox()
					return box.x < 0 || box.x + box.width > `+number(chartWidth)+`
				}).map(text => text.textContent)`, &outside)
				if len(outside) > 0 && name == "ordinary" {
					t.Errorf("these do not fit: %q", outside)
				}
				var illegible []string
				p.Evaluate(t, `[...document.querySelectorAll("text")].filter(text => {
					const light = element => {
						const [r, g, b] = getComputedStyle(element).fill.match(/\d+/g).map(n => (n / 255) ** 2.2)
						return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05
					}
					const [a, b] = [light(text), light(document.querySelector(".ground"))].sort((a, b) => b - a)
					return a / b < 4.5
				}).map(text => text.textContent)`, &illegible)
				if len(illegible) > 0 {
					t.Errorf("too little contrast: %q", illegible)
				}
				if done := p.Done(); len(done.Requests)+len(done.Scripts)+len(done.Dialogs)+len(done.Complaints) > 0 {
					t.Errorf("it has done something: %+v", done)
				}
			})
		}
	}
}

// Whatever a figure is called, the chart is XML, and says it only as text.
func TestChartIsXML(t *testing.T) {
	r := madeUp()
	r.Figures[0].Baseline.Name = bareClient + "\x00\xff<&>\"'\n]]>"
	of := xml.NewDecoder(strings.NewReader(r.chart()))
	for {
		token, err := of.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && !strings.Contains(" svg title desc style rect line text ", " "+start.Name.Local+" ") {
			t.Errorf("there is an element %s", start.Name.Local)
		}
	}
}

func TestPanels(t *testing.T) {
	none := Report{Figures: []Figure{{Row: "converge", Name: "time", Value: 1, Unit: "s", Baseline: &Baseline{bareClient, 0}}, {Row: "join", Name: "p50", Unit: "ms"}}}
	if got := none.chart(); got != "" {
		t.Errorf("a chart of nothing that can be shown:\n%s", got)
	}
	for name, c := range map[string]struct {
		reason string
		change func(*Report)
		want   map[string]bool // what the chart says, and what not
	}{
		"kubectl measured": {"the figure of the same run goes before that of others", func(*Report) {},
			map[string]bool{"kubectl label + taint per pool 7.5 ×": true, "nodepools 1.11 ×, target 1.15 ×: reached": true}},
		"kubectl not measured": {"there is nothing else to show", func(r *Report) { r.Figures[1].Baseline = nil },
			map[string]bool{scripted + " 7.5 ×": true}},
		"another ratio": {"ratios come from the figures", func(r *Report) { r.Figures[1].Baseline.Value = 55 },
			map[string]bool{"kubectl label + taint per pool 10 ×": true, "7.5 ×": false}},
		"missed": {"what misses says so", func(r *Report) { r.Figures[0].Value = 11 },
			map[string]bool{"nodepools 2 ×, target 1.15 ×: MISSED": true}},
		"nothing": {"0 is a figure", func(r *Report) { r.Figures[9].Value = 0 },
			map[string]bool{"nodepools, 5,000 nodes 0 MiB, target 90 MiB: reached": true}},
		"peak of all": {"what the whole run has taken goes before a part of it", func(*Report) {},
			map[string]bool{"nodepools, 5,000 nodes 81.2 MiB": true, "70 MiB": false, "nodepools, 15,000 nodes 212 MiB, target 200 MiB: MISSED": true}},
		"joining": {"the whole time, and not what is above an informer", func(*Report) {},
			map[string]bool{"Join: from the answer to its creation, p50 to p99: nodepools 9.5 to 19 ms": true, "4.2": false}},
		"no joining": {"a panel without figures of ours is left out", func(r *Report) { r.Figures[7].Unit = "s" },
			map[string]bool{"Join": false, "Memory": true}},
	} {
		t.Run(name, func(t *testing.T) {
			r := madeUp()
			c.change(&r)
			said := description(r.panels())
			for text, want := range c.want {
				if strings.Contains(said, text) != want {
					t.Errorf("%s: %q is there: %v, in\n%s", c.reason, text, !want, said)
				}
			}
		})
	}
}
