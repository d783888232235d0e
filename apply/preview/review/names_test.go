package review

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompact(t *testing.T) {
	cases := map[string]struct {
		reason string
		names  []string
		want   []string
	}{
		"none":         {"nothing to name", nil, []string{}},
		"one":          {"a range of one is no range", []string{"gpu-7"}, []string{"gpu-7"}},
		"no number":    {"names are left as they are", []string{"b", "a"}, []string{"a", "b"}},
		"padded":       {"the zeros are part of the names", []string{"gpu-001", "gpu-002", "gpu-037"}, []string{"gpu-[001-002,037]"}},
		"over a width": {"numbers grow as they do", []string{"n8", "n9", "n10", "n11"}, []string{"n[8-11]"}},
		"padded and not": {"n-1 and n-01 are two nodes",
			[]string{"n-1", "n-2", "n-01", "n-02", "n-10"}, []string{"n-[01-02,10]", "n-[1-2]"}},
		"last number":    {"the address of a machine ends in what distinguishes it", []string{"ip-10-0-3-17.x", "ip-10-0-3-18.x", "ip-10-0-4-17.x"}, []string{"ip-10-0-3-[17-18].x", "ip-10-0-4-17.x"}},
		"suffix":         {"what follows the number has to be the same", []string{"a1x", "a2x", "a3y"}, []string{"a[1-2]x", "a3y"}},
		"twice":          {"a name is one name", []string{"a1", "a1", "a2"}, []string{"a[1-2]"}},
		"longest number": {"what is no number to count with is text", []string{"a1234567890123456", "a1234567890123457"}, []string{"a1234567890123456", "a1234567890123457"}},
		"zero":           {"zero alone is not padded", []string{"w0", "w1", "w10"}, []string{"w[0-1,10]"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Compact(c.names)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestCompactMeansTheSameNames reads back what Compact has written.
func TestCompactMeansTheSameNames(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var names []string
		for range r.IntN(30) {
			name := []string{"a", "a-", "b-1-"}[r.IntN(3)] + fmt.Sprintf([]string{"%d", "%02d", "%03d"}[r.IntN(3)], r.IntN(120)) + []string{"", ".x"}[r.IntN(2)]
			names = append(names, name)
		}
		var read []string
		for _, text := range Compact(names) {
			read = append(read, expand(t, text)...)
		}
		slices.Sort(names)
		slices.Sort(read)
		if want := slices.Compact(slices.Clone(names)); !slices.Equal(want, read) {
			t.Fatalf("seed %d: %v became %v, which is %v", seed, want, Compact(names), read)
		}
	}
}

func expand(t *testing.T, text string) []string {
	t.Helper()
	before, rest, ranged := strings.Cut(text, "[")
	if !ranged {
		return []string{text}
	}
	list, after, _ := strings.Cut(rest, "]")
	var names []string
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.Atoi(from)
		if err != nil {
			t.Fatal(err)
		}
		last, err := strconv.Atoi(to)
		if err != nil {
			t.Fatal(err)
		}
		width := 0
		if strings.HasPrefix(from, "0") {
			width = len(from)
		}
		for n := first; n <= last; n++ {
			names = append(names, fmt.Sprintf("%s%0*d%s", before, width, n, after))
		}
	}
	return names
}
