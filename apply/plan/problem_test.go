package plan

import (
	"errors"
	"testing"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

func TestProblemSet(t *testing.T) {
	missing := func(pool, parent string) Problem {
		return Problem{Kind: PoolInvalid, Pool: pool, Err: &render.ParentError{Pool: pool, Parent: parent, Missing: parent}}
	}
	set := NewProblemSet([]Problem{missing("a", "x"), {Kind: NodePaused, Node: "n", Err: errors.New("paused")}})
	cases := map[string]struct {
		reason  string
		problem Problem
		has     bool
	}{
		"same":          {"all its fields are the same", missing("a", "x"), true},
		"other cause":   {"the pool is invalid for a new reason", missing("a", "y"), false},
		"other pool":    {"it is about another pool", missing("b", "x"), false},
		"other kind":    {"the pool is paused, and was not", Problem{Kind: PoolPaused, Pool: "a", Err: missing("a", "x").Err}, false},
		"same node":     {"it is about the same node", Problem{Kind: NodePaused, Node: "n", Err: errors.New("paused")}, true},
		"pool or node":  {"a pool of that name is no node", Problem{Kind: NodePaused, Pool: "n", Err: errors.New("paused")}, false},
		"nothing there": {"it is about something else", Problem{Kind: Refused, Err: errors.New("refused")}, false},
	}
	for name, c := range cases {
		if has := set.Has(c.problem); has != c.has {
			t.Errorf("%s: %t, want %t: %s", name, has, c.has, c.reason)
		}
	}
}

// Each problem of a difference names what it is about.
func TestProblemsNameTheirSubject(t *testing.T) {
	pools := []*v1.NodePool{define("inner", v1.NodePoolSpec{Parent: "nowhere"}), paused(define("paused", v1.NodePoolSpec{}))}
	d, err := Diff(Revision{}, Cluster{Pools: pools})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]ProblemKind{}
	for _, problem := range d.Problems {
		found[problem.Pool] = problem.Kind
	}
	if len(found) != 2 || found["inner"] != PoolInvalid || found["paused"] != PoolPaused {
		t.Errorf("the problems are %v", found)
	}
	if parent := (*render.ParentError)(nil); len(d.Problems) > 0 && !errors.As(d.Problems[0], &parent) {
		t.Errorf("the cause of %v is lost", d.Problems[0])
	}
}
