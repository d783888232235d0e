// Package impact computes what a change of nodes and RuntimeClasses does to
// running pods: which are evicted or drained, which could not be scheduled again, which
// PodDisruptionBudgets are exceeded or block a drain, and for which pods no node is left.
//
// Start with [Of]. Taints, tolerations and selectors are matched by Kubernetes'
// own code. The package is pure: the same input gives the same result, in the
// same order.
//
// The rules are those of Kubernetes 1.37: of its taint eviction controller, its
// DaemonSet controller, its admission of RuntimeClasses and the filters of its
// scheduler. Each is documented where it is computed.
//
// It ignores what nodes alone do not decide: resources, pod affinity, topology
// spread, volumes and priorities. A pod that could be scheduled again by these
// rules may still not fit.
package impact
