package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/apply/preview/impact"
	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/testdata/browser"
	"github.com/nodepools/nodepools/testdata/reviews"
)

// views are how people look at a page.
var views = map[string]browser.View{
	"a wide screen":    {Width: 1920, Height: 1080},
	"a laptop":         {Width: 1280, Height: 800, NoScripts: true},
	"half a screen":    {Width: 600, Height: 900},
	"a phone":          {Width: 360, Height: 700},
	"a phone at night": {Width: 360, Height: 700, Dark: true, NoScripts: true},
	"night":            {Dark: true},
	"paper":            {Width: 800, Print: true},
}

// TestPageInABrowser looks at every sample in every view: nothing is asked for or
// run, nothing is complained of, nothing sticks out, all can be read.
func TestPageInABrowser(t *testing.T) {
	b := browser.Start(t)
	for _, sample := range reviews.All() {
		page := written(t, sample.Make(), Options{})
		for name, view := range views {
			if !slices.Contains([]string{"evictions", "everything", "hostile"}, sample.Name) && name != "a phone at night" {
				continue // these have nothing that the others have not
			}
			t.Run(sample.Name+" on "+name, func(t *testing.T) {
				p := b.Open(t, page, view)
				if done := p.Done(); !cmp.Equal(done, browser.Done{}) {
					t.Errorf("the page is not only looked at: %+v", done)
				}
				var wide float64
				p.Evaluate(t, "document.documentElement.scrollWidth - innerWidth", &wide)
				if wide > 0 {
					t.Errorf("it sticks out by %v pixels", wide)
				}
				var faint []string
				p.Evaluate(t, faintText, &faint)
				if len(faint) > 0 {
					t.Errorf("texts that are hard to read:\n%s", strings.Join(faint, "\n"))
				}
			})
		}
	}
}

// faintText finds text whose contrast is below 4.5 to 1, the AA of the W3C's
// guidelines, against the colours that lie behind it.
const faintText = `(() => {
	const parse = (color) => { const [r, g, b, a = 1] = color.match(/[\d.]+/g).map(Number); return [r, g, b, a]; };
	const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
	const light = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const behind = (e) => { if (!e) return matchMedia("(prefers-color-scheme: dark)").matches && !matchMedia("print").matches ? [0, 0, 0, 1] : [255, 255, 255, 1]; const c = parse(getComputedStyle(e).backgroundColor); return c[3] === 1 ? c : over(c, behind(e.parentElement)); };
	const found = new Map();
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n = 0; walk.nextNode() && n < 5000; n++) {
		if (!walk.currentNode.data.trim()) continue;
		const e = walk.currentNode.parentElement, back = behind(e), ink = over(parse(getComputedStyle(e).color), back);
		const [a, b] = [light(back), light(ink)].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
		if (ratio < 4.5) found.set(e.tagName + "." + e.className + " in " + e.parentElement.className, ratio.toFixed(2) + " " + walk.currentNode.data.slice(0, 40));
	}
	return [...found].map((x) => x.join(": "));
})()`

// TestNamesEndInTheirCells has nodes of which the names differ at their ends, or before their
// domain, in cells that are too narrow for them: what distinguishes them can be read.
func TestNamesEndInTheirCells(t *testing.T) {
	r := example()
	r.Nodes[0].Names = []string{"ip-10-0-12-33.eu-1.compute.internal", "ip-10-0-12-34.eu-1.compute.internal", "worker-eu-central-1a-0011", "worker-eu-central-1a-0013"}
	r.Members[0].Before, r.Members[0].After = 4, 4
	r.Impact.Evictions[0].Pods = []impact.Pod{{Name: "a", Node: "worker-eu-central-1a-0013"}, {Name: "b", Node: "ip-10-0-12-34.eu-1.compute.internal"}}
	p := browser.Start(t).Open(t, written(t, r, Options{}), browser.View{Width: 360, Height: 700, NoScripts: true})
	var ends []string
	p.Evaluate(t, `[...document.querySelectorAll(".named i")].map((cell) => {
		const end = [...cell.querySelectorAll("span")].at(-1), after = end.nextElementSibling ?? cell;
		const right = after === cell ? cell.getBoundingClientRect().right : after.getBoundingClientRect().left;
		return end.textContent + (end.getBoundingClientRect().right > right + 0.5 ? " is cut" : "");
	})`, &ends)
	if want := []string{"12-33", "12-34", "-0011", "-0013"}; !slices.Equal(ends, want) {
		t.Errorf("the names end in %q, want %q", ends, want)
	}
}

