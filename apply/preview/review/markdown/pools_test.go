package markdown

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/review"
)

func key(pool string) plan.KeyChange {
	value := "x"
	return plan.KeyChange{Field: plan.Label, Key: "key-of-" + pool, After: &value, Pool: pool}
}

func nodesOfPools(node string, pools ...string) review.Nodes {
	nodes := review.Nodes{Names: []string{node}}
	for _, pool := range pools {
		nodes.Changes = append(nodes.Changes, key(pool))
	}
	return nodes
}

// What happens to a pool stands with it, and each thing once.
func TestPools(t *testing.T) {
	for reason, c := range map[string]struct {
		review review.Review
		want   []string // the title of each pool
	}{
		"a RuntimeClass with its pool": {
			review.Review{
				Pools:          []review.Object{{Name: "b", Action: plan.Update}, {Name: "a", Action: plan.Create}},
				RuntimeClasses: []review.Object{{Name: "node-pool-a", Action: plan.Create}},
			},
			[]string{"Pool `b`: changed", "Pool `a`: created, RuntimeClass created"},
		},
		"a RuntimeClass alone": {
			review.Review{RuntimeClasses: []review.Object{{Name: "node-pool-a", Action: plan.Replace}}},
			[]string{"Pool `a`: RuntimeClass replaced"},
		},
		"a RuntimeClass with the name of a pool": {
			review.Review{RuntimeClasses: []review.Object{{Name: "a", Action: plan.Delete}, {Name: "node-pool-a", Action: plan.Create}}},
			[]string{"Pool `a`: RuntimeClass deleted, RuntimeClass created"},
		},
		"nodes that enter and leave": {
			review.Review{Members: []review.Members{{Pool: "a", Entering: []string{"x", "y"}, Leaving: []string{"z"}}}},
			[]string{"Pool `a`: 2 nodes enter, 1 node leaves"},
		},
		"a pool that has the nodes of another": {
			review.Review{Members: []review.Members{{Pool: "b", Before: 1, After: 1}}, Nodes: []review.Nodes{nodesOfPools("x", "a")}},
			[]string{"Pool `a`: 1 node changes"},
		},
		"a node of several pools, with each": {
			review.Review{
				Pools: []review.Object{{Name: "c", Action: plan.Update}},
				Nodes: []review.Nodes{nodesOfPools("x", "a", "a", "b", "c"), nodesOfPools("y", "b", "a"), nodesOfPools("z")},
			},
			[]string{"Pool `c`: changed, 1 node changes", "Pool `a`: 2 nodes change", "Pool `b`: 2 nodes change"},
		},
	} {
		t.Run(reason, func(t *testing.T) {
			var got []string
			for _, fold := range pools(&c.review) {
				got = append(got, fold.markdown)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// All names are there, on lines that are not much wider than a page.
func TestWrapped(t *testing.T) {
	var names, far []string
	for i := range 300 {
		names = append(names, strings.Repeat(string(rune('a'+i%26)), 1+i/26)+"-node")
		far = append(far, "node-"+strings.Repeat("1", 1+i%12)+string(rune('a'+i/12)))
	}
	for _, names := range [][]string{nil, {"a"}, names, far} {
		lines := wrapped(names)
		for i, line := range lines {
			if len(line) > column+len(names[0])+20 || strings.HasSuffix(line, ",") != (i+1 < len(lines)) || strings.HasPrefix(line, " ") {
				t.Errorf("line %d is %q", i, line)
			}
		}
		if got, want := strings.Join(lines, " "), strings.Join(review.Compact(names), ", "); strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}
