package controller

import (
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/nodepools/nodepools/api/crds"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// The API server and etcd end and start again while pools change and others
// write: the loops go on where they were, and nothing is lost. The requests of the
// loops go through a proxy that disturbs nothing, so that they can be counted
// while there is no API server.
func TestFaultRestartOfControlPlane(t *testing.T) {
	cluster.Long(t)
	definitions, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	c := cluster.New(t, cluster.Options{ControllerManager: true, Audit: true, CRDs: definitions})
	w := newFaultWorld(t, c)
	s := newScene(w)
	s.runs()
	away := 2 * time.Second
	signals := []syscall.Signal{syscall.SIGKILL}
	if cluster.Stress() {
		away, signals = 20*time.Second, append(signals, syscall.SIGTERM)
	}
	restart := func(program string, signal syscall.Signal) {
		s.change() // the loops are in the middle of it
		began := time.Now()
		w.do(c.Halt(program, signal))
		halted := time.Now()
		time.Sleep(away)
		seen, elapsed := s.proxy.Seen(halted), time.Since(halted)
		w.do(c.Resume(t.Context(), program))
		s.everyoneTurns()
		s.stands(true)
		s.change()
		s.everyoneTurns()
		s.stands(true)
		asked := map[cluster.Object]int{}
		for _, passage := range seen {
			asked[passage.Object]++
		}
		for object, count := range asked {
			if allowed := allowed(elapsed, http.StatusServiceUnavailable, object) * len(s.pools()); count > allowed {
				t.Errorf("%+v was asked for %d times within %s without %s, want %d at most", object, count, elapsed, program, allowed)
			}
		}
		t.Logf("%s ended by %q: %d requests while it was away for %s; all as it should be after %s", program, signal, len(seen), elapsed, time.Since(began))
	}
	for _, signal := range signals {
		restart("kube-apiserver", signal)
		restart("etcd", signal)
	}
	s.becomesIdle()
	for _, pool := range s.pools() {
		s.remove(pool.Name)
	}
	s.stands(false)
	t.Logf("0 lost of %d changes of the others", 3*s.turns())
}
