package controller

import (
	"errors"
	"testing"
	"time"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// Whatever happens to the requests of the loops while pools and nodes change,
// nothing of the others is lost, what the pools want is there in the end, and
// then all is quiet.
func TestFaultOfEveryKind(t *testing.T) {
	cluster.Long(t)
	w := newFaultWorld(t, cluster.Shared(t))
	s := newScene(w)
	s.runs()
	rounds := 1
	if cluster.Stress() {
		rounds = 5
	}
	cut := func(do func(...string) int) func() {
		return func() {
			for range rounds {
				s.eventually("watches were cut", func() error {
					if do() == 0 {
						return errors.New("none runs")
					}
					return nil
				})
				s.everyoneTurns()
			}
		}
	}
	for _, tc := range []struct {
		name, reason string
		faults       []cluster.Fault
		also         func()
	}{
		{"request dropped", "the write has not happened", []cluster.Fault{{OnlyWrites: true, DropRequest: true}}, nil},
		{"answer dropped", "the write has happened, and the loops do not know", []cluster.Fault{{OnlyWrites: true, DropAnswer: true}}, nil},
		{"everything dropped", "the loops are cut off, watches too", []cluster.Fault{{DropRequest: true}}, func() { w.proxy.CloseConnections() }},
		{"delayed", "what was planned is old when it is written", []cluster.Fault{{OnlyWrites: true, Delay: 300 * time.Millisecond}}, nil},
		{"answered 404", "nodes seem to be gone, and are not", []cluster.Fault{{OnlyWrites: true, Resources: []string{"nodes"}, Code: 404}}, nil},
		{"answered 409", "nobody else has written", []cluster.Fault{{OnlyWrites: true, Code: 409}}, nil},
		{"answered 429", "the API server has too much to do", []cluster.Fault{{Code: 429, RetryAfter: 1}}, nil},
		{"answered 500", "the API server is ill", []cluster.Fault{{Code: 500}}, nil},
		{"answered 503", "the API server is not there", []cluster.Fault{{Code: 503}}, nil},
		{"watches cut", "the caches have to catch up", nil, cut(w.proxy.CutWatches)},
		{"watches cut midway", "half an event is none", nil, cut(w.proxy.CutWatchesMidway)},
	} {
		went := t.Run(tc.name, func(t *testing.T) {
			outer := s.t
			s.in(t)
			defer s.in(outer)
			began := time.Now()
			s.proxy.Disturb(tc.faults...)
			s.change()
			s.everyoneTurns()
			if tc.also != nil {
				tc.also()
			}
			if len(tc.faults) > 0 {
				s.disturbed(began, sceneSize)
			}
			s.change()
			s.everyoneTurns()
			s.proxy.Disturb()
			s.stands(true)
			if cluster.Stress() {
				s.becomesIdle()
			}
		})
		if !went {
			t.Fatalf("the case is there because %s; what comes after it would only fail as well", tc.reason)
		}
	}
	s.becomesIdle()
	s.everyoneTurns()
	s.stands(true)
	for _, pool := range s.pools() {
		s.remove(pool.Name)
	}
	s.stands(false)
	t.Logf("0 lost of %d changes of the others", 3*s.turns())
}
