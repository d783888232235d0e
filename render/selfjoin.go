package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kubelet "k8s.io/kubelet/pkg/apis"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// SelfJoinKeys returns the label keys in a pool's selector that a kubelet may set
// and remove on its own node, sorted. By them a node can join the pool, or leave
// it, whoever controls the node: a selector that asks for the absence of a label
// is no different. It returns none for a pool whose members are chosen by name or
// by the role label, which are not for a kubelet to change. What encloses the pool
// is left aside: it only bounds which nodes can do so.
func SelfJoinKeys(pool *v1.NodePool) []string {
	if pool.Spec.Selector == nil {
		return nil
	}
	keys := map[string]bool{}
	for key := range pool.Spec.Selector.MatchLabels {
		keys[key] = true
	}
	for _, expression := range pool.Spec.Selector.MatchExpressions {
		keys[expression.Key] = true
	}
	maps.DeleteFunc(keys, func(key string, _ bool) bool { return !kubeletMaySet(key) })
	if len(keys) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(keys))
}

// kubeletMaySet tells whether the admission plugin NodeRestriction lets a kubelet
// put a label on its own node: any outside of the domains of Kubernetes, and
// within them those that kubelets report.
func kubeletMaySet(key string) bool {
	prefix, _, prefixed := strings.Cut(key, "/")
	if !prefixed {
		return true
	}
	within := func(domain string) bool { return prefix == domain || strings.HasSuffix(prefix, "."+domain) }
	if within(corev1.LabelNamespaceNodeRestriction) {
		return false
	}
	return !within("kubernetes.io") && !within("k8s.io") || kubelet.IsKubeletLabel(key)
}

// selfJoinWarnings says for each key of the selector that a kubelet may set, at
// its place, what follows, and what to choose by instead.
func (d *document) selfJoinWarnings(pool *v1.NodePool) []Warning {
	keys := SelfJoinKeys(pool)
	var warnings []Warning
	for _, key := range keys[:min(len(keys), maxDocumentProblems)] {
		within := ""
		if pool.Spec.Parent != "" {
			within = ", within its parent " + quoted(pool.Spec.Parent)
		}
		_, name, prefixed := strings.Cut(key, "/")
		if !prefixed {
			name = key
		}
		place := d.position(locate(d.root, selectorPath(pool, key)))
		warnings = append(warnings, Warning{
			File: d.file, Line: place.line, Column: place.column, Pool: printable(pool.Name, maxValue),
			Message: printable(fmt.Sprintf("pool %s: a kubelet may set the label %s on its own node, so a node can join or leave the pool by itself%s; where the pool is there for security, choose by %s/%s, %s or nodeNames",
				quoted(pool.Name), key, within, corev1.LabelNamespaceNodeRestriction, name, v1.RoleLabel(pool.Name)), maxText),
		})
	}
	return warnings
}

// selectorPath is where the selector of a pool names a key first.
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
