package text

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/api/wrap"
	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/testdata/hostile"
	"github.com/nodepools/nodepools/testdata/reviews"
)

func TestGoldenOfClusters(t *testing.T) {
	golden(t, "clusters.txt", writtenClusters(t, reviews.Clusters(), Options{}))
	golden(t, "clusters.ansi", writtenClusters(t, reviews.Clusters(), Options{Color: true}))
	golden(t, "clusters.summary.txt", writtenClusters(t, reviews.Clusters(), Options{Summary: true}))
	golden(t, "clusters.hostile.txt", writtenClusters(t, reviews.HostileClusters(), Options{}))
}

// TestSectionIsWhatTheClusterAloneHas finds each review of one cluster in that of all.
func TestSectionIsWhatTheClusterAloneHas(t *testing.T) {
	all := writtenClusters(t, reviews.Clusters(), Options{})
	for _, cluster := range reviews.Clusters().Clusters {
		if cluster.Review != nil && !strings.Contains(all, "---\n"+written(t, cluster.Review, Options{})) {
			t.Errorf("the section of %s is not what it has alone", cluster.Name)
		}
	}
}

// TestClustersFitATerminal: what is ours to break does, whatever clusters are called.
func TestClustersFitATerminal(t *testing.T) {
	r := reviews.Clusters()
	r.Clusters[0].Name = strings.Repeat("long-", 30)
	for line := range strings.Lines(writtenClusters(t, r, Options{Summary: true})) {
		if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > wrap.Width || line != strings.TrimRight(line, " ") {
			t.Errorf("%d characters: %q", utf8.RuneCountInString(line), line)
		}
	}
}

func TestHostileClustersAreSanitized(t *testing.T) {
	for _, bad := range hostile.Bounded(8 << 10) {
		r := reviews.Clusters()
		hostile.Fill(r, func(string) string { return bad.Text })
		text := writtenClusters(t, r, Options{})
		if hidden := hostile.Hidden(text); len(hidden) > 0 {
			t.Errorf("%s: %q are in the text", bad.Name, hidden)
		}
		for line := range strings.Lines(text) {
			if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") {
				t.Errorf("%s: a CI runner obeys %.200q", bad.Name, line)
			}
		}
		colored := colors.ReplaceAllString(writtenClusters(t, r, Options{Color: true}), "")
		if diff := cmp.Diff(text, colored); diff != "" {
			t.Errorf("%s: what is coloured says something else (-plain +coloured):\n%.2000s", bad.Name, diff)
		}
	}
}

func writtenClusters(t *testing.T, r *review.Reviews, o Options) string {
	t.Helper()
	var text bytes.Buffer
	if err := WriteClusters(&text, r, o); err != nil {
		t.Fatal(err)
	}
	return text.String()
}
