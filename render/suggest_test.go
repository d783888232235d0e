package render

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Suggestions and texts are computed only for problems that are shown.
// Allocations are counted, as time depends on the machine.
func TestHintsAreOfProblemsThatAreShown(t *testing.T) {
	full := func() *report {
		r := &report{}
		for i := range maxProblems {
			r.add(Problem{File: "p.yaml", Message: fmt.Sprint(i)})
		}
		return r
	}
	keys := map[string]v1.LabelValue{}
	for i := range maxSuggestSelfJoins {
		keys[fmt.Sprintf("example.com/%060d", i)] = "x"
	}
	acknowledged := func(r *report, entries int) float64 {
		pool := define("p", v1.NodePoolSpec{Selector: &v1.LabelSelector{MatchLabels: keys}})
		pool.Annotations = map[string]string{v1.AcknowledgeSelfJoinAnnotation: strings.Repeat(fmt.Sprintf("selector:example.com/%060d ", 77), entries)}
		return testing.AllocsPerRun(5, func() {
			d := &document{file: "p.yaml", root: &yaml.Node{Kind: yaml.MappingNode}, report: &report{problems: r.problems}}
			d.checkAcknowledged(pool)
			if d.problems != entries {
				t.Errorf("%d problems of %d entries", d.problems, entries)
			}
			d.countOmitted()
			if d.report.count != entries {
				t.Errorf("%d of %d entries are counted", d.report.count, entries)
			}
		})
	}
	const slack = 20
	few, many := acknowledged(&report{}, maxDocumentProblems+1), acknowledged(&report{}, maxDocumentProblems+1001)
	if many > few+slack {
		t.Errorf("1000 entries beyond what is shown of a document cost %.0f allocations", many-few)
	}
	few, many = acknowledged(full(), 1), acknowledged(full(), maxDocumentProblems)
	if many > few+slack {
		t.Errorf("%d entries beyond what is shown of a tree cost %.0f allocations", maxDocumentProblems-1, many-few)
	}

	var pools poolSet
	for i := range maxSuggestNames {
		pool := define(fmt.Sprintf("p%060d", i), v1.NodePoolSpec{Parent: fmt.Sprintf("q%060d", i)})
		pools = append(pools, placedPool{Definition: Definition{Pool: pool, File: "p.yaml"}})
	}
	r := full()
	if cost := testing.AllocsPerRun(1, func() { pools.check(r, false) }) / maxSuggestNames; cost > 50 {
		t.Errorf("a missing parent that is not shown costs %.0f allocations", cost)
	}
}

func TestDistance(t *testing.T) {
	for reason, test := range map[string]struct {
		a, b string
		want int
	}{
		"equal":             {"parent", "parent", 0},
		"both empty":        {"", "", 0},
		"empty":             {"", "ab", 2},
		"inserted":          {"parnt", "parent", 1},
		"dropped":           {"pareent", "parent", 1},
		"changed":           {"parant", "parent", 1},
		"swapped":           {"paretn", "parent", 1},
		"swapped at first":  {"aprent", "parent", 1},
		"two slips":         {"arents", "parent", 2},
		"too many":          {"prioritise", "parent", 3},
		"as long, all else": {"abcdef", "uvwxyz", 3},
	} {
		if got := distance(test.a, test.b, 3); got != test.want {
			t.Errorf("%s: %d, want %d", reason, got, test.want)
		}
	}
}

// A part of the table gives what the whole table gives.
func TestDistanceNearTheDiagonal(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		letters := make([]byte, random.IntN(9))
		for i := range letters {
			letters[i] = "abc"[random.IntN(3)]
		}
		return string(letters)
	}
	for range 20_000 {
		a, b := word(), word()
		whole := distance(a, b, 100)
		for most := 1; most < 10; most++ {
			if got := distance(a, b, most); got != min(whole, most) {
				t.Fatalf("%q and %q, up to %d: %d, want %d", a, b, most, got, min(whole, most))
			}
		}
	}
}
