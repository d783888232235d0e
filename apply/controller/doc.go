// Package controller adds the reconcilers to a manager. Start with [Add]. They say when
// a pass is due and what is watched; what becomes of nodes, pools and sources is decided
// by apply/plan.
//
//   - sources: one pass per NodePoolSource and interval. It asks the repository for its
//     revision, and when that is new fetches, loads, plans and applies the NodePools.
//   - nodes: one pass per node that has changed, or that a changed pool may concern. It
//     plans from the node and all pools, and writes at most once.
//   - pools: one pass per NodePool: its RuntimeClass, its finalizer, its status and its
//     events.
//
// The reconcilers meet in the cluster alone. What they share in memory is derived from
// it and can be lost at any time: that is the package fleet.
package controller
