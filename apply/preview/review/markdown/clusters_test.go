package markdown

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/testdata/hostile"
	"github.com/nodepools/nodepools/testdata/reviews"
)

func TestGoldenOfClusters(t *testing.T) {
	golden(t, "clusters", writtenClusters(t, reviews.Clusters(), Options{}))
	golden(t, "clusters.summary", writtenClusters(t, reviews.Clusters(), Options{Summary: true}))
	golden(t, "clusters.cut", writtenClusters(t, reviews.Clusters(), Options{MaxBytes: 4500, Marker: "fleet"}))
	golden(t, "clusters.hostile", writtenClusters(t, reviews.HostileClusters(), Options{}))
}

// TestSectionIsWhatTheClusterAloneHas finds each comment on one cluster in that on all,
// but for its marker.
func TestSectionIsWhatTheClusterAloneHas(t *testing.T) {
	all := writtenClusters(t, reviews.Clusters(), Options{})
	for _, cluster := range reviews.Clusters().Clusters {
		if cluster.Review == nil {
			continue
		}
		alone := strings.TrimPrefix(written(t, cluster.Review, Options{}), Marker(DefaultMarker)+"\n")
		if !strings.Contains(all, "\n## Cluster "+code(cluster.Name)+"\n"+alone) {
			t.Errorf("the section of %s is not what it has alone", cluster.Name)
		}
	}
}

var stress = flag.Bool("stress", false, "fit comments of many clusters into nearly every size")

// TestFitOfClusters: of whatever size, a comment is not longer, is well formed, has the
// summary, gives up details before sections and sections before rows, and says how many.
func TestFitOfClusters(t *testing.T) {
	// With -stress nearly every size is tried, of a comment that is cut in more places.
	many, step := 8, 20
	if *stress {
		many, step = 30, 60
	}
	r := reviews.ManyClusters(many, 12)
	c := newClusters(r, Options{Marker: "m", Command: "c"})
	all, err := c.fit(math.MaxInt32)
	if err != nil || strings.Contains(all, "Cut to fit") {
		t.Fatalf("all of it is not all: %v", err)
	}
	least := len(c.beginning(0)) + len(c.notice(0, 0))
	seen := map[string]bool{}
	var sizes []int
	for size := least; size < len(all); size += 1 + size/step {
		sizes = append(sizes, size)
	}
	for _, size := range append(sizes, len(all), len(all)+2000) {
		comment, err := c.fit(size)
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if len(comment) > size {
			t.Errorf("%d bytes: it has %d", size, len(comment))
		}
		for _, way := range violations(comment) {
			t.Errorf("%d bytes: %s", size, way)
		}
		beginning, _, _ := strings.Cut(comment, "\n## Cluster ")
		rows, sections := strings.Count(beginning, "\n| `cluster-"), strings.Count(comment, "\n## Cluster ")
		switch {
		case rows < many:
			seen["rows"] = true
			if sections > 0 || !strings.Contains(beginning, fmt.Sprintf("%d cluster", many-rows)) {
				t.Errorf("%d bytes: %d rows and %d sections:\n%.600s", size, rows, sections, comment)
			}
		case sections < many:
			seen["sections"] = true
			if !strings.Contains(beginning, fmt.Sprintf("the %d section", many-sections)) {
				t.Errorf("%d bytes: %d sections:\n%.600s", size, sections, comment)
			}
			if !strings.Contains(comment, "\n## Cluster `"+r.Clusters[max(sections-1, 0)].Name) && sections > 0 {
				t.Errorf("%d bytes: the sections that are left are not those of the worst", size)
			}
		case strings.Contains(comment, "Cut to fit"):
			seen["details"] = true
		default:
			seen["all"] = true
		}
	}
	if len(seen) != 4 {
		t.Errorf("only %v were seen", seen)
	}
	if _, err := c.fit(least - 1); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("--max-bytes to %d ", least)) {
		t.Errorf("the error does not say that it takes %d: %v", least, err)
	}
}

func TestHostileClustersAreSanitized(t *testing.T) {
	for _, bad := range hostile.Bounded(8 << 10) {
		r := reviews.Clusters()
		hostile.Fill(r, func(string) string { return bad.Text })
		for _, size := range []int{DefaultMaxBytes, 1 << 22} {
			var b bytes.Buffer
			if err := WriteClusters(&b, r, Options{MaxBytes: size}); err != nil {
				t.Errorf("%s: %v", bad.Name, err)
			}
			for _, way := range violations(b.String()) {
				t.Errorf("%s: %s", bad.Name, way)
			}
		}
	}
}

func writtenClusters(t *testing.T, r *review.Reviews, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteClusters(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
