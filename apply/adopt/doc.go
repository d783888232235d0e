// Package adopt proposes pools for nodes that carry labels and taints from scripts
// or by hand, so that a cluster comes under nodepools without a change of what its
// nodes carry. Start with [Propose].
//
// What a node carries is partitioned twice. A role that nodes have is a pool of its
// name, which carries what all of them have in common, and chooses its members as
// pools do by default. Nodes that carry more than the pools of their roles are put
// together where they carry the same roles, labels and taints, and each such group
// is a pool.
//
// Left out is what is not for a pool to have: see rules.go. What is proposed is
// checked against the plan by which the controller writes: see check.go.
//
// The package is pure: it has no client, no clock and no operating system.
package adopt
