package text

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/api/wrap"
	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/testdata/hostile"
	"github.com/nodepools/nodepools/testdata/reviews"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden writes every sample, without colours and with, and its summary.
func TestGolden(t *testing.T) {
	for _, sample := range reviews.All() {
		if sample.Name == "big" {
			continue // nobody would read it
		}
		t.Run(sample.Name, func(t *testing.T) {
			golden(t, sample.Name+".txt", written(t, sample.Make(), Options{}))
		})
	}
	golden(t, "everything.ansi", written(t, reviews.Everything(), Options{Color: true}))
	golden(t, "everything.summary.txt", written(t, reviews.Everything(), Options{Summary: true}))
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// TestNothingHostileComesThrough puts each hostile string everywhere, and then any
// of them anywhere.
func TestNothingHostileComesThrough(t *testing.T) {
	expectSanitized := func(t *testing.T, r *review.Review) {
		t.Helper()
		text := written(t, r, Options{})
		if hidden := hostile.Hidden(text); len(hidden) > 0 {
			t.Errorf("%q are in the text:\n%.2000s", hidden, text)
		}
		for line := range strings.Lines(text) {
			if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") {
				t.Errorf("a CI runner obeys %.200q", line)
			}
		}
		colored := written(t, r, Options{Color: true})
		if diff := cmp.Diff(text, colors.ReplaceAllString(colored, "")); diff != "" {
			t.Errorf("what is coloured says something else (-plain +coloured):\n%.2000s", diff)
		}
	}
	for _, bad := range hostile.Bounded(8 << 10) {
		t.Run(bad.Name, func(t *testing.T) {
			r := reviews.Everything()
			hostile.Fill(r, func(string) string { return bad.Text })
			expectSanitized(t, r)
		})
	}
	for seed := range uint64(10) {
		random := rand.New(rand.NewPCG(seed, 3))
		r := reviews.Everything()
		hostile.Fill(r, func(was string) string {
			if random.IntN(3) > 0 {
				return was
			}
			return hostile.Any(random, 5)
		})
		expectSanitized(t, r)
	}
}

// colors are the only escape sequences that are written.
var colors = regexp.MustCompile("\x1b\\[(1|31|32|33|1;31|0)m")

// TestLinesFitATerminal checks all lines that are ours to break: those of a
// manifest and of a key stand as they are.
func TestLinesFitATerminal(t *testing.T) {
	for _, sample := range reviews.All() {
		for line := range strings.Lines(written(t, sample.Make(), Options{})) {
			line = strings.TrimSuffix(line, "\n")
			if utf8.RuneCountInString(line) > wrap.Width && strings.Contains(strings.TrimSpace(line), " ") && !strings.HasPrefix(line, "  +") &&
				!strings.HasPrefix(line, "  -") && !strings.HasPrefix(line, "  ~") && !strings.HasPrefix(line, "   ") && sample.Name != "hostile" {
				t.Errorf("%s: %d characters: %s", sample.Name, utf8.RuneCountInString(line), line)
			}
			if line != strings.TrimRight(line, " ") {
				t.Errorf("%s: the line ends in spaces: %q", sample.Name, line)
			}
		}
	}
}

// TestWriteChangesNothing and gives the same bytes again.
func TestWriteChangesNothing(t *testing.T) {
	r := reviews.Everything()
	first := written(t, r, Options{})
	if diff := cmp.Diff(reviews.Everything(), r); diff != "" {
		t.Errorf("the review was changed:\n%s", diff)
	}
	if again := written(t, r, Options{}); again != first {
		t.Error("the same review gives another text")
	}
}

func written(t *testing.T, r *review.Review, o Options) string {
	t.Helper()
	var text bytes.Buffer
	if err := Write(&text, r, o); err != nil {
		t.Fatal(err)
	}
	return text.String()
}
