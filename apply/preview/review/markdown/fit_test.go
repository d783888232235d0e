package markdown

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/testdata/reviews"
)

// plenty is a review with some of everything.
func plenty() *review.Review {
	r := reviews.Big(60)
	for i := range 70 {
		r.Problems = append(r.Problems, fmt.Sprintf("node %q is paused", strconv.Itoa(i)))
		r.Notes = append(r.Notes, "a note")
	}
	return r
}

// Of whatever size a comment may be, it is not longer, is well formed, has all of the
// summary, and says what it leaves out: details before anything else.
func TestFit(t *testing.T) {
	d := newDocument(plenty(), Options{Marker: "m", Command: "c"})
	all, err := d.fit(math.MaxInt32)
	if err != nil || strings.Contains(all, "Cut to fit") {
		t.Fatalf("all of it is not all: %v", err)
	}
	least := d.least()
	sizes := []int{least, least + 1, len(all) - 1, len(all), DefaultMaxBytes}
	for size := least; size < len(all); size += 997 {
		sizes = append(sizes, size)
	}
	cut := regexp.MustCompile(`\*\*Cut to fit:\*\* … left out: (.*); to see all, run: ` + "`c`")
	for _, size := range sizes {
		comment, err := d.fit(size)
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if len(comment) > size || !strings.HasPrefix(comment, d.beginning()) {
			t.Errorf("%d bytes: %d are written, or the summary is cut:\n%.1000s", size, len(comment), comment)
		}
		for _, way := range violations(comment) {
			t.Errorf("%d bytes: %s", size, way)
		}
		notice := cut.FindStringSubmatch(comment)
		if (notice == nil) != (len(all) <= size) {
			t.Errorf("%d bytes of %d: the notice is %q", size, len(all), notice)
		}
		opened, closed := strings.Count(comment, "<summary>Pool "), strings.Count(comment, "\n- Pool ")
		if notice != nil && opened+closed < len(d.pools) && !strings.Contains(notice[1], fmt.Sprintf("%d pool", len(d.pools)-opened-closed)) {
			t.Errorf("%d bytes: %d and %d pools are written, and the notice is %q", size, opened, closed, notice)
		}
		for _, section := range append(d.impact, d.lists...) {
			shown := strings.Contains(comment, "\n#### "+section.title+"\n")
			if !shown && (notice == nil || !strings.Contains(notice[1], section.title)) {
				t.Errorf("%d bytes: %s is left out, and the notice is %q", size, section.title, notice)
			}
			if !shown && opened > 0 {
				t.Errorf("%d bytes: there are details, and %s is left out", size, section.title)
			}
		}
	}
	if _, err := d.fit(least - 1); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("--max-bytes to %d ", least)) {
		t.Errorf("the error does not say that it takes %d: %v", least, err)
	}
}

// What is too long to be read is counted, however large the comment may be.
func TestLongPartsAreCut(t *testing.T) {
	rows := slices.Repeat([]string{"row"}, mostRows+3)
	if text := (section{title: "T", rows: rows, one: "thing", more: "things"}).String(); !strings.HasSuffix(text, "- row\n\n… 3 more things\n") {
		t.Errorf("the list ends in %q", text[len(text)-40:])
	}
	lines := slices.Repeat([]string{"+ x"}, mostLines-1)
	if text := (fold{html: "T", parts: []part{{"A", lines}, {"B", []string{"+ y", "+ z"}}}}).String(); !strings.Contains(text, "+ y\n```\n\n… 1 more line\n") {
		t.Errorf("the fold ends in %q", text[len(text)-60:])
	}
}

func TestWriteOptions(t *testing.T) {
	for reason, c := range map[string]struct {
		options Options
		want    string // part of what is written, or of the error
		fails   bool
	}{
		"a size below zero":       {options: Options{MaxBytes: -1}, want: "-1 bytes", fails: true},
		"a size for nothing":      {options: Options{MaxBytes: 10}, want: "raise --max-bytes to ", fails: true},
		"the marker of one":       {options: Options{}, want: "<!-- nodepools:nodepools -->\n\n### 1 pool changed"},
		"the marker of several":   {options: Options{Marker: "team-a"}, want: "<!-- nodepools:team-a -->\n"},
		"what to run for the cut": {options: Options{MaxBytes: 2000, Command: "nodepools diff --base main"}, want: "to see all, run: `nodepools diff --base main`\n"},
	} {
		t.Run(reason, func(t *testing.T) {
			var b bytes.Buffer
			err := Write(&b, reviews.Evictions(), c.options)
			if got := b.String() + fmt.Sprint(err); (err != nil) != c.fails || !strings.Contains(got, c.want) {
				t.Errorf("got %s", got)
			}
			if err != nil && b.Len() > 0 {
				t.Error("part of it is written")
			}
		})
	}
}
