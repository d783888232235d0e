package manifests

import (
	rbacv1 "k8s.io/api/rbac/v1"
)

// RolloutName is the name of the role by which the controller drains nodes.
const RolloutName = Name + "-rollout"

// RolloutRules are what the controller may do for pools whose rollout has nodes drained.
func RolloutRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		// The pods of a node that is drained, and those that a change strands, each time past any
		// cache; none is watched.
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}},
		// Evictions, which respect PodDisruptionBudgets. No pod is deleted otherwise.
		{APIGroups: []string{""}, Resources: []string{"pods/eviction"}, Verbs: []string{"create"}},
	}
}

// Rollout returns the role by which the controller drains nodes, and its binding.
func Rollout(namespace string) []Object {
	return []Object{
		&rbacv1.ClusterRole{TypeMeta: kind(rbacv1.SchemeGroupVersion, "ClusterRole"), ObjectMeta: metaOf(RolloutName, ""), Rules: RolloutRules()},
		&rbacv1.ClusterRoleBinding{
			TypeMeta: kind(rbacv1.SchemeGroupVersion, "ClusterRoleBinding"), ObjectMeta: metaOf(RolloutName, ""),
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: RolloutName},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: Name, Namespace: namespace}},
		},
	}
}
