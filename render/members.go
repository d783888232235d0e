package render

import (
	"fmt"
	"path"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// matcher reports whether a node matches a pool, regardless of the pools around it.
type matcher func(name string, labels labels.Set) bool

// membersByRole reports whether a pool's members are those with its role label.
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

func newSelectorMatcher(selector *v1.LabelSelector) (matcher, error) {
	if len(selector.MatchLabels) == 0 && len(selector.MatchExpressions) == 0 {
		return nil, fmt.Errorf("spec.selector is empty and would match every node")
	}
	selects, err := metav1.LabelSelectorAsSelector(selector.MetaV1())
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

// has reports whether a node is a member of the pool and of all around it.
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
