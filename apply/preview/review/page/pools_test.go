package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/impact"
	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/testdata/reviews"
)

func TestRows(t *testing.T) {
	changed := func(pool string, names ...string) review.Nodes {
		value := "x"
		return review.Nodes{Names: names, Changes: []plan.KeyChange{{Field: plan.Label, Key: "k", After: &value, Pool: pool}}}
	}
	tests := map[string]struct {
		reason  string
		nodes   []review.Nodes
		members []review.Members
		rows    []string
	}{
		"changed": {"the nodes are the same before and after, and stand there once",
			[]review.Nodes{changed("p", "a", "b")}, []review.Members{{Pool: "p", Before: 5, After: 5}},
			[]string{"5: ~a ~b, 3 as they are"}},
		"entering": {"a node that enters is changed as well, and is drawn once",
			[]review.Nodes{changed("p", "b")}, []review.Members{{Pool: "p", Before: 1, After: 2, Entering: []string{"b"}}},
			[]string{"Before 1: 1 as they are", "After 2: +b, 1 as they are"}},
		"leaving": {"a node that leaves stands among those before",
			[]review.Nodes{changed("p", "b")}, []review.Members{{Pool: "p", Before: 2, After: 1, Leaving: []string{"b"}}},
			[]string{"Before 2: −b, 1 as they are", "After 1: 1 as they are"}},
		"all at once": {"sorted by name, whatever happens to them",
			[]review.Nodes{changed("p", "d", "e"), changed("p", "a", "c")},
			[]review.Members{{Pool: "p", Before: 4, After: 4, Entering: []string{"a"}, Leaving: []string{"e"}}},
			[]string{"Before 4: c d −e, 1 as they are", "After 4: +a ~c ~d, 1 as they are"}},
		"of another pool": {"a change that another pool makes is not this one's",
			[]review.Nodes{changed("other", "a"), changed("p", "b")}, []review.Members{{Pool: "p", Before: 2, After: 2}},
			[]string{"2: ~b, 1 as they are"}},
		"unknown number": {"without a number the unchanged nodes are not described",
			[]review.Nodes{changed("p", "a")}, nil, []string{"?: ~a"}},
		"released late": {"a node that has left before, and lets go now, is no member",
			[]review.Nodes{changed("p", "a", "b")}, []review.Members{{Pool: "p", Before: 1, After: 1}},
			[]string{"1: ~a ~b, 0 as they are"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := &review.Review{Nodes: test.nodes, Members: test.members}
			for _, pool := range pools(r) {
				if pool.Name != "p" {
					continue
				}
				var rows []string
				for _, row := range pool.Rows {
					rows = append(rows, strings.TrimSpace(row.Name+" "+describe(row)))
				}
				if diff := cmp.Diff(test.rows, rows); diff != "" {
					t.Errorf("%s (-want +got):\n%s", test.reason, diff)
				}
			}
		})
	}
}

func describe(r row) string {
	var cells []string
	for _, cell := range r.Cells {
		cells = append(cells, cell.Mark()+cell.Name)
	}
	if r.Count == unknown {
		return "?: " + strings.Join(cells, " ")
	}
	if r.Rest > 0 || len(cells) > 0 {
		cells = append(cells, "")
	}
	text := strings.TrimSuffix(strings.Join(cells, " "), " ")
	if text != "" {
		text += ", "
	}
	return fmt.Sprintf("%d: %s%d as they are", r.Count, text, r.Rest)
}

// Pods are counted on the cells of what happens, so that each stands in a picture
// once for every pool of its node.
func TestPodsOfCells(t *testing.T) {
	var gone, nodes int
	r := reviews.Evictions()
	r.Members = []review.Members{{Pool: "gpu", Before: 36, After: 37, Entering: []string{"gpu-037"}, Leaving: []string{}}}
	for _, pool := range pools(r) {
		for _, row := range pool.Rows {
			for _, cell := range row.Cells {
				if row.Name == "Before" && cell.Pods > 0 {
					t.Errorf("%d pods of %s are gone before anything has happened", cell.Pods, cell.Name)
				}
				if gone += cell.Pods; cell.Pods > 0 {
					nodes++
				}
			}
		}
		if pool.Pods != gone || len(pool.Hit) != nodes {
			t.Errorf("%d pods go from %d nodes, and their cells say %d from %d", pool.Pods, len(pool.Hit), gone, nodes)
		}
	}
	if gone != 12 || nodes != 12 {
		t.Errorf("%d pods go on %d cells, want 12 on 12", gone, nodes)
	}
}

