// Package guard stands between the controller and the API server. Start with
// [New], put [Guard.Transport] and [Guard.Dial] around the requests of a manager,
// and keep [Guard.Run] running.
//
// A request that writes is sent only while all of these hold; until then it waits:
//
//   - The lease was renewed in time, where there is one (lease.go). A process that was suspended does not write when it resumes.
//   - The history of the cluster is the one that was read: no resource has a lower
//     resourceVersion than one that was seen before (history.go). A control plane
//     that is restored from a backup would otherwise get values that it has lost. It is verified again whenever a connection is made or lost.
//   - The API server answers (watch.go). While it does not, reads wait as well, and
//     it is probed once per second.
//
// What goes past it is the request for a poll of package receiver, which depends on
// nothing that is in memory.
//
// A request that waits does not fail, so its caller neither logs nor backs off,
// and continues at once.
package guard
