package main

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodepools/nodepools/api/crds"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// The API server goes away while nodes are written, by a crash and as behind a
// network that swallows everything. However many nodes wait, one line says that it
// is away and one that it is back, and then all is carried out without the controller
// having to begin anew. No node has to wait for a repetition that was put off while the
// API server was away: no more passes fail than were under way when it went.
func TestFaultAPIServerAway(t *testing.T) {
	cluster.Long(t)
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
	metrics, err := freeAddress()
	s.do(err)
	p := runController(t, kubeconfig, t.TempDir(), "--leader-elect", "--leader-election-namespace", "default", "--metrics-bind-address", metrics)
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
		before := failedPasses(t, metrics)
		s.patch(pool, fmt.Sprintf(`{"spec":{"labels":{"turn":"%da"}}}`, turn)) // is under way
		away(outage.leave, outage.comeBack)
		back := time.Now()
		s.patch(pool, fmt.Sprintf(`{"spec":{"labels":{"turn":"%db"}}}`, turn))
		s.allLabelled(names, "turn", fmt.Sprintf("%db", turn))
		failed := failedPasses(t, metrics) - before
		t.Logf("all nodes have followed %s after the API server was back; %d passes over nodes have failed", time.Since(back).Round(time.Millisecond), failed)
		if failed > controller.DefaultConcurrency {
			t.Errorf("%d passes over nodes have failed, and at most %d were under way", failed, controller.DefaultConcurrency)
		}
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

// failedPasses is how many passes over nodes have ended in an error: each has its node wait.
func failedPasses(t *testing.T, address string) int {
	t.Helper()
	response, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^controller_runtime_reconcile_errors_total\{controller="node"\} (\d+)$`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("the metrics do not say how many passes over nodes have failed:\n%.2000s", text)
	}
	failed, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return failed
}

const isAway = "the API server does not answer"
