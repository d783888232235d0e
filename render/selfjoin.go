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
// and remove on its own node, sorted. By them a node can join the pool, or leave
// it, whoever controls the node: a selector that asks for the absence of a label
// is no different. It returns none for a pool whose members are chosen by name or
// by the role label, which are not for a kubelet to change; see
// [SelfJoinPatterns]. What encloses the pool
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
	maps.DeleteFunc(keys, func(key string, _ bool) bool { return !KubeletMaySet(key) })
	if len(keys) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(keys))
}

// requiresProtected reports whether no node matches a pool's selector without a label
// that kubelets may not set. That a node lacks one, or has another value, is true of
// every new node.
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
// A pattern that matches every name is none: nobody chooses by it. Whole names
// are none either: a node of such a name is one that somebody has meant, and to
// take the place of one that exists is what no way to choose members prevents.
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
// node, sorted. A pod that names nothing but these in its nodeSelector can be sent
// to any node that has set them. The RuntimeClass of the pool selects its role
// label too.
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

// KubeletMaySet reports whether the admission plugin NodeRestriction lets a kubelet
// put a label on its own node: any outside of the domains of Kubernetes, and
// within them those that kubelets report.
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

// isRestricted reports whether a label is under the domain that is there to be
// protected from kubelets.
func isRestricted(key string) bool {
	prefix, _, _ := strings.Cut(key, "/")
	return inDomain(prefix, corev1.LabelNamespaceNodeRestriction)
}

func inDomain(prefix, domain string) bool {
	return prefix == domain || strings.HasSuffix(prefix, "."+domain)
}
