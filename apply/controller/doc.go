// Package controller runs the loops: it says when to look and what to watch,
// and nothing of what to do. Start with [Add], which adds them to a manager.
//
//   - The source loop, one pass per NodePoolSource and interval: asks the
//     repository for its revision, and when that is new fetches, loads, plans and
//     applies the NodePools.
//   - The node loop, one pass per node that changed, or that a changed pool may
//     concern: plans from the node and all pools, and writes at most once.
//   - The pool loop, one pass per NodePool: its RuntimeClass, its finalizer, its
//     status and its events.
//
// The loops meet in the cluster alone. What they share in memory is derived
// from it and can be lost at any time: the pools worked out ([render.Expansion])
// and the figures that statuses tell (see tally.go).
package controller
