package examples

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/nodepools/nodepools/api/manifests"
	"github.com/nodepools/nodepools/apply/metrics"
	"github.com/nodepools/nodepools/testdata/docs"
	"github.com/nodepools/nodepools/testdata/thirdparty"
)

var update = flag.Bool("update", false, "write the golden files anew")

// runbooks is where the alerts say what to do.
const runbooks = "https://github.com/nodepools/nodepools/blob/main/docs/runbooks.md#"

// ruleFile is what is in a file of rules that is looked at.
type ruleFile struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []rule `json:"rules"`
	} `json:"groups"`
}

type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func monitoring(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("monitoring", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// alerts returns the alerts of rules.yaml, by name.
func alerts(t *testing.T) map[string]rule {
	t.Helper()
	var file ruleFile
	if err := yaml.UnmarshalStrict(monitoring(t, "rules.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	all := map[string]rule{}
	for _, group := range file.Groups {
		for _, r := range group.Rules {
			all[r.Alert] = r
		}
	}
	if len(all) < 10 {
		t.Fatalf("%d alerts were found: the test does not find what there is", len(all))
	}
	return all
}

// prometheusRuleHead is what the Prometheus Operator wants around the groups of rules.yaml.
const prometheusRuleHead = `# The alerts of rules.yaml for the Prometheus Operator. Made of that file; change it there:
# go test ./examples -update
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: nodepools
  namespace: nodepools-system
  labels:
    app.kubernetes.io/name: nodepools
spec:
`

// The PrometheusRule has the alerts of rules.yaml, word for word.
func TestPrometheusRuleIsMadeOfTheRules(t *testing.T) {
	_, groups, found := strings.Cut(string(monitoring(t, "rules.yaml")), "\ngroups:\n")
	if !found {
		t.Fatal("rules.yaml has no groups")
	}
	want := prometheusRuleHead + "  groups:\n"
	for line := range strings.Lines(groups) {
		want += "  " + line
	}
	if *update {
		if err := os.WriteFile(filepath.Join("monitoring", "prometheusrule.yaml"), []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, string(monitoring(t, "prometheusrule.yaml"))); diff != "" {
		t.Errorf("-want +got; go test ./examples -update:\n%s", diff)
	}
	var made struct {
		Spec any `json:"spec"`
	}
	var source any
	if err := yaml.Unmarshal(monitoring(t, "prometheusrule.yaml"), &made); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(monitoring(t, "rules.yaml"), &source); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(source, made.Spec); diff != "" {
		t.Errorf("the rules differ from those of the PrometheusRule:\n%s", diff)
	}
}

// Each alert leads to a section about it, says how grave it is, and waits before it fires.
func TestAlertsLeadToRunbooks(t *testing.T) {
	anchors := map[string]bool{}
	for _, heading := range docs.Read(t, "docs/runbooks.md").Content().Headings {
		anchors[heading.Anchor] = true
	}
	all := alerts(t)
	for name, alert := range all {
		anchor, ours := strings.CutPrefix(alert.Annotations["runbook_url"], runbooks)
		if !ours || !anchors[anchor] || anchor != strings.ToLower(name) {
			t.Errorf("%s leads to %q, which is no section about it", name, alert.Annotations["runbook_url"])
		}
		if severity := alert.Labels["severity"]; severity != "critical" && severity != "warning" {
			t.Errorf("%s has the severity %q", name, severity)
		}
		if alert.For == "" || alert.Annotations["summary"] == "" || alert.Annotations["description"] == "" {
			t.Errorf("%s does not wait, or does not say what it is about: %+v", name, alert)
		}
	}
	for _, heading := range docs.Read(t, "docs/runbooks.md").Content().Headings {
		if _, known := all[heading.Text]; heading.Level == 2 && !known {
			t.Errorf("the runbook has a section %q, and there is no such alert", heading.Text)
		}
	}
}

var (
	metricName = regexp.MustCompile(`nodepools_[a-z_]+`)
	labelMatch = regexp.MustCompile(`([a-z_]+)(?:=|!=|=~|!~)"`)
)

// Alerts read metrics that there are, by labels that these have.
func TestAlertsReadMetricsThatExist(t *testing.T) {
	labels := map[string][]string{}
	for _, definition := range metrics.Definitions() {
		labels[definition.Name] = definition.Labels
	}
	for name, alert := range alerts(t) {
		read := metricName.FindAllString(alert.Expr, -1)
		if len(read) == 0 {
			t.Errorf("%s reads no metric of nodepools", name)
		}
		for _, metric := range read {
			if _, known := labels[metric]; !known {
				t.Errorf("%s reads %s, which there is not", name, metric)
			}
		}
		for _, match := range labelMatch.FindAllStringSubmatch(alert.Expr, -1) {
			if len(read) == 1 && !slices.Contains(labels[read[0]], match[1]) {
				t.Errorf("%s selects %s by %s, which it does not have", name, read[0], match[1])
			}
		}
	}
}

// Reasons of Ready that no alert leaves out: what has them for long is an alert of pools or
// sources that are not ready. The others are of other conditions, or of none that is not True.
var (
	notReadyForLong = []string{
		"Progressing", "Releasing", "Conflict", "ParentInvalid", "SelectorInvalid", "RuntimeClassFailed", "ReleaseBlocked",
		"Invalid", "Claimed", "WaitingForSource", "NotOwned", "ApplyFailed", "Deleting",
	}
	notOfReady = []string{
		"Succeeded", "KubeletLabels", "NamePatterns", "Acknowledged", "Protected", "WebhookDisabled", "PruneApproved", "ReleaseApproved",
	}
	definedReason = regexp.MustCompile(`\t\w+Reason += "(\w+)"`)
)

// Each reason either raises the alert of what is not ready, or is left out of it: as it is
// meant to last, or has an alert of its own.
func TestReasonsRaiseOneAlert(t *testing.T) {
	code, err := os.ReadFile(filepath.Join(docs.Root(t), "api", "v1", "reasons.go"))
	if err != nil {
		t.Fatal(err)
	}
	all := alerts(t)
	var leftOut []string
	for _, name := range []string{"NodePoolsPoolNotReady", "NodePoolsSourceNotReady"} {
		_, list, found := strings.Cut(all[name].Expr, `reason!~"`)
		list, _, ends := strings.Cut(list, `"`)
		if !found || !ends {
			t.Fatalf("%s leaves out no reason: %s", name, all[name].Expr)
		}
		leftOut = append(leftOut, strings.Split(list, "|")...)
	}
	reasons := definedReason.FindAllStringSubmatch(string(code), -1)
	if len(reasons) < 30 {
		t.Fatalf("%d reasons were found: the test does not find what there is", len(reasons))
	}
	for _, reason := range reasons {
		places := 0
		for _, list := range [][]string{leftOut, notReadyForLong, notOfReady} {
			if slices.Contains(list, reason[1]) {
				places++
			}
		}
		if places != 1 {
			t.Errorf("%s is in %d lists, want one: those of the alerts of what is not ready, of what they leave out, or of other conditions", reason[1], places)
		}
	}
}

// Of each alert there is a case in which it fires, and one in which it does not.
func TestAlertsHaveUnitTests(t *testing.T) {
	var file struct {
		Tests []struct {
			Name  string `json:"name"`
			Cases []struct {
				Alert    string `json:"alertname"`
				Expected []any  `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		} `json:"tests"`
	}
	if err := yaml.Unmarshal(monitoring(t, "rules_test.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	fires, silent, well := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i, test := range file.Tests {
		for _, c := range test.Cases {
			switch {
			case len(c.Expected) > 0:
				fires[c.Alert] = true
			case i == 0:
				well[c.Alert] = true
			default:
				silent[c.Alert] = true
			}
		}
	}
	for name := range alerts(t) {
		if !fires[name] || !silent[name] || !well[name] {
			t.Errorf("%s: fires in its cause %t, not before %t, not when all is well %t", name, fires[name], silent[name], well[name])
		}
	}
}

// promtool runs the unit tests of the alerts, and takes the rules and the configuration.
func TestPromtoolTakesTheRules(t *testing.T) {
	promtool := thirdparty.Program(t, "promtool")
	for _, args := range [][]string{
		{"check", "rules", "rules.yaml"},
		{"test", "rules", "rules_test.yaml"},
		{"check", "config", "--syntax-only", "prometheus.yaml"},
	} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = "monitoring"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	// A test that cannot fail holds nothing: with another time an alert is late.
	dir := t.TempDir()
	for name, text := range map[string]string{
		"rules.yaml":      strings.ReplaceAll(string(monitoring(t, "rules.yaml")), "for: 15m", "for: 16m"),
		"rules_test.yaml": string(monitoring(t, "rules_test.yaml")),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), promtool, "test", "rules", "rules_test.yaml")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("the unit tests pass with alerts that are late:\n%s", out)
	}
}

// What is scraped is what install serves, and the right that is given is that of a reader.
func TestScrapeIsOfWhatIsServed(t *testing.T) {
	monitor, plain := string(monitoring(t, "servicemonitor.yaml")), string(monitoring(t, "prometheus.yaml"))
	served := manifests.Metrics(manifests.DefaultNamespace, manifests.SecureMetrics)
	service := served[0]
	for key, value := range service.GetLabels() {
		if !strings.Contains(monitor, key+": "+value) {
			t.Errorf("the ServiceMonitor does not select the Service by %s=%s", key, value)
		}
	}
	if !strings.Contains(monitor, "namespace: "+service.GetNamespace()) || !strings.Contains(plain, "regex: "+service.GetName()+";metrics\n") || !strings.Contains(plain, "names: ["+service.GetNamespace()+"]") {
		t.Errorf("what is scraped is not the Service %s/%s", service.GetNamespace(), service.GetName())
	}
	_, second, _ := strings.Cut(monitor, "\n---\n")
	var binding rbacv1.ClusterRoleBinding
	if err := yaml.UnmarshalStrict([]byte(second), &binding); err != nil {
		t.Fatal(err)
	}
	if binding.RoleRef.Name != manifests.MetricsReaderName {
		t.Errorf("the role is %s", binding.RoleRef.Name)
	}
}
