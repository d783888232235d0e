package markdown

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/testdata/hostile"
	"github.com/nodepools/nodepools/testdata/reviews"
)

// FuzzWrite makes reviews of any shape, with hostile strings in all places. Whatever
// they are, the comment is sanitized and well formed, is not longer than it may be,
// or says how long it would have to be; and its fences hold the lines that they
// shall.
func FuzzWrite(f *testing.F) {
	for seed, text := range []string{"", "`", "```\n", "a|b\\|c", "<!-- --> -->", "\xff\x1b", "@x #1 https://x www.x", "| a |", "\\", "- x", "1. x", "a  b", "/close"} {
		f.Add(uint64(seed), text, uint32(2000*seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, text string, size uint32) {
		random := rand.New(rand.NewPCG(seed, seed))
		r := anyReview(random, text)
		o := Options{MaxBytes: 1 + int(size%(2*DefaultMaxBytes)), Marker: text, Command: text, Summary: random.IntN(8) == 0}
		var b bytes.Buffer
		err := Write(&b, r, o)
		if err != nil {
			_, says, _ := strings.Cut(err.Error(), "--max-bytes to ")
			if _, scan := fmt.Sscanf(says, "%d or more", &o.MaxBytes); scan != nil {
				t.Fatalf("the error does not say how many bytes it takes: %v", err)
			}
			b.Reset()
			err = Write(&b, r, o)
		}
		if err != nil || b.Len() > o.MaxBytes {
			t.Fatalf("of %d bytes there are %d: %v", o.MaxBytes, b.Len(), err)
		}
		for _, way := range violations(b.String()) {
			t.Error(way)
		}
		o.MaxBytes, o.Summary = boundless, false
		comment := written(t, r, o)
		for _, way := range violations(comment) {
			t.Error(way)
		}
		var want []string
		for _, fold := range foldsOf(newDocument(r, o)) {
			var lines []string
			for _, part := range fold.parts {
				lines = append(lines, part.lines...)
			}
			want = append(want, lines[:min(mostLines, len(lines))]...)
		}
		if got := fences(comment); !slices.Equal(want, got) {
			t.Errorf("the fences hold\n%q\nwant\n%q", got, want)
		}
	})
}

// foldsOf returns all folds, in their order.
func foldsOf(d *document) []fold {
	var folds []fold
	for _, section := range d.impact {
		if section.fold != nil {
			folds = append(folds, *section.fold)
		}
	}
	return append(folds, d.pools...)
}

// anyReview is a review of any shape, with hostile strings in all places.
func anyReview(random *rand.Rand, text string) *review.Review {
	r := reviews.Everything()
	vary(reflect.ValueOf(r).Elem(), random)
	all := hostile.Strings()
	hostile.Fill(r, func(string) string {
		var next string
		switch random.IntN(5) {
		case 0:
			next = text
		case 1:
			next = hostile.Any(random, 4)
		case 2:
			return []string{"a", "b", "node-pool-a"}[random.IntN(3)] // some are the same
		default:
			next = all[random.IntN(len(all))].Text
		}
		return next[:min(len(next), 1<<random.IntN(12))]
	})
	return r
}

// vary leaves out some of what a value has, has some of it twice, and makes some
// numbers larger.
func vary(v reflect.Value, random *rand.Rand) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			vary(v.Field(i), random)
		}
	case reflect.Pointer:
		if random.IntN(4) == 0 {
			v.SetZero()
		} else if !v.IsNil() {
			vary(v.Elem(), random)
		}
	case reflect.Slice:
		varied := reflect.MakeSlice(v.Type(), 0, v.Len())
		for i := range v.Len() {
			for range random.IntN(4) * random.IntN(2) {
				element := reflect.New(v.Type().Elem()).Elem()
				element.Set(v.Index(i))
				if random.IntN(2) == 0 {
					vary(element, random)
				}
				varied = reflect.Append(varied, element)
			}
		}
		v.Set(varied)
	case reflect.Int, reflect.Int64:
		v.SetInt(random.Int64N(1 << random.Int64N(40)))
	}
}
