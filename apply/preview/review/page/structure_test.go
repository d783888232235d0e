package page

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/testdata/hostile"
	"github.com/nodepools/nodepools/testdata/reviews"
)

// element is an element of a page.
type element struct{ *html.Node }

func parsed(t *testing.T, page string) element {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return element{root}
}

// all are the elements below, in their order, of which it is so.
func (e element) all(is func(element) bool) []element {
	var found []element
	for node := range e.Descendants() {
		if each := (element{node}); node.Type == html.ElementNode && is(each) {
			found = append(found, each)
		}
	}
	return found
}

func named(names ...string) func(element) bool {
	return func(e element) bool { return slices.Contains(names, e.Data) }
}

func classed(class string) func(element) bool {
	return func(e element) bool { return slices.Contains(strings.Fields(e.attribute("class")), class) }
}

func (e element) attribute(name string) string {
	for _, attribute := range e.Attr {
		if attribute.Key == name {
			return attribute.Val
		}
	}
	return ""
}

func (e element) text() string {
	var text strings.Builder
	for node := range e.Descendants() {
		if node.Type == html.TextNode {
			text.WriteString(node.Data)
		}
	}
	return strings.TrimSpace(text.String())
}

// ids are the elements with an id, each of which must be there once.
func (e element) ids(t *testing.T) map[string]element {
	t.Helper()
	ids := map[string]element{}
	for _, each := range e.all(func(e element) bool { return e.attribute("id") != "" }) {
		id := each.attribute("id")
		if _, twice := ids[id]; twice {
			t.Errorf("id %q is there twice", id)
		}
		if !plainID.MatchString(id) {
			t.Errorf("id %q", id)
		}
		ids[id] = each
	}
	return ids
}

// plainID needs no escape in an address.
var plainID = regexp.MustCompile(`^[a-z][-A-Za-z0-9._]*$`)

// samples are reviews of every kind and size.
func samples() map[string]*review.Review {
	all := map[string]*review.Review{"fleet": reviews.Fleet(), "many pools": reviews.Big(200)}
	for _, sample := range reviews.All() {
		if sample.Name != "big" {
			all[sample.Name] = sample.Make()
		}
	}
	for i, r := range deceptive() {
		all[fmt.Sprintf("deceptive %d", i)] = r
	}
	return all
}

// TestLinks follows every link, on pages of any content.
func TestLinks(t *testing.T) {
	for name, r := range samples() {
		t.Run(name, func(t *testing.T) {
			page := parsed(t, written(t, r, Options{}))
			ids := page.ids(t)
			for _, link := range page.all(named("a")) {
				target, local := strings.CutPrefix(link.attribute("href"), "#")
				if _, found := ids[target]; !local || !found || link.text() == "" {
					t.Errorf("link %q leads to %q", link.text(), link.attribute("href"))
				}
			}
			for _, labelled := range page.all(func(e element) bool { return e.attribute("aria-labelledby") != "" }) {
				if ids[labelled.attribute("aria-labelledby")].Node == nil {
					t.Errorf("%s has no label", labelled.Data)
				}
			}
		})
	}
}

// TestCountsLeadToWhatTheyCount finds the number of the summary in the heading of what
// its link leads to, and the pools, each by a link of its own.
func TestCountsLeadToWhatTheyCount(t *testing.T) {
	for name, r := range samples() {
		t.Run(name, func(t *testing.T) {
			page := parsed(t, written(t, r, Options{}))
			ids := page.ids(t)
			var links int
			for _, list := range page.all(classed("counts")) {
				for _, link := range list.all(named("a")) {
					links++
					target := ids[strings.TrimPrefix(link.attribute("href"), "#")]
					headings := target.all(named("h2", "h3"))
					number := link.all(named("b"))[0].text()
					if len(headings) == 0 || !slices.Contains(strings.FieldsFunc(headings[0].text(), func(r rune) bool { return r == ' ' || r == ',' }), number) {
						t.Errorf("%q leads to %q", link.text(), target.text())
					}
				}
			}
			if want := len(r.Summary.Counts.Say()); links != want {
				t.Errorf("%d counts are links, want %d", links, want)
			}
			for id, action := range map[string]plan.Action{"poolsCreated": plan.Create, "poolsChanged": plan.Update, "poolsDeleted": plan.Delete} {
				var want, got []string
				for _, pool := range r.Pools {
					if pool.Action == action {
						want = append(want, review.Word(pool.Name))
					}
				}
				if group := ids[id]; group.Node != nil {
					for _, link := range group.all(named("a")) {
						got = append(got, link.text())
						if card := ids[strings.TrimPrefix(link.attribute("href"), "#")]; card.Node == nil || cardOf(card).all(named("h3"))[0].text() != link.text() {
							t.Errorf("%s does not lead to its card", link.text())
						}
					}
				}
				slices.Sort(want)
				slices.Sort(got)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-review +index):\n%s", id, diff)
				}
			}
		})
	}
}

