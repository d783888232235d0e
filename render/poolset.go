package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// placedPool is a pool that has a name, and the positions of its fields.
type placedPool struct {
	Definition
	name, parent position
	// size is what the API server stores, in bytes; 0 for a pool that is not valid.
	size int
}

func (p *placedPool) problem(at position, message, hint string) Problem {
	name := p.Pool.Name
	return Problem{File: at.file, Line: at.line, Column: at.column, Pool: name, Message: "pool " + quoted(name) + ": " + message, Hint: hint}
}

// poolSet is every pool of a tree that has a name, in the order of reading.
type poolSet []placedPool

// check reports violations of the rules among pools. Where the set is not
// complete, a missing parent may be in a file that could not be read.
func (s poolSet) check(report *report, incomplete bool) {
	byName := make(map[string][]int, len(s))
	pools := make(map[string]*v1.NodePool, len(s))
	for i, pool := range s {
		byName[pool.Pool.Name] = append(byName[pool.Pool.Name], i)
		if pools[pool.Pool.Name] == nil {
			pools[pool.Pool.Name] = pool.Pool
		}
	}
	for i := range s {
		if same := byName[s[i].Pool.Name]; len(same) > 1 {
			s.duplicate(report, i, same)
		}
		s[i].checkParent(report, pools, incomplete)
	}
}

// duplicate reports a pool whose name others have too.
func (s poolSet) duplicate(report *report, i int, same []int) {
	const most = 3
	var others []string
	for _, other := range same[:min(len(same), most+1)] {
		if other != i && len(others) < most {
			others = append(others, s[other].name.String())
		}
	}
	where := strings.Join(others, ", ")
	if more := len(same) - 1 - len(others); more > 0 {
		where += fmt.Sprintf(" and %d more", more)
	}
	report.add(s[i].problem(s[i].name, "the name is taken: it is defined in "+where+" too", "give each pool a name of its own, or keep one of the definitions"))
}

func (p *placedPool) checkParent(report *report, pools map[string]*v1.NodePool, incomplete bool) {
	switch p.Pool.Spec.Parent {
	case "", p.Pool.Name: // a pool that is its own parent is refused by validation
		return
	}
	switch _, err := lineage(p.Pool, pools); {
	case err == nil:
	case err.TooMany:
		report.add(p.problem(p.parent, fmt.Sprintf("spec.parent: more than %d pools enclose it", MaxAncestors), ""))
	case err.Cycle != nil && err.Cycle[0] != p.Pool.Name:
		report.add(p.problem(p.parent, "spec.parent: the pool is within "+quoted(err.Cycle[0])+", which encloses itself: "+strings.Join(err.Cycle, " -> "), "take the parent out of one of them"))
	case err.Cycle != nil:
		report.add(p.problem(p.parent, "spec.parent: the pool encloses itself: "+strings.Join(err.Cycle, " -> "), "take the parent out of one of them"))
	case incomplete:
	default:
		hint := ""
		if len(pools) <= maxSuggestNames && !report.full() {
			if near := Nearest(err.Missing, slices.Sorted(maps.Keys(pools))); near != "" {
				hint = didYouMean(near)
			}
		}
		message := "spec.parent: there is no pool " + quoted(err.Missing)
		if err.Missing != err.Parent {
			message = "spec.parent: the pool " + quoted(err.Parent) + " is within " + quoted(err.Missing) + ", which does not exist"
		}
		report.add(p.problem(p.parent, message, hint))
	}
}
