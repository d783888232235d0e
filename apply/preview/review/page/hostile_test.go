package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/testdata/browser"
	"github.com/nodepools/nodepools/testdata/hostile"
	"github.com/nodepools/nodepools/testdata/reviews"
)

// deceptive are reviews in which every string of hostile stands somewhere, each
// time in another place.
func deceptive() []*review.Review {
	all := hostile.Bounded(1000) // longer ones are cut in a page
	var made []*review.Review
	for start := 0; start < len(all); start += len(all)/5 + 1 {
		r, next := reviews.Everything(), start
		hostile.Fill(r, func(string) string {
			next++
			return all[next%len(all)].Text
		})
		made = append(made, r)
	}
	return made
}

// TestHostileContentIsSanitized looks at hostile content in a real browser, with the
// page's own policy and without it: the policy is the second wall, and the first
// has to hold alone.
func TestHostileContentIsSanitized(t *testing.T) {
	b := browser.Start(t)
	harmless := map[string]bool{}
	resting := reviews.Everything()
	resting.Members[0].Before, resting.Members[0].After = 3, 4
	for i := range resting.RuntimeClasses {
		resting.RuntimeClasses[i].Name = fmt.Sprintf("class-%d", i) // of no pool
	}
	for _, r := range []*review.Review{reviews.Everything(), reviews.Evictions(), reviews.HeldBack(), resting} {
		for _, place := range places(t, b.Open(t, written(t, r, Options{}), browser.View{})) {
			harmless[place] = true
		}
	}
	for i, r := range deceptive() {
		page := written(t, r, Options{})
		if found := hostile.Hidden(page); len(found) > 0 {
			t.Errorf("page %d has characters that nobody sees: %q", i, found)
		}
		for name, page := range map[string]string{"with": page, "without": withoutPolicy(t, page)} {
			p := b.Open(t, page, browser.View{})
			if done := p.Done(); !cmp.Equal(done, browser.Done{}) {
				t.Errorf("page %d %s its policy is not only looked at: %+v", i, name, done)
			}
			for _, place := range places(t, p) {
				if !harmless[place] {
					t.Errorf("page %d %s its policy: what was text is an element or an attribute: %s", i, name, place)
				}
			}
		}
	}
}

// TestWithoutEscapingItWouldNotBe shows that the same content is alive where it is
// written as it is, so that the test above sees what it looks for.
func TestWithoutEscapingItWouldNotBe(t *testing.T) {
	b := browser.Start(t)
	var alive int
	for _, text := range hostile.Strings() {
		if !strings.Contains(text.Text, "onerror") && !strings.Contains(text.Text, "<script>") {
			continue
		}
		p := b.Open(t, "<!DOCTYPE html><textarea></textarea>"+text.Text+"<p>", browser.View{})
		if done := p.Done(); len(done.Scripts)+len(done.Complaints)+len(done.Requests) > 0 {
			alive++
		}
	}
	if alive == 0 {
		t.Error("no hostile string does anything, even where it may")
	}
}

func withoutPolicy(t *testing.T, page string) string {
	t.Helper()
	before, rest, found := strings.Cut(page, `<meta http-equiv="Content-Security-Policy"`)
	_, after, closed := strings.Cut(rest, ">\n")
	if !found || !closed {
		t.Fatal("the page has no policy")
	}
	return before + after
}

// places are all elements with their classes and those around them, and all
// attributes of each.
func places(t *testing.T, p *browser.Page) []string {
	t.Helper()
	var all []string
	p.Evaluate(t, `(() => {
		const name = (e) => e ? name(e.parentElement) + ">" + e.localName + [...e.classList].map((c) => "." + c).join("") : "";
		const found = new Set();
		document.querySelectorAll("*").forEach((e) => { found.add(name(e)); for (const a of e.attributes) found.add(name(e) + "[" + a.name + "]"); });
		return [...found];
	})()`, &all)
	return all
}
