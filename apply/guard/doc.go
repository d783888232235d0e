// Package guard stands between the controller and the API server. Start with
// [New], put [Guard.Transport] and [Guard.Dial] around the requests of a manager,
// and keep [Guard.Run] running.
//
// A request that writes is sent only while all of these hold; until then it waits:
//
//   - The lease was renewed within its time, where there is one (lease.go). A process
//     that was suspended does not write when it continues.
//   - The history of the cluster is the one that was read: no resource has a lower
//     resourceVersion than one that was seen before (history.go). A control plane
//     that is restored from a backup would else get values that it has lost. It is
//     verified anew whenever a connection is made or lost.
//   - The API server answers (watch.go). While it does not, reads wait as well, and
//     one request in a second asks whether it is back.
//
// What waits does not fail, so it neither logs nor backs off, and goes on at once.
package guard
