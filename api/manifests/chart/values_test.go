package chart_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nodepools/nodepools/testdata/charts"
)

func TestLint(t *testing.T) {
	helm := charts.New(t, "")
	for _, values := range [][]string{nil, everything(t)} {
		output := helm.Must(t, append([]string{"lint", "--strict", folder}, values...)...)
		if !strings.Contains(output, "1 chart(s) linted, 0 chart(s) failed") || strings.Contains(output, "[WARNING]") {
			t.Errorf("helm lint says\n%s", output)
		}
	}
}

func template(args ...string) []string {
	return append([]string{"template", "nodepools", folder, "--namespace", "here"}, args...)
}

// A value that the chart does not have, or that is of another kind, is refused by name,
// at every depth.
func TestWrongValuesAreRefused(t *testing.T) {
	helm := charts.New(t, "")
	for reason, test := range map[string]struct{ set, want string }{
		"a mistyped value":                      {"replica=3", "'replica'"},
		"a mistyped value of a group":           {"webhook.enable=true", "'enable'"},
		"a mistyped field of Kubernetes":        {"tolerations[0].operater=Exists", "'operater'"},
		"a mistyped field far below":            {"affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerm=x", "'nodeSelectorTerm'"},
		"a word for a number":                   {"replicas=two", "/replicas"},
		"a negative number":                     {"replicas=-1", "/replicas"},
		"a word for a switch":                   {"webhook.enabled=maybe", "/webhook/enabled"},
		"a tag with the repository":             {"image.repository=registry.example.com/nodepools:v1", "/image/repository"},
		"a digest that is none":                 {"image.digest=sha256:abc", "/image/digest"},
		"a tag that is none":                    {"image.tag=a b", "/image/tag"},
		"a level that there is not":             {"logging.level=trace", "/logging/level"},
		"an argument that is no flag":           {"extraArgs[0]=run", "/extraArgs/0"},
		"metrics for nobody, which is all":      {"networkPolicy.metricsFrom=[]", "/networkPolicy/metricsFrom"},
		"a label by which pods are selected":    {"podLabels.app\\.kubernetes\\.io/name=x", "/podLabels/app.kubernetes.io~1name"},
		"memory in the words of Kubernetes":     {"goMemLimit=900Mi", "/goMemLimit"},
		"metrics in another way":                {"metrics.serving=tls", "/metrics/serving"},
		"a monitor of nothing":                  {"metrics.serving=none,serviceMonitor.enabled=true", "serviceMonitor.enabled requires metrics.serving"},
		"an interval that is none":              {"serviceMonitor.interval=often", "/serviceMonitor/interval"},
		"a flag of the leader election":         {"extraArgs[0]=--leader-elect=false", "/extraArgs/0"},
		"a flag that another value sets":        {"extraArgs[0]=--metrics-secure=false", "/extraArgs/0"},
		"no replicas by mistake":                {"replicas=null", "'replicas'"},
		"metrics for everybody by mistake":      {"networkPolicy.metricsFrom=null", "'metricsFrom'"},
		"no way to serve metrics":               {"metrics.serving=null", "'serving'"},
		"no limit of the heap":                  {"goMemLimit=null", "'goMemLimit'"},
		"no level of the log":                   {"logging.level=null", "'level'"},
		"no number of pods that stay":           {"podDisruptionBudget.minAvailable=null", "'minAvailable'"},
		"no image":                              {"image.repository=null", "'repository'"},
		"a label by which the chart is found":   {"serviceMonitor.labels.app\\.kubernetes\\.io/name=x", "/serviceMonitor/labels/app.kubernetes.io~1name"},
		"a volume of a node":                    {"extraVolumes[0].hostPath.path=/", "'hostPath'"},
		"the namespace, which is the release's": {"namespaceOverride=here", "'namespaceOverride'"},
	} {
		flag := "--set"
		if strings.HasSuffix(test.set, "[]") {
			flag = "--set-json"
		}
		output, err := helm.Run(t.Context(), template(flag, test.set)...)
		if err == nil {
			t.Errorf("%s: %s is taken", reason, test.set)
		} else if !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: the error does not name %s: %v\n%s", reason, test.want, err, output)
		}
	}
}

// everything sets each value to another one than its default.
func everything(t *testing.T) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(all), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--values", file}
}

