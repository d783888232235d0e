package render

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// selfJoinWarnings returns a warning for everything by which nodes can join a
// pool, or attract its pods, by themselves, with its position.
//
// Nobody reads a warning that most pools have. So every selector key that a
// kubelet may set is warned of, as no administrator has to do anything for it
// to happen; name patterns and labels of the pool, which nearly every pool has,
// only where the pool is meant as a wall: patterns where it has a taint that
// keeps pods off its nodes, labels where its selector has a label that is
// protected from kubelets. The condition SelfJoinable names them in any case.
// What the pool acknowledges is not warned of.
func (d *document) selfJoinWarnings(pool *v1.NodePool) []Warning {
	var warnings []Warning
	known := Acknowledged(pool)
	warn := func(path, message string, entries ...string) {
		if !known[entries[0]] && len(warnings) < maxDocumentProblems {
			warnings = append(warnings, d.warning(pool, path, message, "nodes-that-can-join-by-themselves", strings.Join(entries, " ")))
		}
	}
	for _, key := range SelfJoinKeys(pool) {
		warn(selectorPath(pool, key), fmt.Sprintf("a kubelet may set the label %s, and so join the pool", key), byKeys(pool)+key)
	}
	patterns := slices.DeleteFunc(SelfJoinPatterns(pool), func(pattern string) bool { return known[byNames+pattern] })
	if len(patterns) > 0 && keepsPodsOff(pool) {
		warn("spec.nodeNames", fmt.Sprintf("who may bootstrap nodes can add one to the pool, as %s is a pattern", quoted(patterns[0])), prefixed(byNames, patterns)...)
	}
	if choosesByProtected(pool) {
		for _, key := range OpenLabels(pool) {
			warn("spec.labels["+key+"]", fmt.Sprintf("a kubelet may set the label %s, so it alone keeps no pod in", key), byLabels+key)
		}
	}
	return warnings
}

func prefixed(prefix string, names []string) []string {
	entries := make([]string, len(names))
	for i, name := range names {
		entries[i] = prefix + name
	}
	return entries
}

// keepsPodsOff reports whether a pool has a taint that keeps pods off its nodes.
func keepsPodsOff(pool *v1.NodePool) bool {
	return slices.ContainsFunc(pool.Spec.Taints, func(taint v1.Taint) bool { return taint.Effect != corev1.TaintEffectPreferNoSchedule })
}

// choosesByProtected reports whether a selector has a label under the domain
// that is reserved against kubelets.
func choosesByProtected(pool *v1.NodePool) bool {
	if pool.Spec.Selector == nil {
		return false
	}
	for key := range pool.Spec.Selector.MatchLabels {
		if isRestricted(key) {
			return true
		}
	}
	for _, expression := range pool.Spec.Selector.MatchExpressions {
		if isRestricted(expression.Key) {
			return true
		}
	}
	return false
}

// selectorPath returns the path at which the selector of a pool first names a key.
func selectorPath(pool *v1.NodePool, key string) string {
	if _, found := pool.Spec.Selector.MatchLabels[key]; found {
		return "spec.selector.matchLabels[" + key + "]"
	}
	for i, expression := range pool.Spec.Selector.MatchExpressions {
		if expression.Key == key {
			return fmt.Sprintf("spec.selector.matchExpressions[%d].key", i)
		}
	}
	return "spec.selector"
}
