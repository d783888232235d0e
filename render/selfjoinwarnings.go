package render

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// selfJoinWarnings returns a warning for everything by which nodes can join a
// pool, or attract its pods, by themselves, with its position and an
// alternative.
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
	within := ""
	if pool.Spec.Parent != "" {
		within = ", within its parent " + quoted(pool.Spec.Parent)
	}
	known := Acknowledged(pool)
	warn := func(at *yaml.Node, message string, entries ...string) {
		if known[entries[0]] || len(warnings) == maxDocumentProblems {
			return
		}
		message += fmt.Sprintf("; where that is meant, annotate the pool with %s: %s", v1.AcknowledgeSelfJoinAnnotation, strings.Join(entries, " "))
		found := d.position(at)
		warnings = append(warnings, Warning{
			File: found.file, Line: found.line, Column: found.column, Pool: printable(pool.Name, maxValue),
			Message: printable("pool "+quoted(pool.Name)+": "+message, maxText),
		})
	}
	for _, key := range SelfJoinKeys(pool) {
		warn(locate(d.root, selectorPath(pool, key)), fmt.Sprintf("a kubelet may set the label %s on its own node, so a node can join or leave the pool by itself%s; where the pool is there for security, choose by %s, %s or whole names in nodeNames",
			key, within, restricted(key), v1.RoleLabel(pool.Name)), byKeys(pool)+key)
	}
	patterns := slices.DeleteFunc(SelfJoinPatterns(pool), func(pattern string) bool { return known[byNames+pattern] })
	if len(patterns) > 0 && keepsPodsOff(pool) {
		warn(locate(d.root, "spec.nodeNames"), fmt.Sprintf("whoever may bootstrap nodes of any name can add one to the pool%s, as %s is a pattern; where the pool is there for security, choose by labels under %s/, %s or whole names",
			within, quoted(patterns[0]), corev1.LabelNamespaceNodeRestriction, v1.RoleLabel(pool.Name)), prefixed(byNames, patterns)...)
	}
	if choosesByProtected(pool) {
		for _, key := range OpenLabels(pool) {
			warn(locate(d.root, "spec.labels["+key+"]"), fmt.Sprintf("a kubelet may set the label %s on its own node, so a nodeSelector by it alone does not keep a pod in the pool; let pods name the RuntimeClass %s, which also selects %s, or use %s",
				key, v1.RuntimeClassName(pool.Name), v1.RoleLabel(pool.Name), restricted(key)), byLabels+key)
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

// restricted returns a protected label key to use instead of one that kubelets may set.
func restricted(key string) string {
	_, name, prefixed := strings.Cut(key, "/")
	if !prefixed {
		name = key
	}
	return corev1.LabelNamespaceNodeRestriction + "/" + name
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
