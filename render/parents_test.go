package render

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func TestParentError(t *testing.T) {
	within := func(name, parent string) *v1.NodePool { return define(name, v1.NodePoolSpec{Parent: parent}) }
	chain := func(depth int) []*v1.NodePool {
		pools := []*v1.NodePool{within("p0", "")}
		for i := range depth {
			pools = append(pools, within(fmt.Sprintf("p%d", i+1), fmt.Sprintf("p%d", i)))
		}
		return pools
	}
	cases := map[string]struct {
		reason string
		pools  []*v1.NodePool
		pool   string
		want   *ParentError
		text   string
	}{
		"no parent":   {"most pools", []*v1.NodePool{within("a", "")}, "a", nil, ""},
		"parent":      {"it is there", []*v1.NodePool{within("a", "b"), within("b", "")}, "a", nil, ""},
		"deep enough": {"as many as Load allows", chain(MaxAncestors), fmt.Sprintf("p%d", MaxAncestors), nil, ""},
		"too deep": {
			"from kubectl no more than from Git",
			chain(MaxAncestors + 1), "p33",
			&ParentError{Pool: "p33", Parent: "p32", TooMany: true},
			`pool "p33": more than 32 pools enclose it`,
		},
		"missing": {
			"the parent itself",
			[]*v1.NodePool{within("a", "b")}, "a",
			&ParentError{Pool: "a", Parent: "b", Missing: "b"},
			`pool "a" names the parent "b", which does not exist`,
		},
		"missing further out": {
			"who is missing, and through whom",
			[]*v1.NodePool{within("a", "b"), within("b", "c")}, "a",
			&ParentError{Pool: "a", Parent: "b", Missing: "c"},
			`pool "a" is within "b", whose enclosing pool "c" does not exist`,
		},
		"itself": {
			"the shortest circle",
			[]*v1.NodePool{within("a", "a")}, "a",
			&ParentError{Pool: "a", Parent: "a", Cycle: []string{"a", "a"}},
			`pool "a" encloses itself: a -> a`,
		},
		"circle": {
			"from this pool around to it",
			[]*v1.NodePool{within("a", "b"), within("b", "c"), within("c", "a")}, "b",
			&ParentError{Pool: "b", Parent: "c", Cycle: []string{"b", "c", "a", "b"}},
			`pool "b" encloses itself: b -> c -> a -> b`,
		},
		"leads into a circle": {
			"it is not on it, and must not be said to be",
			[]*v1.NodePool{within("a", "b"), within("b", "c"), within("c", "b")}, "a",
			&ParentError{Pool: "a", Parent: "b", Cycle: []string{"b", "c", "b"}},
			`pool "a" is within "b", which encloses itself: b -> c -> b`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := Expand(c.pools).Problem(c.pool)
			var got *ParentError
			if errors.As(err, &got) != (c.want != nil) {
				t.Fatalf("problem %v: %s", err, c.reason)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if got != nil && got.Error() != c.text {
				t.Errorf("got\n  %s\nwant\n  %s", got, c.text)
			}
		})
	}
}
