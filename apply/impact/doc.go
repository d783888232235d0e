// Package impact tells what a change of nodes and RuntimeClasses does to the pods
// that run: which are evicted, which could not be scheduled again, which
// PodDisruptionBudgets that breaks, and for which pods there is no place left.
//
// Start with [Of]. Taints, tolerations and selectors are matched by Kubernetes'
// own code. The package is pure: the same input gives the same answer, in the
// same order.
//
// What it leaves aside, as nodes alone decide nothing of it: resources, pod
// affinity, topology spread, volumes and priorities. A pod of which it says that
// it could be scheduled again may still find no room.
package impact
