// Package inventory describes a cluster: its nodes, pods, workloads,
// PodDisruptionBudgets, RuntimeClasses and pools, with the fields that are
// needed to compute what a change of pools does, and no others. It has no
// Secret, no environment variable and no image.
//
// A [Builder] makes one from the objects of a cluster; [Write] and [Read]
// convert it to and from a file.
//
// It is read from a cluster, or from a file that a nightly job commits, so that a
// pull request is reviewed without access to the cluster. The package is pure: it
// has no client, no clock and no operating system.
package inventory
