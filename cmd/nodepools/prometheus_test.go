package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
	"github.com/nodepools/nodepools/testdata/docs"
	"github.com/nodepools/nodepools/testdata/prometheus"
)

// TestPrometheusAlerts has a real Prometheus scrape the controller, with the token of a
// ServiceAccount, and evaluate the alerts. None fires while all is well; then the causes
// are brought about that there can be in a test, and each alert fires.
func TestPrometheusAlerts(t *testing.T) {
	program := prometheus.Program(t, "prometheus")
	m := newMeasured(t)
	server := m.startPrometheus(program)

	// Two pools of Git, one node each, all well.
	m.node("n1", "gpu")
	m.node("n2", "cpu")
	m.node("n3", "hand")
	m.commit(map[string]string{"gpu.yaml": poolFile("gpu", "runc"), "cpu.yaml": poolFile("cpu", "runc")})
	m.source("fleet", "file://"+m.repository)
	m.labelled("n1", "pool", "gpu")
	m.until("Prometheus knows that all is well", func() error {
		return server.has(`nodepools_status_condition{kind="NodePoolSource",name="fleet",type="Ready",status="True"} == 1 and on() max(nodepools_leader) == 1`)
	})
	m.until("no alert fires", func() error {
		if firing := server.firing(t); len(firing) > 0 {
			return fmt.Errorf("these fire: %v", firing)
		}
		return nil
	})
	for _, expr := range allExpressions(t) {
		if err := server.has(expr); err == nil {
			t.Errorf("all is well, and this is true: %s", expr)
		}
	}

	// A canary that fails has an alert of its own, and a rollout that waits for it has none.
	m.haltsRollout()
	server.fires("NodePoolsRolloutHalted")
	if firing := server.firing(t); !slices.Equal(firing, []string{"NodePoolsRolloutHalted"}) {
		t.Errorf("a rollout is halted, and these fire: %v", firing)
	}

	// The causes: a repository that is gone, all pools gone from Git, a parent that does not
	// exist, a record that was spoiled, and somebody who changes a key again and again.
	m.source("gone", "file://"+filepath.Join(m.t.TempDir(), "nothing"))
	m.do(m.Create(t.Context(), &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "orphan"}, Spec: v1.NodePoolSpec{Parent: "nobody"}}))
	m.patch(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2"}}, `{"metadata":{"annotations":{"`+v1.AppliedAnnotation+`":"?"}}}`)
	m.git("rm", "--quiet", "gpu.yaml", "cpu.yaml")
	m.commit(map[string]string{"other.yaml": poolFile("other", "runc")})
	m.until("somebody fights", func() error {
		m.patch(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, `{"metadata":{"labels":{"pool":"theirs"}}}`)
		return server.has(`nodepools_status_condition{name="gpu",type="Contested",status="True"}`)
	})
	for _, alert := range []string{
		"NodePoolsSourceNotReady", "NodePoolsPruneHeld", "NodePoolsPoolNotReady",
		"NodePoolsNodesFailing", "NodePoolsFighting", "NodePoolsRecordUnreadable",
	} {
		server.fires(alert)
	}
	m.showsEverything(server)
	// What has no cause here does not fire.
	for _, alert := range server.firing(t) {
		if alert == "NodePoolsDown" || alert == "NodePoolsNoLeader" || alert == "NodePoolsCredentialExpiring" || alert == "NodePoolsRolloutStuck" {
			t.Errorf("%s fires without its cause", alert)
		}
	}
	// The repository that has answered so far is gone, too; and a Prometheus that comes with
	// the token of somebody who may not read scrapes nothing.
	m.do(os.Rename(m.repository, m.repository+".away"))
	server.fires("NodePoolsSourceStale")
	m.do(os.WriteFile(server.token, []byte(m.stranger), 0o600))
	server.fires("NodePoolsDown")
}

// haltsRollout has a change of a pool break the first of its two nodes.
func (m *measured) haltsRollout() {
	m.t.Helper()
	ready := func(node string, status corev1.ConditionStatus) {
		m.do(m.Status().Patch(m.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, client.RawPatch(types.StrategicMergePatchType,
			[]byte(`{"status":{"conditions":[{"type":"Ready","status":"`+string(status)+`"}]}}`))))
	}
	one := intstr.FromInt32(1)
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "waves"}, Spec: v1.NodePoolSpec{
		Labels: map[string]v1.LabelValue{"wave": "1"}, Rollout: &v1.Rollout{MaxUnavailable: &one},
	}}
	m.node("w1", "waves")
	m.node("w2", "waves")
	ready("w1", corev1.ConditionTrue)
	ready("w2", corev1.ConditionTrue)
	m.do(m.Create(m.t.Context(), pool))
	m.labelled("w1", "wave", "1")
	m.labelled("w2", "wave", "1")
	came := time.Now()
	m.until("the nodes are older than the change", func() error { // by seconds
		if time.Since(came) < 2*time.Second {
			return errors.New("not yet")
		}
		return nil
	})
	m.patch(pool, `{"spec":{"rollout":{"minReady":"1h"},"labels":{"wave":"2"}}}`)
	m.labelled("w1", "wave", "2")
	ready("w1", corev1.ConditionFalse)
}

