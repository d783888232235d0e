// Package inventory is a cluster, written down: of its nodes, pods, workloads,
// PodDisruptionBudgets, RuntimeClasses and pools as much as it takes to tell
// what a change of pools does, and no more. There is no Secret in it, no
// environment variable and no image.
//
// A [Builder] makes one of the objects of a cluster; [Write] and [Read] are a file.
//
// It is read from a cluster, or from a file that a nightly job commits, so that a
// pull request is reviewed without a way to the cluster. The package is pure: it
// has no client, no clock and no operating system.
package inventory