// TestSizeIsBounded writes what is as large as a review gets, and counts what is
// left out.
func TestSizeIsBounded(t *testing.T) {
	const mebibyte = 1 << 20
	numbered := func(format string, n int) []string {
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf(format, i)
		}
		return names
	}
	value := strings.Repeat("x", 256<<10)
	tests := map[string]struct {
		reason string
		make   func() *review.Review
		most   int
		has    []string
	}{
		"many pools": {"1,000 pools with 5,000 nodes", func() *review.Review { return reviews.Big(1000) }, 4 * mebibyte,
			[]string{"<b>5000</b> <span>nodes changed</span>"}},
		"one large pool": {"5,000 nodes of one pool are all drawn", func() *review.Review {
			return ofPool(numbered("node-%d", 5000), "1")
		}, mebibyte, []string{`title="node-4999: changed"`, "5000 nodes"}},
		"nodes without end": {"what is not drawn is counted", func() *review.Review {
			return ofPool(numbered("node-%d", 50_000), "1")
		}, 4 * mebibyte, []string{"and 26000 nodes more, not drawn"}},
		"names that have nothing in common": {"a list of names ends", func() *review.Review {
			return ofPool(numbered("node-%d-x", 1000), "1")
		}, mebibyte, []string{"node-[0-999]-x"}},
		"changes that have nothing in common": {"each node changes in another way", func() *review.Review {
			r := &review.Review{Members: []review.Members{{Pool: "p", Before: 5000, After: 5000}}}
			for i, name := range numbered("node-%d", 5000) {
				r.Nodes = append(r.Nodes, ofPool([]string{name}, fmt.Sprint(i)).Nodes...)
			}
			return r
		}, mebibyte, []string{"and 4900 nodes more, with other changes", `title="node-4999: changed"`}},
		"large values": {"an annotation of 256 KiB", func() *review.Review {
			return ofPool(numbered("node-%d", 3), value)
		}, mebibyte / 16, []string{"bytes more)"}},
		"many pods": {"50,000 pods of 1,000 workloads", func() *review.Review {
			r := ofPool(numbered("node-%d", 5), "1")
			r.Impact = &impact.Impact{}
			for _, name := range numbered("app-%d", 1000) {
				eviction := impact.Eviction{Workload: impact.Workload{Kind: "Deployment", Namespace: "web", Name: name}}
				for _, pod := range numbered(name+"-%d", 50) {
					eviction.Pods = append(eviction.Pods, impact.Pod{Name: pod, Node: "node-1"})
				}
				r.Impact.Evictions = append(r.Impact.Evictions, eviction)
			}
			return r
		}, 4 * mebibyte, []string{"50000 pods evicted", "and 700 more", "×50000"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			page := written(t, test.make(), Options{})
			t.Logf("%d KiB", len(page)>>10)
			if len(page) > test.most {
				t.Errorf("%s: %d bytes, want %d at the most", test.reason, len(page), test.most)
			}
			for _, text := range test.has {
				if !strings.Contains(page, text) {
					t.Errorf("%s: %q is not there", test.reason, text)
				}
			}
		})
	}
}

// ofPool is a pool that gives its nodes an annotation.
func ofPool(nodes []string, value string) *review.Review {
	return &review.Review{
		Nodes:   []review.Nodes{{Names: nodes, Changes: []plan.KeyChange{{Field: plan.Annotation, Key: "k", After: &value, Pool: "p"}}}},
		Members: []review.Members{{Pool: "p", Before: len(nodes), After: len(nodes)}},
	}
}
