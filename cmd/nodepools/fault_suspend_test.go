package main

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodepools/nodepools/api/crds"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// A leader is suspended in the middle of its writes, until another instance has
// taken the lease and written something else. When it continues it writes nothing,
// and stands by. By the audit log of the API server.
func TestFaultSuspendedLeader(t *testing.T) {
	cluster.Long(t)
	quietLibraries()
	definitions, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	c := cluster.New(t, cluster.Options{Audit: true, CRDs: definitions})
	s := newStory(t, c)
	var names []string
	for i := range 300 {
		names = append(names, fmt.Sprintf("n%d", i))
		s.node(names[i], "shared")
	}
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "shared"}, Spec: v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"turn": "0"}}}
	s.do(s.Create(t.Context(), pool))
	change := func(turn string) { s.patch(pool, fmt.Sprintf(`{"spec":{"labels":{"turn":%q}}}`, turn)) }

	old := startInstance(t, c, "old")
	s.allLabelled(names, "turn", "0")
	heir := startInstance(t, c, "heir")
	asks := func(user string, since time.Time) {
		t.Helper()
		s.until(user+" stands by", func() error {
			if len(requestsOf(t, c, user, since, "get leases")) == 0 {
				return fmt.Errorf("%s does not ask for the lease", user)
			}
			return nil
		})
	}
	asks("heir", time.Time{})
	mark := time.Now()
	change("1")
	s.until("the leader writes", func() error {
		if len(requestsOf(t, c, "old", mark, "patch nodes")) < 10 {
			return fmt.Errorf("it has not begun")
		}
		return nil
	})
	s.do(old.cmd.Process.Signal(syscall.SIGSTOP))
	stopped := len(requestsOf(t, c, "old", mark, "patch nodes"))
	s.allLabelled(names, "turn", "1")
	change("2")
	s.allLabelled(names, "turn", "2")

	continued := time.Now()
	s.do(old.cmd.Process.Signal(syscall.SIGCONT))
	change("3")
	s.allLabelled(names, "turn", "3")
	asks("old", continued)
	heir.stop(t) // gives the lease back
	s.until("the old leader leads again", func() error {
		if len(requestsOf(t, c, "old", continued, "update leases")) == 0 {
			return fmt.Errorf("it does not hold the lease")
		}
		return nil
	})
	leads := requestsOf(t, c, "old", continued, "update leases")[0].Received
	for _, request := range cluster.WritesBy("old", audit(t, c)) {
		// A request that was on its way when the process was suspended is torn when it
		// goes on, and the API server answers the half that it has with an error.
		if request.Received.After(continued) && request.Received.Before(leads) && request.Code < http.StatusBadRequest {
			t.Errorf("written by the old leader before it held the lease again: %s", request)
		}
	}
	change("4")
	s.allLabelled(names, "turn", "4")
	old.stop(t)
	t.Logf("suspended after %d of %d nodes", stopped, len(names))
	t.Log(old.log.String())
}

// startInstance starts a controller as a user of its own, by whom the audit log
// knows it.
func startInstance(t *testing.T, c *cluster.Cluster, user string) *process {
	t.Helper()
	config, err := c.AddUser(user, "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := c.WriteKubeconfig(config)
	if err != nil {
		t.Fatal(err)
	}
	p := runController(t, kubeconfig, t.TempDir(), "--leader-elect", "--leader-election-namespace", "default")
	t.Cleanup(p.kill)
	return p
}

func audit(t *testing.T, c *cluster.Cluster) []cluster.Request {
	t.Helper()
	requests, err := c.Audit(0)
	if err != nil {
		t.Fatal(err)
	}
	return requests
}

// requestsOf are the requests of a user since a time that are about something: "patch
// nodes".
func requestsOf(t *testing.T, c *cluster.Cluster, user string, since time.Time, about string) []cluster.Request {
	t.Helper()
	var found []cluster.Request
	for _, request := range audit(t, c) {
		if request.User == user && request.Received.After(since) && request.Verb+" "+request.Object.Resource == about {
			found = append(found, request)
		}
	}
	return found
}
