package adopt

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func named(format string, from, to int) []string {
	var names []string
	for i := from; i <= to; i++ {
		names = append(names, fmt.Sprintf(format, i))
	}
	return names
}

func TestRangesOf(t *testing.T) {
	cases := map[string]struct {
		reason string
		names  []string
		want   []string
	}{
		"padded":       {"the width of a number counts", named("gpu-%03d", 1, 39), []string{"gpu-00[1-9]", "gpu-0[1-3][0-9]"}},
		"unpadded":     {"numbers of another width are other patterns", named("n%d", 8, 12), []string{"n1[0-2]", "n[89]"}},
		"holes":        {"nothing but the names is matched", []string{"n10", "n11", "n13", "n20", "n21", "n23"}, []string{"n[12][013]"}},
		"domains":      {"the number stands before the first dot", named("n%d.eu1.example.com", 1, 3), []string{"n[1-3].eu1.example.com"}},
		"none":         {"what does not count stands for itself", []string{"api", "n1"}, []string{"api", "n1"}},
		"number first": {"the last number counts", named("ip-10-0-%d-7", 1, 2), []string{"ip-10-0-1-7", "ip-10-0-2-7"}},
		"all digits":   {"a name may be a number", named("%d", 0, 9), []string{"[0-9]"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, rangesOf(c.names)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// Ranges match each of the names, and no other name that could be.
func TestRangesMatchNothingElse(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 3))
		chosen := map[string]bool{}
		for range 1 + r.IntN(60) {
			chosen[fmt.Sprintf([]string{"n-%d", "n-%03d", "m%d.x1"}[r.IntN(3)], r.IntN(120))] = true
		}
		var names []string
		for name := range chosen {
			names = append(names, name)
		}
		ranges := rangesOf(names)
		for _, format := range []string{"n-%d", "n-%02d", "n-%03d", "n-%04d", "m%d.x1", "m%d.x2"} {
			for i := range 1300 {
				name := fmt.Sprintf(format, i)
				matched := slices.ContainsFunc(ranges, func(pattern string) bool {
					matched, err := path.Match(pattern, name)
					return err == nil && matched
				})
				if matched != chosen[name] {
					t.Fatalf("seed %d: %s is matched: %v, by %v", seed, name, matched, ranges)
				}
			}
		}
	}
}

// groupOf is a group of nodes of some names.
func groupOf(names ...string) *group {
	g := &group{}
	for _, name := range names {
		g.nodes = append(g.nodes, &surveyed{name: name})
	}
	return g
}

func TestWiderPatterns(t *testing.T) {
	cases := map[string]struct {
		reason       string
		names, other []string
		want         []string
	}{
		"one prefix":      {"all that begins so is of the group", []string{"gpu-1", "gpu-2"}, []string{"web-1"}, []string{"gpu-*"}},
		"shared prefix":   {"another group begins so, too", []string{"gpu-a-1", "gpu-a-2"}, []string{"gpu-b-1"}, []string{"gpu-a-*"}},
		"before a number": {"people count without a dash, too", []string{"gpu1", "gpu2"}, []string{"gpux"}, []string{"gpu[0-9]*"}},
		"in between":      {"a name of others lies under the prefix", []string{"n-1", "n-3"}, []string{"n-2"}, []string{"n-1", "n-3"}},
		"domain":          {"a dot ends a word", []string{"a.eu.x", "b.eu.x"}, []string{"c.eu.x"}, []string{"a.eu.x", "b.eu.x"}},
		"single":          {"a pattern for one name says nothing", []string{"gpu-1"}, []string{"web-1"}, []string{"gpu-1"}},
		"several":         {"each prefix is a pattern", []string{"a-1", "a-2", "b-1", "b-2"}, []string{"c-1"}, []string{"a-*", "b-*"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := groupOf(c.names...)
			if diff := cmp.Diff(c.want, newNodeNames([]*group{g, groupOf(c.other...)}).wide[g]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// A pool lists no more names than its schema allows. Where no patterns help, there are
// several pools.
func TestManyNames(t *testing.T) {
	counted := groupOf(named("n-%04d", 0, 4999)...)
	prefixed := groupOf(scattered("a", 2500)...)
	mixed, others := groupOf(), groupOf()
	for i, name := range scattered("b", 5000) {
		g := []*group{mixed, others}[i%2]
		g.nodes = append(g.nodes, &surveyed{name: name})
	}
	names := newNodeNames([]*group{counted, prefixed, mixed, others})
	for what, c := range map[string]struct {
		of    *group
		lists int
	}{"that count": {counted, 1}, "under a prefix": {prefixed, 3}, "among others": {mixed, 3}} {
		lists := names.lists(c.of, false)
		if len(lists) != c.lists {
			t.Errorf("names %s: %d lists, want %d", what, len(lists), c.lists)
		}
		var all []string
		for _, list := range lists {
			if len(list.patterns) > maxNodeNames {
				t.Errorf("names %s: a list of %d", what, len(list.patterns))
			}
			all = append(all, list.names...)
		}
		if diff := cmp.Diff(c.of.names(), all); diff != "" {
			t.Errorf("names %s (-want +got):\n%s", what, diff)
		}
	}
}

// scattered are sorted names that have nothing in common but how they begin.
func scattered(prefix string, count int) []string {
	r := rand.New(rand.NewPCG(1, 1))
	names := map[string]bool{}
	for len(names) < count {
		names[fmt.Sprintf("%s-%08xx", prefix, r.Uint32())] = true
	}
	var all []string
	for name := range names {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}
