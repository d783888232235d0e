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

// The controller starts while the API server is away: it says so in one line, waits, and
// works when the API server serves. Another one, told to end while it waits, ends at once.
// A leader goes on after an outage that is longer than its lease lasts, as nobody can take
// the lease meanwhile, and ends when it is told to while it waits.
func TestFaultAPIServerAwayAtTheStart(t *testing.T) {
	cluster.Long(t)
	quietLibraries()
	definitions, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	c := cluster.New(t, cluster.Options{CRDs: definitions})
	s := newStory(t, c)
	s.node("n", "shared")
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "shared"}, Spec: v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"turn": "0"}}}
	s.do(s.Create(t.Context(), pool))
	start := func() *process {
		p := runController(t, c.Kubeconfig(), t.TempDir(), "--leader-elect", "--leader-election-namespace", "default")
		t.Cleanup(p.kill)
		return p
	}
	says := func(p *process, text string, count int) {
		t.Helper()
		s.until(fmt.Sprintf("the log has %q %d times", text, count), func() error {
			if got := strings.Count(p.log.String(), text); got != count {
				return fmt.Errorf("%d times:\n%s", got, p.log.String())
			}
			return nil
		})
	}
	endsAtOnce := func(p *process) {
		t.Helper()
		told := time.Now()
		p.stop(t)
		if took := time.Since(told); took > 5*time.Second {
			t.Errorf("it has ended %s after it was told to", took)
		}
	}
	const waits = "the controller starts when it does"

	s.do(c.Halt("kube-apiserver", syscall.SIGKILL))
	p, told := start(), start()
	says(p, waits, 1)
	says(told, waits, 1)
	endsAtOnce(told)
	s.do(c.Resume(t.Context(), "kube-apiserver"))
	s.allLabelled([]string{"n"}, "turn", "0")

	s.do(c.Halt("kube-apiserver", syscall.SIGKILL))
	time.Sleep(15 * time.Second) // longer than the lease lasts, which nobody can take
	s.do(c.Resume(t.Context(), "kube-apiserver"))
	s.patch(pool, `{"spec":{"labels":{"turn":"1"}}}`)
	back := time.Now()
	s.allLabelled([]string{"n"}, "turn", "1")
	if took := time.Since(back); took > 10*time.Second {
		t.Errorf("the node has followed %s after the API server was back", took)
	}
	if strings.Contains(p.log.String(), "replaces itself") {
		t.Errorf("it has replaced itself, though nobody took its lease:\n%s", p.log.String())
	}

	s.do(c.Halt("kube-apiserver", syscall.SIGKILL))
	says(p, "nothing is read or written until it does", 2)
	endsAtOnce(p)
}
