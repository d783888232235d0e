package render

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubelet "k8s.io/kubelet/pkg/apis"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// SelfJoinKeys returns the label keys in a pool's selector that a kubelet may set
// and remove on its own node, sorted. With these, whoever controls a node can
// make it join the pool, or leave it; this includes a selector for the absence of
// a label. It returns none for a pool whose members are selected by name or by
// the role label, which a kubelet cannot change; see [SelfJoinPatterns].
// Enclosing pools are ignored: they only bound which nodes can do so.
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
	maps.DeleteFunc(keys, func(key string, _ bool) bool { return !KubeletMaySet(key) })
	if len(keys) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(keys))
}

// requiresProtected reports whether a node needs a label that kubelets may not
// set to match a pool's selector. Requiring its absence, or another value, does
// not count: every new node meets that.
func requiresProtected(pool *v1.NodePool) bool {
	if pool.Spec.Selector == nil {
		return false
	}
	for key := range pool.Spec.Selector.MatchLabels {
		if !KubeletMaySet(key) {
			return true
		}
	}
	return slices.ContainsFunc(pool.Spec.Selector.MatchExpressions, func(expression v1.LabelSelectorRequirement) bool {
		present := expression.Operator == metav1.LabelSelectorOpIn || expression.Operator == metav1.LabelSelectorOpExists
		return present && !KubeletMaySet(expression.Key)
	})
}

// SelfJoinPatterns returns the patterns in a pool's nodeNames, in their order. A
// kubelet cannot change the name of its node, but whoever may bootstrap nodes of
// any name, as a bootstrap token allows by default, can choose one that matches.
// A pattern that matches every name is not listed: it does not select. Whole
// names are not listed either: such a node was named on purpose, and no way to
// select members prevents the replacement of an existing node.
func SelfJoinPatterns(pool *v1.NodePool) []string {
	var patterns []string
	for _, pattern := range pool.Spec.NodeNames {
		if strings.Trim(pattern, "*") == "" {
			return nil
		}
		if strings.ContainsAny(pattern, `*?[`) {
			patterns = append(patterns, pattern)
		}
	}
	return patterns
}

// OpenLabels returns the keys of a pool's labels that a kubelet may set on its own
// node, sorted. A pod with only these in its nodeSelector may be scheduled to any
// node that has set them. The RuntimeClass of the pool selects its role label too.
func OpenLabels(pool *v1.NodePool) []string {
	var keys []string
	for key := range pool.Spec.Labels {
		if KubeletMaySet(key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// KubeletMaySet reports whether the admission plugin NodeRestriction allows a
// kubelet to set a label on its own node: any outside of the domains of
// Kubernetes, and within them those that kubelets report.
func KubeletMaySet(key string) bool {
	prefix, _, prefixed := strings.Cut(key, "/")
	if !prefixed {
		return true
	}
	if isRestricted(key) {
		return false
	}
	return !inDomain(prefix, "kubernetes.io") && !inDomain(prefix, "k8s.io") || kubelet.IsKubeletLabel(key)
}

// isRestricted reports whether a label is under the domain that is reserved
// against kubelets.
func isRestricted(key string) bool {
	prefix, _, _ := strings.Cut(key, "/")
	return inDomain(prefix, corev1.LabelNamespaceNodeRestriction)
}

func inDomain(prefix, domain string) bool {
	return prefix == domain || strings.HasSuffix(prefix, "."+domain)
}
