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

// memberIndex finds the pools of a node without asking every pool. Each pool
// stands where any of its members must lead: under one label with its value,
// under a node name, or, where it names neither, in the rest that is asked
// always.
type memberIndex struct {
	byLabel map[label][]*pool
	byName  map[string][]*pool
	rest    []*pool
}

type label struct{ key, value string }

func (x *memberIndex) add(p *pool) {
	if x.byLabel == nil {
		x.byLabel, x.byName = map[label][]*pool{}, map[string][]*pool{}
	}
	spec := p.definition.Spec
	switch {
	case membersByRole(p.definition):
		x.addLabel(p, label{v1.RoleLabel(p.name), ""})
	case spec.Selector != nil:
		x.addSelector(p, spec.Selector)
	case slices.ContainsFunc(spec.NodeNames, isPattern):
		x.rest = append(x.rest, p)
	default:
		for _, name := range spec.NodeNames {
			x.byName[name] = append(x.byName[name], p)
		}
	}
}

func (x *memberIndex) addLabel(p *pool, at label) { x.byLabel[at] = append(x.byLabel[at], p) }

func (x *memberIndex) addSelector(p *pool, selector *metav1.LabelSelector) {
	var at *label
	for key, value := range selector.MatchLabels {
		if at == nil || key < at.key {
			at = &label{key, value}
		}
	}
	if at != nil {
		x.addLabel(p, *at)
		return
	}
	for _, expression := range selector.MatchExpressions {
		if expression.Operator == metav1.LabelSelectorOpIn {
			values := slices.Clone(expression.Values)
			slices.Sort(values)
			for _, value := range slices.Compact(values) {
				x.addLabel(p, label{expression.Key, value})
			}
			return
		}
	}
	x.rest = append(x.rest, p)
}

func isPattern(name string) bool { return strings.ContainsAny(name, `*?[\`) }

// of returns the pools that a node is in, sorted by name.
func (x *memberIndex) of(name string, have labels.Set) []*pool {
	var members []*pool
	consider := func(candidates []*pool) {
		for _, candidate := range candidates {
			if candidate.has(name, have) {
				members = append(members, candidate)
			}
		}
	}
	consider(x.byName[name])
	for key, value := range have {
		consider(x.byLabel[label{key, value}])
	}
	consider(x.rest)
	slices.SortFunc(members, func(a, b *pool) int { return cmp.Compare(a.name, b.name) })
	return members
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
