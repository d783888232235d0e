// Package fleet is what the reconcilers share in memory: the pools, and how far nodes
// follow them. Start with [Fleet].
//
//   - [Fleet.Snapshot] is all pools at one time, as nodes follow them, worked out.
//   - [Fleet.Report] takes what a pass has observed on a node, and [Fleet.Counts]
//     returns what the nodes of a pool come to.
//   - [Fleet.Requests] leads all changes, of pools and of counts, as one stream to the
//     reconcilers that have to follow them, and [Fleet.Follow] from changed pools to
//     the nodes that they may concern.
//
// Time is counted in epochs: each change of a pool begins one. All of it is derived
// from the cluster and can be lost at any time: passes over all nodes bring it back.
package fleet
