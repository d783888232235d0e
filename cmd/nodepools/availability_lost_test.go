package main

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// Of two API servers behind a balancer, the one that both replicas are connected to is
// lost, and nobody ends the connections that lead there. Nodes that join get what their
// pool says, by the other API server, in one write each and from one replica; what was on
// the way does no harm when it arrives. The replicas are new each time: to one that has
// lost connections before, within two minutes, client-go adds ever longer waits.
func TestAvailabilityOfALostAPIServer(t *testing.T) {
	cluster.Long(t)
	a, extent := newAvailability(t, cluster.Options{}), availabilityExtent()
	second, _, err := a.c.AddAPIServer(t.Context())
	a.do(err)
	a.follow(second)
	var waits []time.Duration
	for round := range extent.rounds {
		one := a.replica(fmt.Sprint("one-", round), a.c.Config, second)
		a.lead(one, a.replica(fmt.Sprint("two-", round), a.c.Config, second))
		a.connectTo(second)
		for _, r := range a.replicas {
			r.line.Lose(second)
		}
		names := a.join(a.Client, extent.nodes)
		waits = append(waits, a.awaitRight(names)...)
		t.Log(a.eachInOneWrite(names))
		a.noteWriter(names)
		for _, r := range a.replicas {
			r.line.Find(second)
		}
		if round < extent.rounds-1 {
			a.stop()
		}
	}
	show(t, serverLost, waits)
	a.check()
}

// connectTo has all connections of the replicas lead to one of two API servers.
func (a *availability) connectTo(server *rest.Config) {
	a.t.Helper()
	for _, r := range a.replicas {
		r.line.Lose(a.c.Config)
		r.line.Drop()
	}
	a.awaitRight(a.join(a.Client, 1)) // the leader follows nodes there
	a.until("the replicas are connected to one API server", func() error {
		for _, r := range a.replicas {
			if !r.line.IsOn(server) {
				return fmt.Errorf("%s is connected to %v", r.user, r.line.Open())
			}
		}
		return nil
	})
	for _, r := range a.replicas {
		r.line.Find(a.c.Config)
	}
}

// noteWriter notes which of the replicas has written nodes: the leader, or the other one
// where that was faster to be back.
func (a *availability) noteWriter(names []string) {
	a.t.Helper()
	wrote := map[string]int{}
	for _, write := range a.nodeWrites(names) {
		wrote[write.User]++
	}
	if len(wrote) > 1 {
		a.t.Errorf("both replicas have written: %v", wrote)
	}
	if wrote[a.replicas[0].user] == 0 {
		a.takeOver()
	}
	a.t.Logf("%v of %d nodes", wrote, len(names))
}
