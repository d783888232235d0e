package render

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// memberIndex finds the pools of a node without matching every pool. Each pool
// is filed under traits of which each of its members has at least one, and only
// the pools under a trait of the node are matched. So the cost of a node does
// not grow with pools that do not match it, except for those that no trait
// rules out: whose selectors only exclude nodes, whose patterns begin and end
// with a wildcard, or which select only labels that very many nodes and pools
// share. They are matched against every node that they could have.
type memberIndex struct {
	pools map[trait][]*pool
	// keys are the label keys in pools. Most labels of a node are not among them.
	keys map[string]bool
	// beginnings and endings are the lengths of those of names in pools.
	beginnings, endings []int
}

// trait is a property of a node that can be looked up.
type trait struct {
	kind traitKind
	// key of a label; empty for the traits of a name.
	key string
	// value of a label, a name, or the beginning of one.
	value string
}

type traitKind int

const (
	hasLabel   traitKind = iota // has the label with the value
	hasKey                      // has the label, whatever its value
	hasName                     // has the name
	nameBegins                  // has a name that begins so; every name begins with ""
	nameEnds                    // has a name that ends so
)

// newMemberIndex files the pools. A pool with several choices is filed where
// the fewest pools could be, so that a label on which many pools select beside
// others does not cause all of them to be matched.
func newMemberIndex(pools []*pool) *memberIndex {
	crowd := make(map[trait]int, len(pools))
	choices := make([][][]trait, len(pools))
	for i, p := range pools {
		choices[i] = traits(p.definition)
		for _, choice := range choices[i] {
			for _, t := range choice {
				crowd[t]++
			}
		}
	}
	x := &memberIndex{pools: make(map[trait][]*pool, len(pools)), keys: make(map[string]bool, len(pools))}
	for i, p := range pools {
		for _, t := range leastCrowded(choices[i], crowd) {
			x.file(p, t)
		}
	}
	return x
}

func leastCrowded(choices [][]trait, crowd map[trait]int) []trait {
	if len(choices) == 1 {
		return choices[0]
	}
	total := func(choice []trait) int {
		sum := 0
		for _, t := range choice {
			sum += crowd[t]
		}
		return sum
	}
	return slices.MinFunc(choices, func(a, b []trait) int { return cmp.Compare(total(a), total(b)) })
}

func (x *memberIndex) file(p *pool, at trait) {
	x.pools[at] = append(x.pools[at], p)
	addLength := func(lengths *[]int) {
		if !slices.Contains(*lengths, len(at.value)) {
			*lengths = append(*lengths, len(at.value))
		}
	}
	switch at.kind {
	case hasLabel, hasKey:
		x.keys[at.key] = true
	case nameBegins:
		addLength(&x.beginnings)
	case nameEnds:
		addLength(&x.endings)
	}
}

// traits returns the choices under which a pool may be filed. Every member has
// at least one trait of each choice.
func traits(definition *v1.NodePool) [][]trait {
	spec := definition.Spec
	switch {
	case membersByRole(definition):
		return [][]trait{{{kind: hasLabel, key: v1.RoleLabel(definition.Name)}}}
	case spec.Selector != nil:
		return selectorTraits(spec.Selector)
	default:
		return [][]trait{nameTraits(spec.NodeNames, beginning), nameTraits(spec.NodeNames, ending)}
	}
}

func selectorTraits(selector *v1.LabelSelector) [][]trait {
	var choices [][]trait
	for key, value := range selector.MatchLabels {
		choices = append(choices, []trait{{hasLabel, key, string(value)}})
	}
	for _, expression := range selector.MatchExpressions {
		switch expression.Operator {
		case metav1.LabelSelectorOpIn:
			var choice []trait
			for _, value := range expression.Values {
				choice = append(choice, trait{hasLabel, expression.Key, value})
			}
			choices = append(choices, distinct(choice))
		case metav1.LabelSelectorOpExists:
			choices = append(choices, []trait{{kind: hasKey, key: expression.Key}})
		}
	}
	if choices == nil {
		// It only excludes nodes: it is matched against every node.
		return [][]trait{{{kind: nameBegins}}}
	}
	return choices
}

func nameTraits(patterns []string, of func(pattern string) trait) []trait {
	choice := make([]trait, 0, len(patterns))
	for _, pattern := range patterns {
		if isPattern(pattern) {
			choice = append(choice, of(pattern))
		} else {
			choice = append(choice, trait{kind: hasName, value: pattern})
		}
	}
	return distinct(choice)
}

func isPattern(text string) bool { return strings.ContainsAny(text, `*?[\`) }

// beginning returns the prefix of every name that matches the pattern.
func beginning(pattern string) trait {
	return trait{kind: nameBegins, value: pattern[:strings.IndexAny(pattern, `*?[\`)]}
}

// ending returns the suffix of every name that matches the pattern: everything
// after the last wildcard, or from an escaped character on.
func ending(pattern string) trait {
	return trait{kind: nameEnds, value: pattern[strings.LastIndexAny(pattern, `*?[]\`)+1:]}
}

// distinct keeps a pool from being filed under one trait twice.
func distinct(choice []trait) []trait {
	slices.SortFunc(choice, func(a, b trait) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.value, b.value))
	})
	return slices.Compact(choice)
}

// of appends the pools that a node is in, sorted by name.
func (x *memberIndex) of(name string, have labels.Set, members []*pool) []*pool {
	ask := func(at trait) {
		for _, candidate := range x.pools[at] {
			if candidate.has(name, have) {
				members = append(members, candidate)
			}
		}
	}
	ask(trait{kind: hasName, value: name})
	for _, length := range x.beginnings {
		if length <= len(name) {
			ask(trait{kind: nameBegins, value: name[:length]})
		}
	}
	for _, length := range x.endings {
		if length <= len(name) {
			ask(trait{kind: nameEnds, value: name[len(name)-length:]})
		}
	}
	for key, value := range have {
		if x.keys[key] {
			ask(trait{hasLabel, key, value})
			ask(trait{kind: hasKey, key: key})
		}
	}
	slices.SortFunc(members, func(a, b *pool) int { return cmp.Compare(a.name, b.name) })
	// A pool may be filed under several traits of the node.
	return slices.Compact(members)
}
