package markdown

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/testdata/reviews"
)

var update = flag.Bool("update", false, "write the golden files anew")

func written(t testing.TB, r *review.Review, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// golden compares with a file, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".md")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), -update writes it anew:\n%s", path, diff)
	}
}

// Each sample reads as its golden file.
func TestGolden(t *testing.T) {
	for _, sample := range reviews.All() {
		t.Run(sample.Name, func(t *testing.T) {
			golden(t, sample.Name, written(t, sample.Make(), Options{}))
		})
	}
	golden(t, "summary", written(t, reviews.Everything(), Options{Summary: true}))
	golden(t, "cut", written(t, reviews.Everything(), Options{MaxBytes: 4000, Marker: "team-a", Command: "nodepools diff --base main"}))
}

// The same review is written as the same bytes, whatever order maps have.
func TestDeterministic(t *testing.T) {
	want := written(t, reviews.Hostile(), Options{MaxBytes: 8000})
	for range 20 {
		if got := written(t, reviews.Hostile(), Options{MaxBytes: 8000}); got != want {
			t.Fatal(cmp.Diff(want, got))
		}
	}
}