const all = `
image: {repository: "registry.example.com:5000/team/nodepools", tag: v1, digest: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", pullPolicy: Always}
imagePullSecrets: [{name: registry}]
replicas: 3
serviceAccount: {annotations: {example.com/role: "12"}}
webhook: {enabled: true}
rollout: {enabled: true}
viewer: {enabled: true}
namespace: {create: false}
networkPolicy:
  enabled: true
  metricsFrom: [{podSelector: {matchLabels: {app: prometheus}}}]
  egress: [{ports: [{port: 443}]}]
metrics: {serving: plain}
serviceMonitor: {enabled: true, interval: 30s, labels: {release: prometheus}}
podDisruptionBudget: {enabled: true, minAvailable: "50%"}
logging: {level: debug, format: json}
extraArgs: [--concurrency=4]
extraEnv: [{name: HTTPS_PROXY, value: "http://proxy.example.com"}]
extraVolumes: [{name: authorities, configMap: {name: authorities}}]
extraVolumeMounts: [{name: authorities, mountPath: /etc/ssl/certs/own, readOnly: true}]
resources: {limits: {memory: 2Gi, cpu: 1}}
goMemLimit: 1800MiB
priorityClassName: mine
nodeSelector: {disk: ssd}
tolerations: [{key: a, operator: Exists}]
affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: zone}}]}}
topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]
podAnnotations: {example.com/a: b}
podLabels: {azure.workload.identity/use: "true"}
`

// A value that is new is among those that the tests set.
func TestEachValueIsSet(t *testing.T) {
	elsewhere := map[string]string{
		"crds.enabled": "TestSwitches", "crds.only": "TestSwitches", "serviceMonitor.tlsConfig": "TestServiceMonitorChecksTheCertificate",
	}
	text, err := os.ReadFile(filepath.Join(folder, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var defaults, set map[string]any
	if err := errors.Join(yaml.Unmarshal(text, &defaults), yaml.Unmarshal([]byte(all), &set)); err != nil {
		t.Fatal(err)
	}
	for name, fallback := range defaults {
		group, isGroup := fallback.(map[string]any)
		if !isGroup || len(group) == 0 || name == "resources" || name == "affinity" { // these are of Kubernetes
			if given, ok := set[name]; !ok || reflect.DeepEqual(given, fallback) {
				t.Errorf("%s is not set: %v, by default %v", name, given, fallback)
			}
			continue
		}
		given, _ := set[name].(map[string]any)
		for field, fallback := range group {
			if value, ok := given[field]; elsewhere[name+"."+field] == "" && (!ok || reflect.DeepEqual(value, fallback)) {
				t.Errorf("%s.%s is not set: %v, by default %v", name, field, value, fallback)
			}
		}
	}
}

// Each value is where it belongs.
func TestValuesArrive(t *testing.T) {
	helm := charts.New(t, "")
	objects := charts.Objects(t, helm.Must(t, template(everything(t)...)...))
	texts := map[string]string{}
	for key, object := range objects {
		data, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		texts[key] = string(data)
	}
	for key, want := range map[string][]string{
		"Deployment nodepools": {
			`"image":"registry.example.com:5000/team/nodepools:v1@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"`,
			`"imagePullPolicy":"Always"`, `"imagePullSecrets":[{"name":"registry"}]`, `"replicas":3`,
			`"args":["run","--leader-elect","--metrics-bind-address=:8080","--metrics-secure=false","--webhook-bind-address=:9292","--log-level=debug","--log-format=json","--concurrency=4"]`,
			`{"name":"HTTPS_PROXY","value":"http://proxy.example.com"}`, `{"name":"GOMEMLIMIT","value":"1800MiB"}`,
			`{"configMap":{"name":"authorities"},"name":"authorities"}`, `{"mountPath":"/etc/ssl/certs/own","name":"authorities","readOnly":true}`,
			`"limits":{"cpu":1,"memory":"2Gi"}`, `"priorityClassName":"mine"`, `"nodeSelector":{"disk":"ssd"}`,
			`"tolerations":[{"key":"a","operator":"Exists"}]`, `"podAntiAffinity"`, `"whenUnsatisfiable":"DoNotSchedule"`,
			`"annotations":{"example.com/a":"b"}`, `"azure.workload.identity/use":"true"`, `"mountPath":"/tmp"`,
		},
		"ServiceAccount nodepools":      {`"annotations":{"example.com/role":"12"}`, `"namespace":"here"`},
		"ResourceQuota nodepools":       {`"values":["mine"]`},
		"NetworkPolicy nodepools":       {`"from":[{"podSelector":{"matchLabels":{"app":"prometheus"}}}]`, `"egress":[{"ports":[{"port":443}]}]`, `"policyTypes":["Ingress","Egress"]`},
		"PodDisruptionBudget nodepools": {`"minAvailable":"50%"`},
		"ServiceMonitor nodepools":      {`"scheme":"http"`, `"interval":"30s"`, `"release":"prometheus"`, `"port":"metrics"`},
		"Service nodepools-metrics":     {`"port":8080`},
		"Service nodepools-webhook":     {`"targetPort":"webhook"`},
		"ClusterRole nodepools-viewer":  {`"list"`},
		"ClusterRole nodepools-rollout": {`"pods/eviction"`},
	} {
		if texts[key] == "" {
			t.Errorf("%s is missing", key)
		}
		for _, part := range want {
			if !strings.Contains(texts[key], part) {
				t.Errorf("%s lacks %s:\n%s", key, part, texts[key])
			}
		}
	}
	if strings.Contains(texts["ServiceMonitor nodepools"], "bearerTokenFile") {
		t.Error("Prometheus would send its token in the clear")
	}
	if objects["Namespace here"] != nil {
		t.Error("there is a Namespace, which was not wanted")
	}
}

// What is switched off is not there, and what depends on it neither.
func TestSwitches(t *testing.T) {
	helm := charts.New(t, "")
	for reason, test := range map[string]struct {
		set           string
		without, with string
	}{
		"no definitions":                       {"crds.enabled=false", "CustomResourceDefinition nodepools.nodes.lailin.xyz", "Deployment nodepools"},
		"definitions alone":                    {"crds.only=true", "Deployment nodepools", "CustomResourceDefinition nodepools.nodes.lailin.xyz"},
		"nothing without class to limit":       {"priorityClassName=", "ResourceQuota nodepools", "Deployment nodepools"},
		"no monitor unless asked for":          {"replicas=1", "ServiceMonitor nodepools", "Service nodepools-metrics"},
		"a monitor by TLS":                     {"serviceMonitor.enabled=true", "Service nodepools-webhook", "ServiceMonitor nodepools"},
		"nobody reads plain metrics by a role": {"metrics.serving=plain", "ClusterRole nodepools-metrics-reader", "Service nodepools-metrics"},
		"no budget unless asked for":           {"replicas=1", "PodDisruptionBudget nodepools", "Deployment nodepools"},
		"no policy unless asked for":           {"replicas=1", "NetworkPolicy nodepools", "Namespace here"},
		"no rights to evict unless asked for":  {"replicas=1", "ClusterRole nodepools-rollout", "Deployment nodepools"},
		"the rights to evict are bound":        {"rollout.enabled=true", "Service nodepools-webhook", "ClusterRoleBinding nodepools-rollout"},
	} {
		objects := charts.Objects(t, helm.Must(t, template("--set", test.set)...))
		if objects[test.without] != nil {
			t.Errorf("%s: there is %s", reason, test.without)
		}
		if objects[test.with] == nil {
			t.Errorf("%s: there is no %s", reason, test.with)
		}
		if pod := objects["Deployment nodepools"]; strings.HasPrefix(test.set, "priorityClassName") {
			if data, err := pod.MarshalJSON(); err != nil || strings.Contains(string(data), "priorityClassName") {
				t.Errorf("%s: the pods have a class (%v)", reason, err)
			}
		}
	}
}

// Who says how the certificate is checked has it checked.
func TestServiceMonitorChecksTheCertificate(t *testing.T) {
	objects := charts.Objects(t, charts.New(t, "").Must(t, template("--set", "serviceMonitor.enabled=true,serviceMonitor.tlsConfig.serverName=metrics.example.com")...))
	data, err := objects["ServiceMonitor nodepools"].MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), `"tlsConfig":{"serverName":"metrics.example.com"}`) {
		t.Errorf("the certificate is not checked as it is to be: %s", data)
	}
}

