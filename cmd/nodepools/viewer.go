package main

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// viewerName is the name of every object of --viewer.
const viewerName = appName + "-viewer"

// viewerRules are all that it takes to compare and to take an inventory: to list.
// A test fails when one is missing or not used.
func viewerRules() []rbacv1.PolicyRule {
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

// viewer is a service account that may look and nothing else, for a CI job.
func viewer(namespace string) []any {
	name := metav1.ObjectMeta{Name: viewerName, Labels: appLabels()}
	account := *name.DeepCopy()
	account.Namespace = namespace
	return []any{
		serviceAccount(account),
		&rbacv1.ClusterRole{TypeMeta: kind(rbacv1.SchemeGroupVersion, "ClusterRole"), ObjectMeta: name, Rules: viewerRules()},
		&rbacv1.ClusterRoleBinding{
			TypeMeta: kind(rbacv1.SchemeGroupVersion, "ClusterRoleBinding"), ObjectMeta: name,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: viewerName},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: viewerName, Namespace: namespace}},
		},
	}
}
