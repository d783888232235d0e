package manifests

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// ClusterRules returns all that the controller may do in the whole cluster. A rule
// that it does not need is a gift to whoever takes it over, so each has its
// reason, and a test fails when one is missing or not used.
//
// What is watched is read from the cache, so get is not needed for it. list is:
// a server that cannot stream the state at the begin of a watch is asked for it.
func ClusterRules() []rbacv1.PolicyRule {
	return slices.Concat(nodeRules(), poolRules(), reportRules())
}

// nodeRules are those for nodes, and for what draws pods to them.
func nodeRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{
			// Nodes are watched and patched, and one is read past the cache when
			// somebody else was faster. They are never created and never deleted.
			APIGroups: []string{""},
			Resources: []string{"nodes"},
			Verbs:     []string{"get", "list", "watch", "patch"},
		},
		{
			// On nodes, the labels and annotations of our domain: the admission
			// policy lets nobody write them who does not have this right.
			APIGroups: []string{v1.GroupVersion.Group},
			Resources: []string{NodeMetadataResource},
			Verbs:     []string{NodeMetadataVerb},
		},
		{
			// Each pool has a RuntimeClass: created, changed (patch), and deleted
			// where a new handler replaces it. With its pool it goes by the
			// garbage collector.
			APIGroups: []string{"node.k8s.io"},
			Resources: []string{"runtimeclasses"},
			Verbs:     []string{"list", "watch", "create", "patch", "delete"},
		},
	}
}

// poolRules are those for pools, and for what may refuse one.
func poolRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{
			// Pools that a source brings are applied (create and patch), what
			// others have added to them is taken out (update), and those that
			// vanished are deleted. The finalizer is a patch as well.
			APIGroups: []string{v1.GroupVersion.Group},
			Resources: []string{"nodepools"},
			Verbs:     []string{"list", "watch", "create", "patch", "update", "delete"},
		},
		{
			// What may refuse a pool: where nothing does, a revision of many pools is
			// written without a dry run of each before.
			APIGroups: []string{"admissionregistration.k8s.io"},
			Resources: []string{
				"validatingwebhookconfigurations", "mutatingwebhookconfigurations",
				"validatingadmissionpolicies", "mutatingadmissionpolicies",
			},
			Verbs: []string{"list"},
		},
		{
			// And the schema of pools, which is to be the one that the program brings. While it is
			// being deleted, and all pools with it, nodes are not released.
			APIGroups:     []string{"apiextensions.k8s.io"},
			Resources:     []string{"customresourcedefinitions"},
			ResourceNames: []string{"nodepools." + v1.GroupVersion.Group},
			Verbs:         []string{"get"},
		},
	}
}

// reportRules are those for sources, and for what is reported of them and of pools.
func reportRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{
			// Sources are the administrator's: read, and patched for nothing but the
			// finalizer of those that take their pools along, and the request for a
			// poll that a webhook causes. Which there are is also listed past the
			// cache, before a pool is deleted for it.
			APIGroups: []string{v1.GroupVersion.Group},
			Resources: []string{"nodepoolsources"},
			Verbs:     []string{"list", "watch", "patch"},
		},
		{
			// What was done and found is reported in the status. An admission policy
			// lets nobody write it who does not have the right to write it, too.
			APIGroups: []string{v1.GroupVersion.Group},
			Resources: []string{"nodepools/status", "nodepoolsources/status"},
			Verbs:     []string{"patch", StatusVerb},
		},
		{
			// Events on pools and sources, and the count of a repeated one.
			APIGroups: []string{"events.k8s.io"},
			Resources: []string{"events"},
			Verbs:     []string{"create", "patch"},
		},
	}
}

// NamespaceRules returns all that the controller may do in its own namespace besides.
func NamespaceRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{
			// The lease by which replicas agree on who works. Nobody can be held
			// to the name of an object that is not there yet.
			APIGroups: []string{"coordination.k8s.io"},
			Resources: []string{"leases"},
			Verbs:     []string{"create"},
		},
		{
			APIGroups:     []string{"coordination.k8s.io"},
			Resources:     []string{"leases"},
			ResourceNames: []string{v1.LeaseName},
			Verbs:         []string{"get", "update"},
		},
		{
			// The Secrets that sources name, each by its name, and only here: which
			// these are is not known in advance. None is listed or watched.
			APIGroups: []string{""},
			Resources: []string{"secrets"},
			Verbs:     []string{"get"},
		},
	}
}

// RBAC returns the service account of the controller, its roles and their bindings.
func RBAC(namespace string) []Object {
	role := func(kind string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: Name}
	}
	account := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: Name, Namespace: namespace}}
	return []Object{
		serviceAccount(Name, namespace),
		&rbacv1.ClusterRole{TypeMeta: kind(rbacv1.SchemeGroupVersion, "ClusterRole"), ObjectMeta: metaOf(Name, ""), Rules: ClusterRules()},
		&rbacv1.ClusterRoleBinding{
			TypeMeta: kind(rbacv1.SchemeGroupVersion, "ClusterRoleBinding"), ObjectMeta: metaOf(Name, ""),
			RoleRef: role("ClusterRole"), Subjects: account,
		},
		&rbacv1.Role{TypeMeta: kind(rbacv1.SchemeGroupVersion, "Role"), ObjectMeta: metaOf(Name, namespace), Rules: NamespaceRules()},
		&rbacv1.RoleBinding{
			TypeMeta: kind(rbacv1.SchemeGroupVersion, "RoleBinding"), ObjectMeta: metaOf(Name, namespace),
			RoleRef: role("Role"), Subjects: account,
		},
	}
}

func serviceAccount(name, namespace string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{TypeMeta: kind(corev1.SchemeGroupVersion, "ServiceAccount"), ObjectMeta: metaOf(name, namespace)}
}
