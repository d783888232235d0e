package main

import (
	"testing"
	"time"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// joinExtent is how often something fails, and how many nodes join each time.
type joinExtent struct{ rounds, nodes int }

// availabilityExtent is that of make test, of make stress and of make availability.
func availabilityExtent() joinExtent {
	switch {
	case *figures:
		return joinExtent{rounds: 10, nodes: 20}
	case cluster.Stress():
		return joinExtent{rounds: 4, nodes: 20}
	default:
		return joinExtent{rounds: 1, nodes: 10}
	}
}

// A leader cannot reach the API server any more, and nothing tells it so: requests are
// sent, and not answered. Other times it is killed, or stopped in order. Each time, nodes
// join just then. They get what their pool says from the other replica when the lease is
// free, in one write each; what the leader still had on the way when it was cut off does
// no harm when it arrives. By the audit log, the two never write at the same time.
func TestAvailabilityOfReplicas(t *testing.T) {
	cluster.Long(t)
	a, extent := newAvailability(t, cluster.Options{}), availabilityExtent()
	a.lead(a.replica("one", a.c.Config), a.replica("two", a.c.Config))
	show(t, nothingFails, a.oneByOne(extent.nodes))
	again := func(situation string, fail func(count int) []time.Duration) {
		t.Helper()
		var waits []time.Duration
		for range extent.rounds {
			waits = append(waits, fail(extent.nodes)...)
		}
		show(t, situation, waits)
	}
	again(leaderCutOff, a.cutOff)
	again(leaderStopped, a.endLeader(func(p *process) { p.stop(t) }))
	again(leaderKilled, a.endLeader((*process).kill))
	t.Log(a.eachInOneWrite(a.nodes))
	a.check()
}

// cutOff cuts the leader off while nodes join, and lets nodes join. When they are right
// it is connected again, and stands by.
func (a *availability) cutOff(count int) (waits []time.Duration) {
	a.t.Helper()
	leader := a.replicas[0]
	sessions := leader.sessions()
	before := a.join(a.Client, 5) // writes of these are on their way
	leader.line.Cut()
	names := a.join(a.Client, count)
	waits = a.awaitRight(names)
	a.awaitRight(before)
	a.takeOver()
	mark := a.mark()
	leader.line.Mend()
	a.standsBy(mark, sessions)
	return waits
}

// endLeader ends the leader, and lets nodes join. When they are right it is started again,
// and stands by.
func (a *availability) endLeader(end func(*process)) func(count int) []time.Duration {
	return func(count int) []time.Duration {
		a.t.Helper()
		leader := a.replicas[0].process
		end(leader)
		waits := a.awaitRight(a.join(a.Client, count))
		if err := leader.sound(); err != nil {
			a.t.Error(err)
		}
		a.takeOver()
		a.startStandby()
		return waits
	}
}
