// Package metrics makes the metrics of the controller. [New] returns one collector for
// the life of a process; [Definitions] lists what it collects, for who documents it.
//
//   - What stands in memory is read when it is scraped, by [Metrics.Follow] from the
//     caches of a manager: nothing is kept for it, and nothing has to be cleaned up when a
//     pool is gone.
//   - What only an event can say is counted as it happens, by methods such as
//     [Metrics.NodeWritten].
//
// Of the state of the cluster only the instance reports that works, so that the sum over
// replicas is right. No label has the name of a node. All methods may be called at the
// same time, and on a nil pointer, which counts nothing.
package metrics