// A text of a value is a text, whatever stands in it.
func TestTextsStayTexts(t *testing.T) {
	const hostile = "a\n  injected: \"{{ .Release.Name }}\" # '"
	quoted, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "values.yaml")
	values := strings.ReplaceAll(`
podDisruptionBudget: {enabled: true, minAvailable: X}
priorityClassName: X
serviceAccount: {annotations: {a: X}}
extraArgs: []
extraEnv: [{name: A, value: X}]
nodeSelector: {a: X}
podAnnotations: {a: X}
podLabels: {a: X}
serviceMonitor: {enabled: true, labels: {a: X}, tlsConfig: {serverName: X}}
networkPolicy: {enabled: true, metricsFrom: [{podSelector: {matchLabels: {a: X}}}]}
`, "X", string(quoted))
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	objects := charts.Objects(t, charts.New(t, "").Must(t, template("--values", file)...))
	count := 0
	for key, object := range objects {
		data, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		count += strings.Count(string(data), string(quoted))
		if strings.Contains(string(data), `"injected":`) {
			t.Errorf("%s has a field of the text: %s", key, data)
		}
	}
	// The class stands in the quota as well.
	if count != 11 {
		t.Errorf("the text stands in %d places, want 11", count)
	}
}

// Prometheus sends its token where metrics are served by TLS.
func TestServiceMonitor(t *testing.T) {
	objects := charts.Objects(t, charts.New(t, "").Must(t, template("--set", "serviceMonitor.enabled=true")...))
	data, err := objects["ServiceMonitor nodepools"].MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"scheme":"https"`, `"bearerTokenFile":"/var/run/secrets/`, `"tlsConfig":{"insecureSkipVerify":true}`, `"matchLabels":{"app.kubernetes.io/name":"nodepools"}`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s is missing: %s", want, data)
		}
	}
}