// showsEverything waits until each expression of the dashboard returns data.
func (m *measured) showsEverything(server *promServer) {
	m.t.Helper()
	d, err := prometheus.ReadDashboard(filepath.Join(docs.Root(m.t), "examples", "monitoring", "dashboard.json"))
	m.do(err)
	for title, expressions := range d.Expressions() {
		for _, expr := range expressions {
			m.until("the dashboard shows "+title, func() error { return server.has(expr) })
		}
	}
}

func (m *measured) source(name, url string) {
	m.t.Helper()
	m.do(m.Create(m.t.Context(), &v1.NodePoolSource{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1.NodePoolSourceSpec{URL: url, Interval: metav1.Duration{Duration: time.Second}},
	}))
}

// rulesFile returns the alerts of the examples.
func rulesFile(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(docs.Root(t), "examples", "monitoring", "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// allExpressions returns those of all alerts.
func allExpressions(t *testing.T) (all []string) {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []struct {
				Expr string `json:"expr"`
			} `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.Unmarshal([]byte(rulesFile(t)), &file); err != nil {
		t.Fatal(err)
	}
	for _, rule := range file.Groups[0].Rules {
		all = append(all, rule.Expr)
	}
	return all
}

var waits = regexp.MustCompile(`(?m)^    for: \w+$`)

// promServer is a Prometheus that runs.
type promServer struct {
	t       *testing.T
	address string
	// token is the file with the token that it comes with.
	token string
}

// startPrometheus runs Prometheus until the test ends. It scrapes every second, and its
// alerts wait for nothing: how long they wait otherwise is tested by promtool.
func (m *measured) startPrometheus(program string) *promServer {
	t := m.t
	t.Helper()
	dir := t.TempDir()
	address, err := freeAddress()
	m.do(err)
	s := &promServer{t, address, filepath.Join(dir, "token")}
	for name, text := range map[string]string{
		"token":      m.reader,
		"rules.yaml": waits.ReplaceAllString(rulesFile(t), "    for: 0s"),
		"prometheus.yaml": `
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yaml]
scrape_configs:
- job_name: nodepools
  scheme: https
  authorization: {credentials_file: token}
  tls_config: {insecure_skip_verify: true}
  static_configs: [{targets: ['` + m.address + `']}]
`,
	} {
		m.do(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	m.do(err)
	defer log.Close()
	cmd := exec.Command(program, "--config.file", filepath.Join(dir, "prometheus.yaml"),
		"--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", s.address)
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, dir
	m.do(cmd.Start())
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Errorf("stop Prometheus: %v", err)
		}
		if err := cmd.Wait(); err != nil || t.Failed() {
			said, _ := os.ReadFile(log.Name())
			t.Logf("Prometheus: %v\n%s", err, said)
		}
	})
	m.until("Prometheus is ready", func() error { return s.get("/-/ready", nil) })
	return s
}

// get reads what Prometheus answers.
func (s *promServer) get(path string, into any) error {
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.address+path, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, answer.Status)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

// has returns nil when an expression has a value.
func (s *promServer) has(expr string) error {
	var found struct {
		Data struct {
			Result []any `json:"result"`
		} `json:"data"`
	}
	if err := s.get("/api/v1/query?query="+url.QueryEscape(expr), &found); err != nil {
		return err
	}
	if len(found.Data.Result) == 0 {
		return fmt.Errorf("nothing is %s", expr)
	}
	return nil
}

// fires waits until an alert fires.
func (s *promServer) fires(alert string) {
	s.t.Helper()
	cluster.Eventually(s.t, alert+" fires", waitTimeout, func() error {
		if firing := s.firing(s.t); !slices.Contains(firing, alert) {
			return fmt.Errorf("these fire: %v", firing)
		}
		return nil
	})
}

// firing returns the names of the alerts that fire, sorted.
func (s *promServer) firing(t *testing.T) (names []string) {
	t.Helper()
	var found struct {
		Data struct {
			Alerts []struct {
				Labels map[string]string `json:"labels"`
				State  string            `json:"state"`
			} `json:"alerts"`
		} `json:"data"`
	}
	if err := s.get("/api/v1/alerts", &found); err != nil {
		t.Fatal(err)
	}
	for _, alert := range found.Data.Alerts {
		if alert.State == "firing" {
			names = append(names, alert.Labels["alertname"])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