// cardOf is the card around an anchor.
func cardOf(e element) element {
	for node := range e.Ancestors() {
		if node.Data == "article" {
			return element{node}
		}
	}
	return e
}

// The summary alone has nothing that a link could lead to.
func TestSummaryHasNoLinks(t *testing.T) {
	page := parsed(t, written(t, reviews.Everything(), Options{Summary: true}))
	if links := page.all(named("a")); len(links) > 0 {
		t.Errorf("%d links", len(links))
	}
}

// TestAnchors are readable where a name allows it, and in any case each is given once.
func TestAnchors(t *testing.T) {
	ids := anchors{}
	var got []string
	for _, name := range []string{"gpu", "gpu", "a.b-c", "", "a b", "Ü", "-a", `"><b>`, strings.Repeat("x", 300), "2"} {
		got = append(got, ids.anchor("pool", name))
	}
	want := []string{"pool-gpu", "pool_2", "pool-a.b-c", "pool_4", "pool_5", "pool_6", "pool_7", "pool_8", "pool_9", "pool-2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, text := range hostile.Strings() {
		if id := ids.anchor("pool", text.Text); !plainID.MatchString(id) {
			t.Errorf("id %q", id)
		}
	}
}

// TestBeforeIsSeenWhereItDiffers: only pools that nodes enter or leave have two rows.
func TestBeforeIsSeenWhereItDiffers(t *testing.T) {
	page := parsed(t, written(t, reviews.Fleet(), Options{}))
	var rows [3]int
	for _, card := range page.all(classed("pool")) {
		n := len(card.all(classed("row")))
		rows[n]++
		if before := strings.Contains(card.text(), "Before"); before != (n == 2) {
			t.Errorf("%s has %d rows, and says Before: %t", card.all(named("h3"))[0].text(), n, before)
		}
	}
	if want := [3]int{0, 95, 5}; rows != want {
		t.Errorf("%v pools have no, one, two rows, want %v", rows, want)
	}
}

// TestOutline: who reads by headings or landmarks misses nothing.
func TestOutline(t *testing.T) {
	for name, r := range samples() {
		t.Run(name, func(t *testing.T) {
			page := parsed(t, written(t, r, Options{}))
			for _, landmark := range []string{"header", "main", "footer", "h1"} {
				if n := len(page.all(func(e element) bool { return e.Data == landmark && cardOf(e) == e })); n != 1 {
					t.Errorf("%d elements %s", n, landmark)
				}
			}
			level := 0
			for _, heading := range page.all(named("h1", "h2", "h3", "h4", "h5", "h6")) {
				next, err := strconv.Atoi(heading.Data[1:])
				if err != nil || next > level+1 {
					t.Errorf("%s %q after h%d", heading.Data, heading.text(), level)
				}
				level = next
			}
		})
	}
}

// TestSizeOfFiveThousandNodes counts what a browser has to carry for each node.
func TestSizeOfFiveThousandNodes(t *testing.T) {
	const nodes, mostBytes, mostElements = 5000, 100, 2.5
	page := written(t, reviews.Fleet(), Options{})
	elements := len(parsed(t, page).all(func(element) bool { return true }))
	t.Logf("%d bytes and %.2f elements for each node", len(page)/nodes, float64(elements)/nodes)
	if len(page) > nodes*mostBytes || float64(elements) > nodes*mostElements {
		t.Errorf("%d bytes and %d elements", len(page), elements)
	}
}
