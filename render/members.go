package render

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// matcher tells whether a node belongs to a pool, the pools around it left
// aside.
type matcher func(name string, labels labels.Set) bool

// membersByRole tells whether a pool's members are those with its role label.
func membersByRole(definition *v1.NodePool) bool {
	return definition.Spec.Selector == nil && len(definition.Spec.NodeNames) == 0
}

func newMatcher(definition *v1.NodePool) (matcher, error) {
	switch spec := definition.Spec; {
	case spec.Selector != nil:
		return newSelectorMatcher(spec.Selector)
	case len(spec.NodeNames) > 0:
		return newNameMatcher(spec.NodeNames)
	default:
		role := v1.RoleLabel(definition.Name)
		return func(_ string, have labels.Set) bool { return have.Has(role) && have[role] == "" }, nil
	}
}

func newSelectorMatcher(selector *metav1.LabelSelector) (matcher, error) {
	if len(selector.MatchLabels) == 0 && len(selector.MatchExpressions) == 0 {
		return nil, fmt.Errorf("spec.selector is empty and would match every node")
	}
	selects, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, fmt.Errorf("spec.selector cannot be read: %w", err)
	}
	return func(_ string, have labels.Set) bool { return selects.Matches(have) }, nil
}

func newNameMatcher(patterns []string) (matcher, error) {
	for _, pattern := range patterns {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("spec.nodeNames has %q, which is not a pattern", pattern)
		}
	}
	return func(name string, _ labels.Set) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool {
			matched, err := path.Match(pattern, name)
			return err == nil && matched
		})
	}, nil
}

// memberIndex finds the pools of a node without asking every pool. Each pool is
// filed under traits of which every one of its members has at least one, and
// only the pools under a trait of the node are asked.
type memberIndex struct {
	pools map[trait][]*pool
	// beginnings are the lengths of the name beginnings in pools.
	beginnings []int
}

// trait is something about a node that can be looked up.
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
)

// newMemberIndex files the pools. A pool that leaves a choice is filed where the
// fewest pools could be, so that a label which many pools select on beside
// others does not make them all be asked.
func newMemberIndex(pools []*pool) *memberIndex {
	crowd := map[trait]int{}
	choices := make([][][]trait, len(pools))
	for i, p := range pools {
		choices[i] = traits(p.definition)
		for _, choice := range choices[i] {
			for _, t := range choice {
				crowd[t]++
			}
		}
	}
	x := &memberIndex{pools: make(map[trait][]*pool, len(pools))}
	for i, p := range pools {
		for _, t := range leastCrowded(choices[i], crowd) {
			x.file(p, t)
		}
	}
	return x
}

func leastCrowded(choices [][]trait, crowd map[trait]int) []trait {
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
	if at.kind == nameBegins && !slices.Contains(x.beginnings, len(at.value)) {
		x.beginnings = append(x.beginnings, len(at.value))
	}
}

// traits are the choices of where a pool may be filed. Of each choice every
// member has at least one trait.
func traits(definition *v1.NodePool) [][]trait {
	spec := definition.Spec
	switch {
	case membersByRole(definition):
		return [][]trait{{{kind: hasLabel, key: v1.RoleLabel(definition.Name)}}}
	case spec.Selector != nil:
		return selectorTraits(spec.Selector)
	default:
		return [][]trait{nameTraits(spec.NodeNames)}
	}
}

func selectorTraits(selector *metav1.LabelSelector) [][]trait {
	var choices [][]trait
	for key, value := range selector.MatchLabels {
		choices = append(choices, []trait{{hasLabel, key, value}})
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
		// It only says what a node must not have: every node is asked about.
		return [][]trait{{{kind: nameBegins}}}
	}
	return choices
}

func nameTraits(patterns []string) []trait {
	var choice []trait
	for _, pattern := range patterns {
		if meta := strings.IndexAny(pattern, `*?[\`); meta >= 0 {
			choice = append(choice, trait{kind: nameBegins, value: pattern[:meta]})
		} else {
			choice = append(choice, trait{kind: hasName, value: pattern})
		}
	}
	return distinct(choice)
}

// distinct keeps a pool from being filed in one place twice.
func distinct(choice []trait) []trait {
	slices.SortFunc(choice, func(a, b trait) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.value, b.value))
	})
	return slices.Compact(choice)
}

// of returns the pools that a node is in, sorted by name.
func (x *memberIndex) of(name string, have labels.Set) []*pool {
	var members []*pool
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
	for key, value := range have {
		ask(trait{hasLabel, key, value})
		ask(trait{kind: hasKey, key: key})
	}
	slices.SortFunc(members, func(a, b *pool) int { return cmp.Compare(a.name, b.name) })
	// A pool may stand under several traits that the node has.
	return slices.Compact(members)
}

// has tells whether a node is a member of the pool and of all around it.
func (p *pool) has(name string, have labels.Set) bool {
	if !p.member(name, have) {
		return false
	}
	for _, enclosing := range p.enclosing {
		if !enclosing.member(name, have) {
			return false
		}
	}
	return true
}
