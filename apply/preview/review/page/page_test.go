package page

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/testdata/reviews"
)

var update = flag.Bool("update", false, "write the golden files and the picture of the README anew")

// written is a review as a page.
func written(t testing.TB, r *review.Review, o Options) string {
	t.Helper()
	var page bytes.Buffer
	if err := Write(&page, r, o); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

// example is what the README shows a picture of.
func example() *review.Review {
	r := reviews.Evictions()
	r.Members = []review.Members{{Pool: "gpu", Before: 37, After: 37}}
	return r
}

func golden(name string) string { return filepath.Join("testdata", name+".html") }

func TestGolden(t *testing.T) {
	for _, sample := range reviews.All() {
		if sample.Name == "big" { // TestSizeIsBounded has it
			continue
		}
		t.Run(sample.Name, func(t *testing.T) { compare(t, golden(sample.Name), written(t, sample.Make(), Options{})) })
	}
	t.Run("summary", func(t *testing.T) {
		compare(t, golden("summary"), written(t, reviews.Everything(), Options{Summary: true}))
	})
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +written, -update to accept):\n%s", file, diff)
	}
}

func TestSameReviewSameBytes(t *testing.T) {
	for _, sample := range reviews.All() {
		if sample.Name == "big" {
			sample.Make = func() *review.Review { return reviews.Big(30) }
		}
		first := written(t, sample.Make(), Options{})
		for range 10 {
			if again := written(t, sample.Make(), Options{}); again != first {
				t.Fatalf("%s: two pages of the same review differ:\n%s", sample.Name, cmp.Diff(first, again))
			}
		}
	}
}

func TestAWriterThatFails(t *testing.T) {
	full := errors.New("no space left")
	if err := Write(failing{full}, reviews.Everything(), Options{}); !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// A page that is passed on by mail or kept as an artifact still has to be one.
func TestStandsAlone(t *testing.T) {
	page := written(t, reviews.Everything(), Options{})
	if links := strings.Count(page, "href="); links == 0 || links != strings.Count(page, `href="#`) {
		t.Errorf("of %d links some lead out of the page", links)
	}
	for _, part := range []string{"<script", "<link", "<img", "<iframe", "@import", "url(", "src=", "style=\"", "onclick"} {
		if strings.Contains(page, part) {
			t.Errorf("the page has %s", part)
		}
	}
}
