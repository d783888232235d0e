package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodepools/nodepools/api/crds"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// The API server goes away while nodes are written, by a crash and as behind a
// network that swallows everything. However many nodes wait, one line says that it
// is away and one that it is back, and then all is carried out without the controller
// having to begin anew.
func TestFaultAPIServerAway(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	quietLibraries()
	definitions, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	c := cluster.New(t, cluster.Options{CRDs: definitions})
	s := newStory(t, c)
	var names []string
	for i := range 200 {
		names = append(names, fmt.Sprintf("n%d", i))
		s.node(names[i], "shared")
	}
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "shared"}, Spec: v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"turn": "0"}}}
	s.do(s.Create(t.Context(), pool))
	proxy, err := c.Proxy(c.Config)
	s.do(err)
	t.Cleanup(func() { s.do(proxy.Close()) })
	kubeconfig, err := c.WriteKubeconfig(proxy.Config)
	s.do(err)
	p := runController(t, kubeconfig, t.TempDir(), "--leader-elect", "--leader-election-namespace", "default")
	t.Cleanup(p.kill)
	s.allLabelled(names, "turn", "0")

	away := func(leave, comeBack func()) {
		t.Helper()
		lost := strings.Count(p.log.String(), isAway)
		leave()
		s.until("it is noticed that the API server is away", func() error {
			if strings.Count(p.log.String(), isAway) == lost {
				return fmt.Errorf("no line says so")
			}
			return nil
		})
		comeBack()
	}
	crash := func() { s.do(c.Halt("kube-apiserver", syscall.SIGKILL)) }
	restart := func() { s.do(c.Resume(t.Context(), "kube-apiserver")) }
	var hold chan struct{}
	swallow := func() {
		hold = make(chan struct{})
		proxy.Disturb(cluster.Fault{Hold: hold, HoldAnswer: hold})
	}
	pass := func() { proxy.Disturb(); close(hold) }
	outages := []struct{ leave, comeBack func() }{{crash, restart}, {swallow, pass}, {crash, restart}}
	for turn, outage := range outages {
		s.patch(pool, fmt.Sprintf(`{"spec":{"labels":{"turn":"%da"}}}`, turn)) // is under way
		away(outage.leave, outage.comeBack)
		back := time.Now()
		s.patch(pool, fmt.Sprintf(`{"spec":{"labels":{"turn":"%db"}}}`, turn))
		s.allLabelled(names, "turn", fmt.Sprintf("%db", turn))
		t.Logf("all nodes have followed %s after the API server was back", time.Since(back).Round(time.Millisecond))
	}
	p.stop(t)
	log := p.log.String()
	for text, want := range map[string]int{
		isAway: len(outages), "the API server answers again": len(outages),
		"level=error": len(outages), "Attempting to acquire leader lease": 1,
	} {
		if got := strings.Count(log, text); got != want {
			t.Errorf("%d lines with %q, want %d", got, text, want)
		}
	}
	if t.Failed() {
		t.Log(log)
	}
}

const isAway = "the API server does not answer"
