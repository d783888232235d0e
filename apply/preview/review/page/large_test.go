package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/testdata/browser"
	"github.com/nodepools/nodepools/testdata/reviews"
)

// TestFiveThousandNodesAreRead looks at pages of 5,000 nodes, in 100 pools and in
// 1,000: they end somewhere, and nothing sticks out.
func TestFiveThousandNodesAreRead(t *testing.T) {
	const tallest = 15_000 // pixels
	b := browser.Start(t)
	for name, r := range map[string]*review.Review{"100 pools": reviews.Fleet(), "1,000 pools": reviews.Big(1000)} {
		page := written(t, r, Options{})
		for _, width := range []int{1400, 600} {
			p := b.Open(t, page, browser.View{Width: width, Height: 1000, NoScripts: true})
			var height, wide float64
			p.Evaluate(t, "document.documentElement.scrollHeight", &height)
			p.Evaluate(t, "document.documentElement.scrollWidth - innerWidth", &wide)
			t.Logf("%s at %d: %.0f pixels", name, width, height)
			if height > tallest || wide > 0 {
				t.Errorf("%s at %d pixels: %.0f tall, and %.0f stick out", name, width, height, wide)
			}
		}
	}
}

// TestIndexLeadsToCards follows a link of the index, without scripts: the card is
// unfolded with all around it, and stands at the top of the window.
func TestIndexLeadsToCards(t *testing.T) {
	b := browser.Start(t)
	for name, c := range map[string]struct {
		review *review.Review
		pool   string
		says   string
	}{
		"folded":            {reviews.Fleet(), "team-50", "node-[2501-2550] 50 nodes"},
		"folded, in chunks": {reviews.Big(1000), "team-0777", "node-0777-[1-5] 5 nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			p := b.Open(t, written(t, c.review, Options{}), browser.View{Width: 600, Height: 900, NoScripts: true})
			state := fmt.Sprintf(`(() => {
				const card = document.getElementById("pool-%s").closest(".pool"), box = card.getBoundingClientRect();
				return [card.checkVisibility({contentVisibilityAuto: true}), card.querySelector("details").open, Math.abs(box.top) < 30, card.innerText.includes(%q)].join(" ");
			})()`, c.pool, c.says)
			var before, after string
			p.Evaluate(t, state, &before)
			p.Evaluate(t, fmt.Sprintf(`document.querySelector(".index a[href='#pool-%s']").click(), ""`, c.pool), &after)
			p.Evaluate(t, state, &after)
			if !strings.Contains(before, "false false false") && before != "true false false false" {
				t.Errorf("before: %s", before)
			}
			if after != "true true true true" {
				t.Errorf("the card is visible, unfolded, at the top, and names its nodes: %s", after)
			}
		})
	}
}

// TestKeyboard reaches, without a mouse, each count, each pool and what is folded.
func TestKeyboard(t *testing.T) {
	p := browser.Start(t).Open(t, written(t, reviews.Everything(), Options{}), browser.View{})
	var missed []string
	p.Evaluate(t, `[...document.querySelectorAll("a, summary")].filter((e) => {
		if (!e.checkVisibility()) return false;
		e.focus({focusVisible: true});
		return document.activeElement !== e || getComputedStyle(e).outlineStyle === "none";
	}).map((e) => e.outerHTML)`, &missed)
	if len(missed) > 0 {
		t.Errorf("the focus is not seen on, or does not reach:\n%s", strings.Join(missed, "\n"))
	}
}

// TestPrintedHeadsHaveTheirBodies puts the page into columns, which break as sheets
// of paper do, and looks for heads that end one.
func TestPrintedHeadsHaveTheirBodies(t *testing.T) {
	b := browser.Start(t)
	for name, r := range map[string]*review.Review{"everything": reviews.Everything(), "evictions": reviews.Evictions(), "fleet": reviews.Fleet()} {
		p := b.Open(t, written(t, r, Options{}), browser.View{Width: 750, Print: true})
		var heads int
		p.Evaluate(t, `document.querySelectorAll("main :is(h2, h3, summary)").length`, &heads)
		if heads == 0 {
			t.Fatalf("%s has no heads", name)
		}
		for height := 880; height <= 1100; height += 44 {
			var alone []string
			p.Evaluate(t, fmt.Sprintf(headsAlone, height), &alone)
			if len(alone) > 0 {
				t.Errorf("%s, on sheets of %d pixels, %d of %d heads stand alone:\n%s", name, height, len(alone), heads, strings.Join(alone, "\n"))
			}
		}
	}
}

// headsAlone finds heads whose next text stands in another column.
const headsAlone = `(() => {
	const sheets = document.querySelector("main");
	sheets.style.cssText = "display: block; width: 700px; padding: 0; columns: 700px 1; column-gap: 100px; column-fill: auto; height: %dpx";
	const column = (rect) => Math.floor((rect.left - sheets.getBoundingClientRect().left + sheets.scrollLeft + 1) / 800);
	const alone = [];
	for (const head of sheets.querySelectorAll("h2, h3, summary")) {
		if (head.closest("summary") !== head && head.closest("summary")) continue;
		const last = [...head.getClientRects()].at(-1);
		const walk = document.createTreeWalker(head.closest("article, section, nav") ?? sheets, NodeFilter.SHOW_TEXT);
		walk.currentNode = head;
		while (walk.nextNode()) {
			const text = walk.currentNode;
			if (head.contains(text) || !text.data.trim()) continue;
			const range = document.createRange();
			range.selectNodeContents(text);
			const first = range.getClientRects()[0];
			if (!first) continue;
			if (last && column(first) !== column(last)) alone.push(head.tagName + " " + head.textContent.trim().slice(0, 60) + " | " + text.data.trim().slice(0, 60));
			break;
		}
	}
	return alone;
})()`
