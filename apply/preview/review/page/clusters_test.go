package page

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/testdata/browser"
	"github.com/nodepools/nodepools/testdata/hostile"
	"github.com/nodepools/nodepools/testdata/reviews"
)

func TestGoldenOfClusters(t *testing.T) {
	compare(t, golden("clusters"), writtenClusters(t, reviews.Clusters(), Options{}))
	compare(t, golden("clusters.summary"), writtenClusters(t, reviews.Clusters(), Options{Summary: true}))
	compare(t, golden("clusters.hostile"), writtenClusters(t, reviews.HostileClusters(), Options{}))
}

// TestLinksOfClusters follows every link of pages whose sections have the same anchors
// when they are alone, and finds a link from the table to each section.
func TestLinksOfClusters(t *testing.T) {
	hostileEverywhere := reviews.Clusters()
	hostile.Fill(hostileEverywhere, func(string) string { return `"><b id=x>` })
	for name, r := range map[string]*review.Reviews{
		"clusters": reviews.Clusters(), "hostile": reviews.HostileClusters(), "hostile everywhere": hostileEverywhere, "many": reviews.ManyClusters(30, 3),
	} {
		page := parsed(t, writtenClusters(t, r, Options{}))
		ids := page.ids(t)
		for _, link := range page.all(named("a")) {
			target, local := strings.CutPrefix(link.attribute("href"), "#")
			if _, found := ids[target]; !local || !found || link.text() == "" {
				t.Errorf("%s: link %q leads to %q", name, link.text(), link.attribute("href"))
			}
		}
		for _, labelled := range page.all(func(e element) bool { return e.attribute("aria-labelledby") != "" }) {
			if ids[labelled.attribute("aria-labelledby")].Node == nil {
				t.Errorf("%s: %s has no label", name, labelled.Data)
			}
		}
		rows := page.all(named("tbody"))[0].all(named("a"))
		if len(rows) != len(r.Clusters) {
			t.Fatalf("%s: %d rows are links, want %d", name, len(rows), len(r.Clusters))
		}
		for i, link := range rows {
			section := ids[strings.TrimPrefix(link.attribute("href"), "#")]
			if title := section.all(named("h2"))[0].text(); title != link.text() || title != strings.TrimSpace(shown(r.Clusters[i].Name)) {
				t.Errorf("%s: row %q leads to %q", name, link.text(), title)
			}
		}
		for _, landmark := range []string{"main", "footer", "h1"} {
			if n := len(page.all(named(landmark))); n != 1 {
				t.Errorf("%s: %d elements %s", name, n, landmark)
			}
		}
	}
}

// TestSectionIsWhatTheClusterAloneHas compares the text of each section with that of the
// page of the cluster alone.
func TestSectionIsWhatTheClusterAloneHas(t *testing.T) {
	sections := parsed(t, writtenClusters(t, reviews.Clusters(), Options{})).all(classed("cluster"))
	for i, cluster := range reviews.Clusters().Clusters {
		if cluster.Review == nil {
			continue
		}
		words := func(e element) string { return strings.Join(strings.Fields(e.text()), " ") }
		body := parsed(t, written(t, cluster.Review, Options{})).all(named("main"))[0]
		if diff := cmp.Diff(words(body), words(sections[i].all(classed("body"))[0])); diff != "" {
			t.Errorf("%s (-alone +section):\n%s", cluster.Name, diff)
		}
	}
}

// TestClustersInABrowser looks at them in every view, and at hostile ones.
func TestClustersInABrowser(t *testing.T) {
	b := browser.Start(t)
	for sample, r := range map[string]*review.Reviews{"clusters": reviews.Clusters(), "hostile": reviews.HostileClusters()} {
		for name, view := range views {
			p := b.Open(t, writtenClusters(t, r, Options{}), view)
			if done := p.Done(); !cmp.Equal(done, browser.Done{}) {
				t.Errorf("%s on %s: the page is not only looked at: %+v", sample, name, done)
			}
			var wide float64
			p.Evaluate(t, "document.documentElement.scrollWidth - innerWidth", &wide)
			if wide > 0 {
				t.Errorf("%s on %s: it sticks out by %v pixels", sample, name, wide)
			}
			var faint []string
			p.Evaluate(t, faintText, &faint)
			if len(faint) > 0 {
				t.Errorf("%s on %s: texts that are hard to read:\n%s", sample, name, strings.Join(faint, "\n"))
			}
		}
	}
}

func writtenClusters(t *testing.T, r *review.Reviews, o Options) string {
	t.Helper()
	var page bytes.Buffer
	if err := WriteClusters(&page, r, o); err != nil {
		t.Fatal(err)
	}
	return page.String()
}