// TestWhatAReaderSees reads the example of the README as it stands on the screen.
func TestWhatAReaderSees(t *testing.T) {
	b := browser.Start(t)
	p := b.Open(t, written(t, example(), Options{}), browser.View{NoScripts: true})
	var text string
	p.Evaluate(t, "document.body.innerText", &text)
	for _, sentence := range []string{
		"37 nodes changed", "12 pods of 3 Deployments evicted", "PodDisruptionBudget web/api exceeded",
		"Deployment web/api 7 pods, at once, by dedicated=gpu:NoExecute", "1 PodDisruptionBudget exceeded", "pods, after 300 s, by dedicated=gpu:NoExecute",
		"api-7d9f8b6c5-2kxvq on gpu-001", "7 healthy pods go, and it allows 1", "A NoExecute taint ignores them",
		"gpu-[001-037] 37 nodes", "+ taint dedicated=gpu:NoExecute", "no node is feasible for its next pod",
		"Pods go from\ngpu-[001-011,037]",
	} {
		if !strings.Contains(text, sentence) {
			t.Errorf("%q is not to be read in:\n%s", sentence, text)
		}
	}

	var cells []string
	p.Evaluate(t, `[...document.querySelectorAll(".row")].map((s) => {
		const cells = [...s.querySelectorAll(".cells i")].filter((c) => c.checkVisibility());
		return s.querySelector(".cells").ariaLabel + "; " + cells.filter((c) => c.classList.contains("ch")).length + " changed, " +
			cells.filter((c) => c.querySelector("b")).length + " with pods that go, last: " + cells.at(-1).title;
	})`, &cells)
	// No node enters or leaves, so they are seen once.
	want := []string{"37 nodes, 37 changed, pods go from 12; 37 changed, 12 with pods that go, last: gpu-037: changed, 1 pod gone"}
	if diff := cmp.Diff(want, cells); diff != "" {
		t.Errorf("the rows (-want +seen):\n%s", diff)
	}
}

// TestLargePool looks at cells that have no room for names.
func TestLargePool(t *testing.T) {
	r := reviews.Evictions()
	r.Members = []review.Members{{Pool: "gpu", Before: 300, After: 420}}
	for i := range 120 {
		r.Members[0].Entering = append(r.Members[0].Entering, fmt.Sprintf("new-%03d", i))
	}
	p := browser.Start(t).Open(t, written(t, r, Options{}), browser.View{Width: 360})
	var seen []string
	p.Evaluate(t, `[...document.querySelectorAll(".row")].map((s) => {
		const count = (mark) => [...s.querySelectorAll(".cells i")].filter((c) => getComputedStyle(c, "::before").content === mark && c.title && c.offsetWidth === c.offsetHeight).length;
		const named = s.querySelectorAll(".cells span").length;
		return [named, count("none"), count('"~"'), count('"×"'), count('"+"'), s.querySelectorAll("[aria-hidden] i").length].join(" ") + " " + s.querySelector(".what").innerText;
	})`, &seen)
	want := []string{"0 37 0 0 0 0 263 nodes as they are", "0 0 25 12 120 0 263 nodes as they are"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("names, and cells by mark (-want +seen):\n%s", diff)
	}
}

// TestFoldedPartsUnfold needs no script of the page's, and on paper nothing stays
// folded.
func TestFoldedPartsUnfold(t *testing.T) {
	b := browser.Start(t)
	page := written(t, reviews.Everything(), Options{})
	visible := func(p *browser.Page) (folded, seen int) {
		var counts []int
		p.Evaluate(t, `(() => { const all = [...document.querySelectorAll("details:not([open]) pre")];
			return [all.length, all.filter((e) => e.checkVisibility({contentVisibilityAuto: true})).length]; })()`, &counts)
		return counts[0], counts[1]
	}
	screen := b.Open(t, page, browser.View{NoScripts: true})
	if folded, seen := visible(screen); folded == 0 || seen != 0 {
		t.Fatalf("of %d manifests that are folded %d are seen", folded, seen)
	}
	var open int
	screen.Evaluate(t, `(() => { document.querySelectorAll("summary").forEach((s) => s.parentElement.open || s.click());
		return [...document.querySelectorAll("details pre")].filter((e) => e.checkVisibility()).length; })()`, &open)
	manifests := len(reviews.Everything().Pools) + len(reviews.Everything().RuntimeClasses)
	if open < manifests {
		t.Errorf("%d of %d manifests unfold", open, manifests)
	}
	if folded, seen := visible(b.Open(t, page, browser.View{Print: true})); folded == 0 || seen != folded {
		t.Errorf("on paper %d of %d manifests are seen", seen, folded)
	}
}
