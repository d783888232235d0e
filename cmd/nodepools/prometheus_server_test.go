package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nodepools/nodepools/testdata/cluster"
	"github.com/nodepools/nodepools/testdata/docs"
)

// alertRule is an alert of the examples.
type alertRule struct {
	Alert string `json:"alert"`
	Expr  string `json:"expr"`
}

// alertRules returns the file of the alerts of the examples, and what is in it.
func alertRules(t *testing.T) (text string, rules []alertRule) {
	t.Helper()
	read, err := os.ReadFile(filepath.Join(docs.Root(t), "examples", "monitoring", "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []alertRule `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.Unmarshal(read, &file); err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Groups {
		rules = append(rules, group.Rules...)
	}
	if len(rules) == 0 {
		t.Fatal("rules.yaml has no alerts")
	}
	return string(read), rules
}

var waits = regexp.MustCompile(`(?m)^    for: \w+$`)

// soon are the alerts without the time that they wait, and with a node that is slow after
// seconds: how long they wait otherwise is tested by promtool.
func soon(t *testing.T) string {
	t.Helper()
	text, rules := alertRules(t)
	const slow = "nodepools_nodes_pending_oldest_seconds) > 300"
	if len(waits.FindAllString(text, -1)) != len(rules) || !strings.Contains(text, slow) {
		t.Fatal("rules.yaml has alerts that wait in another way, or another time after which a node is slow")
	}
	return strings.Replace(waits.ReplaceAllString(text, "    for: 0s"), slow, "nodepools_nodes_pending_oldest_seconds) > 3", 1)
}

// promServer is a Prometheus that runs.
type promServer struct {
	t       *testing.T
	address string
	// token is the file with the token that it comes with.
	token string
	// apart is an alert that may fire beside those that are waited for; empty for none.
	apart string
}

// startPrometheus runs Prometheus until the test ends. It scrapes every second, by TLS and
// with the token of the reader, and its alerts fire [soon].
func (m *measured) startPrometheus(program string) *promServer {
	t := m.t
	t.Helper()
	dir := t.TempDir()
	address, err := freeAddress()
	m.do(err)
	s := &promServer{t: t, address: address, token: filepath.Join(dir, "token")}
	for name, text := range map[string]string{
		"token":      m.reader,
		"rules.yaml": soon(t),
		"prometheus.yaml": `
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yaml]
scrape_configs:
- job_name: nodepools
  scheme: https
  authorization: {credentials_file: token}
  tls_config: {insecure_skip_verify: true}
  static_configs: [{targets: ['` + m.address + `']}]
` + m.discovery(),
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

// fire waits until just these alerts fire.
func (s *promServer) fire(what string, alerts ...string) {
	s.t.Helper()
	slices.Sort(alerts)
	cluster.Eventually(s.t, what, waitTimeout, func() error {
		if firing := s.firing(s.t); !slices.Equal(firing, alerts) {
			return fmt.Errorf("these fire: %v, and not just %v", firing, alerts)
		}
		return nil
	})
}

// firing returns the names of the alerts that fire, sorted; without those of apart.
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
		if alert.State == "firing" && alert.Labels["alertname"] != s.apart {
			names = append(names, alert.Labels["alertname"])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
