package manifests

import (
	rbacv1 "k8s.io/api/rbac/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// ViewerName is the name of every object of [Viewer].
const ViewerName = Name + "-viewer"

// ViewerRules returns all that it takes to compare and to take an inventory: to list.
// A test fails when one is missing or not used.
func ViewerRules() []rbacv1.PolicyRule {
	list := func(group string, resources ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: []string{"list"}}
	}
	return []rbacv1.PolicyRule{
		// What changes: nodes, pools and their RuntimeClasses; and how much of it, by
		// the settings of the sources.
		list("", "nodes"),
		list("node.k8s.io", "runtimeclasses"),
		list(v1.GroupVersion.Group, "nodepools", "nodepoolsources"),
		// What that does to pods; what they belong to, and what the next one asks for;
		// and what may be disrupted.
		list("", "pods", "replicationcontrollers"),
		list("apps", "deployments", "replicasets", "statefulsets", "daemonsets"),
		list("batch", "jobs", "cronjobs"),
		list("policy", "poddisruptionbudgets"),
	}
}

// Viewer returns a service account that may read and nothing else, for a CI job
// that compares or takes an inventory.
func Viewer(namespace string) []Object {
	return []Object{
		serviceAccount(ViewerName, namespace),
		&rbacv1.ClusterRole{TypeMeta: kind(rbacv1.SchemeGroupVersion, "ClusterRole"), ObjectMeta: metaOf(ViewerName, ""), Rules: ViewerRules()},
		&rbacv1.ClusterRoleBinding{
			TypeMeta: kind(rbacv1.SchemeGroupVersion, "ClusterRoleBinding"), ObjectMeta: metaOf(ViewerName, ""),
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: ViewerName},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: ViewerName, Namespace: namespace}},
		},
	}
}
