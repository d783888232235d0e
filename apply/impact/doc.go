// Package impact tells what a change of nodes and RuntimeClasses does to the pods
// that run: which are evicted, which could not be scheduled again, which
// PodDisruptionBudgets that breaks, and for which pods there is no place left.
//
// Start with [Of]. Taints, tolerations and selectors are matched by Kubernetes'
// own code. The package is pure: the same input gives the same answer, in the
// same order.
//
// The rules are those of Kubernetes 1.37: of its taint eviction controller, its
// DaemonSet controller, its admission of RuntimeClasses and the filters of its
// scheduler. Each is told of where it is computed.
//
// What it leaves aside, as nodes alone decide nothing of it: resources, pod
// affinity, topology spread, volumes and priorities. A pod of which it says that
// it could be scheduled again may still find no room.
package impact
