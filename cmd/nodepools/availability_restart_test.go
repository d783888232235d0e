package main

import (
	"syscall"
	"testing"
	"time"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// longOutage is longer than a leader may go without renewing its lease.
const longOutage = 12 * time.Second

// The only API server is killed and started again, with -stress time after time, every second
// time after a long outage. Nodes that join as soon as it serves get what their pool says in
// one write each. The figures are those of many restarts in a row, in which what client-go and
// the controller add to their waits after each failure would show.
func TestAvailabilityOfTheOnlyAPIServer(t *testing.T) {
	cluster.Long(t)
	a, extent := newAvailability(t, cluster.Options{}), availabilityExtent()
	a.lead(a.replica("one", a.c.Config), a.replica("two", a.c.Config))
	var waits []time.Duration
	for round := range extent.rounds {
		a.do(a.c.Halt("kube-apiserver", syscall.SIGKILL))
		a.killed = time.Now()
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
