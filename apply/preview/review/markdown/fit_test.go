package markdown

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/testdata/reviews"
)

var leftOut = regexp.MustCompile(`([0-9,]+) (pool|entr|line)`)

// counted is what the comment itself says is left out, and it says so once.
func counted(t *testing.T, comment string) left {
	t.Helper()
	var l left
	_, notice, cut := strings.Cut(comment, "**Cut to fit:**")
	notice, _, _ = strings.Cut(notice, "\n")
	for _, part := range leftOut.FindAllStringSubmatch(notice, -1) {
		n, err := strconv.Atoi(strings.ReplaceAll(part[1], ",", ""))
		if err != nil || n == 0 {
			t.Errorf("the notice says %q", notice)
		}
		*map[string]*int{"pool": &l.pools, "entr": &l.entries, "line": &l.lines}[part[2]] = n
	}
	if cut != (l != left{}) {
		t.Errorf("the notice says nothing: %q", notice)
	}
	return l
}

// shown counts what a comment has of what may be left out.
func countShown(comment string) left {
	shown := left{lines: len(fences(comment))}
	for line := range strings.Lines(comment) {
		switch {
		case strings.HasPrefix(line, "- Pool ") || strings.HasPrefix(line, "<summary>Pool "):
			shown.pools++
		case strings.HasPrefix(line, "- ") && !strings.HasPrefix(line, "- node-"), strings.HasPrefix(line, "| ") && strings.Contains(line, "`"):
			shown.entries++
		}
	}
	return shown
}

// plenty is a review with some of everything, in which no line of a diff looks like
// an item of a list.
func plenty() *review.Review {
	r := reviews.Big(60)
	for i := range 70 {
		r.Problems = append(r.Problems, fmt.Sprintf("node %q is paused", strconv.Itoa(i)))
		r.Notes = append(r.Notes, "a note")
	}
	return r
}

// Of whatever size a comment may be, it is not longer, is well formed, has all of
// the summary, and counts exactly what it leaves out.
func TestFit(t *testing.T) {
	r := plenty()
	d := newDocument(r, Options{Marker: "m", Command: "c"})
	all, fits := d.write(unlimited(), math.MaxInt)
	if !fits || counted(t, all) != (left{}) {
		t.Fatal("all of it is not all")
	}
	least, _ := d.write(limits{}, math.MaxInt)
	total := d.leftOut(limits{})
	head := strings.Join(d.head, "\n\n") + "\n"
	sizes := []int{len(least), len(least) + 1, len(all) - 1, len(all), len(all) + 1, DefaultMaxBytes}
	for size := len(least); size < len(all); size += 997 {
		sizes = append(sizes, size)
	}
	for _, size := range sizes {
		comment, err := d.fit(size)
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if len(comment) > size {
			t.Errorf("%d bytes: it has %d", size, len(comment))
		}
		if !strings.HasPrefix(comment, head) {
			t.Errorf("%d bytes: the summary is cut:\n%.1000s", size, comment)
		}
		for _, way := range violations(comment) {
			t.Errorf("%d bytes: %s", size, way)
		}
		cut, shown := counted(t, comment), countShown(withoutFences(comment))
		shown.lines = len(fences(comment))
		if got := (left{cut.pools + shown.pools, cut.entries + shown.entries, cut.lines + shown.lines}); got != total {
			t.Errorf("%d bytes: %+v shown and %+v left out do not make %+v", size, shown, cut, total)
		}
		if shown.lines > 0 && (cut.pools > 0 || cut.entries > 0) {
			t.Errorf("%d bytes: there are details, while %+v are left out", size, cut)
		}
	}
	for _, size := range []int{1, 100, len(least) - 1} {
		if _, err := d.fit(size); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("--max-bytes to %d ", len(least))) {
			t.Errorf("%d bytes: the error does not say that it takes %d: %v", size, len(least), err)
		}
	}
}

var fenced = regexp.MustCompile("(?s)\n```+diff\n.*?\n```+\n")

// withoutFences takes the fences out of a comment that has no backticks in them.
func withoutFences(comment string) string { return fenced.ReplaceAllString(comment, "\n") }

// A comment that fits is not cut, and one that does not uses most of its limit.
func TestFitUsesTheRoom(t *testing.T) {
	d := newDocument(plenty(), Options{Marker: "m", Command: "c"})
	for _, size := range []int{9_000, 20_000, 40_000} {
		comment, err := d.fit(size)
		if err != nil {
			t.Fatal(err)
		}
		if unused := size - len(comment); unused > size/10 {
			t.Errorf("of %d bytes %d are not used", size, unused)
		}
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
