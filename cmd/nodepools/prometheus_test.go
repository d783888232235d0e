package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
	"github.com/nodepools/nodepools/testdata/docs"
	"github.com/nodepools/nodepools/testdata/prometheus"
	"github.com/nodepools/nodepools/testdata/thirdparty"
)

// watched is an installation whose metrics a Prometheus scrapes.
type watched struct {
	*measured
	server *promServer
}

// TestPrometheusAlerts has a real Prometheus scrape the controller by TLS, with the token of a
// ServiceAccount, and evaluate the alerts. None fires while all is well. Then the cause of each
// is brought about: just the alert of the cause fires, with those that have the same cause,
// and none when it is mended. While most is going on, each expression of the dashboard returns
// data.
func TestPrometheusAlerts(t *testing.T) {
	cluster.Long(t)
	program := thirdparty.Program(t, "prometheus")
	m := newMeasured(t)
	install(t, m.c, "--rollout") // rights to evict
	w := &watched{m, m.startPrometheus(program)}

	w.findsPods()

	w.node("n1", "gpu")
	w.node("n2", "cpu")
	w.commit(map[string]string{"gpu.yaml": poolFile("gpu", "runc"), "cpu.yaml": poolFile("cpu", "runc")})
	w.source("fleet", "file://"+w.repository)
	w.labelled("n1", "pool", "gpu")
	// Somebody changes a key once, which is put back, and raises no alert.
	w.label("n1", "pool", "theirs")
	w.labelled("n1", "pool", "gpu")
	w.until("Prometheus knows that all is well", func() error {
		return w.server.has(`nodepools_status_condition{kind="NodePoolSource",name="fleet",type="Ready",status="True"} == 1 and on() max(nodepools_leader) == 1 and on() nodepools_drift_repairs_total == 1`)
	})
	w.server.fire("no alert fires")
	_, rules := alertRules(t)
	for _, rule := range rules {
		if err := w.server.has(rule.Expr); err == nil {
			t.Errorf("all is well, and this is true: %s", rule.Expr)
		}
	}

	// A rollout that waits raises no alert before its deadline, which is a minute at least:
	// the other causes come and go meanwhile.
	late := w.rolloutIsLate()
	w.until("Prometheus knows that a rollout waits", func() error {
		return w.server.has(`nodepools_status_condition{name="late",type="Ready",reason="WaitingForBudget"}`)
	})
	w.server.fire("no alert fires while a rollout waits")
	w.server.apart = "NodePoolsRolloutStuck"
	fired := map[string]bool{w.server.apart: true}
	for _, cause := range w.causes() {
		began := time.Now()
		mend := cause.happens()
		w.server.fire(cause.name, cause.alerts...)
		mend()
		w.server.fire("no alert fires any more after " + cause.name)
		t.Logf("%s: %v, %s", cause.name, cause.alerts, time.Since(began).Round(time.Second))
		for _, alert := range cause.alerts {
			fired[alert] = true
		}
	}
	w.server.apart = ""
	w.server.fire("a rollout is late", "NodePoolsRolloutStuck")
	w.showsEverything()
	late()
	w.server.fire("no alert fires any more after the rollout has gone on")
	w.until("an eviction is counted for the pool", func() error {
		return w.server.has(`nodepools_evictions_total{pool="late",result="success"} > 0`)
	})
	mend := w.drainObstructed()
	w.server.fire("a taint keeps nodes from being drained", "NodePoolsRolloutStuck")
	mend()
	w.server.fire("no alert fires any more after the taint is gone")
	for _, rule := range rules {
		if !fired[rule.Alert] {
			t.Errorf("%s has not fired: there is no cause of it here", rule.Alert)
		}
	}
}

// showsEverything waits until each expression of the dashboard returns data.
func (w *watched) showsEverything() {
	w.t.Helper()
	d, err := prometheus.ReadDashboard(filepath.Join(docs.Root(w.t), "examples", "monitoring", "dashboard.json"))
	w.do(err)
	for title, expressions := range d.Expressions() {
		for _, expr := range expressions {
			w.until("the dashboard shows "+title, func() error { return w.server.has(expr) })
		}
	}
}

// token has Prometheus come with another token.
func (w *watched) token(token string) { w.do(os.WriteFile(w.server.token, []byte(token), 0o600)) }

func (w *watched) source(name, url string, change ...func(*v1.NodePoolSource)) {
	w.t.Helper()
	source := &v1.NodePoolSource{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1.NodePoolSourceSpec{URL: url, Interval: metav1.Duration{Duration: time.Second}},
	}
	for _, change := range change {
		change(source)
	}
	w.do(w.Create(w.t.Context(), source))
}

// poll has a source polled at once, however long it has failed.
func (w *watched) poll(source string) {
	w.t.Helper()
	w.patch(&v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: source}},
		fmt.Sprintf(`{"metadata":{"annotations":{%q:"%d"}}}`, v1.RequestedAtAnnotation, time.Now().UnixNano()))
}
