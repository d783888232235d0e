// Package adopt proposes pools for nodes that carry labels and taints from scripts
// or by hand, so that a cluster comes under nodepools without a change of what its
// nodes carry. Start with [Propose].
//
// Labels and taints are partitioned twice. A role that nodes have is a pool of
// its name, which has what all of them have in common, and selects its members
// by its role label. Nodes with more than the pools of their roles have are
// grouped by equal roles, labels and taints, and each group is a pool.
//
// Keys that no pool should have are left out: see rules.go. The proposal is
// checked against the plan of the controller: see check.go.
//
// The package is pure: it has no client, no clock and no operating system.
package adopt
