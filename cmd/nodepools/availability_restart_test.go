package main

import (
	"syscall"
	"testing"
	"time"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// longOutage is longer than a leader may go without renewing its lease.
const longOutage = 12 * time.Second

// The only API server is killed and started again, time after time, every second time after a long outage. Nodes that join as soon
// as it serves get what their pool says in one write each, and no later after many restarts
// than after the first: neither what client-go adds to its waits each time nor what the
// controller adds to its own keeps them waiting.
func TestAvailabilityOfTheOnlyAPIServer(t *testing.T) {
	a, extent := newAvailability(t, cluster.Options{}), availabilityExtent()
	a.lead(a.replica("one", a.c.Config), a.replica("two", a.c.Config))
	var waits []time.Duration
	for round := range extent.rounds {
		a.do(a.c.Halt("kube-apiserver", syscall.SIGKILL))
		if round%2 == 1 {
			time.Sleep(longOutage)
		}
		a.do(a.c.Resume(t.Context(), "kube-apiserver"))
		names := a.join(a.Client, extent.nodes)
		waits = append(waits, a.awaitRight(names)...)
		t.Log(a.eachInOneWrite(names))
	}
	show(t, onlyServerRestarted, waits)
	a.check()
}
