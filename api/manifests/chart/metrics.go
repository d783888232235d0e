package chart

import (
	"fmt"

	"github.com/nodepools/nodepools/api/manifests"
)

// secureMetrics is where not everybody may read them.
const secureMetrics = `eq .Values.metrics.serving "secure"`

// endpoint is what is scraped. The token of Prometheus is sent by TLS, and never in the
// clear.
func endpoint(indent, key string) []string {
	return []string{
		indent + key + ":",
		indent + "- port: metrics",
		indent + `  scheme: {{ ternary "https" "http" (` + secureMetrics + `) }}`,
		"{{- with .Values.serviceMonitor.interval }}",
		indent + "  interval: {{ . }}",
		"{{- end }}",
		"{{- if " + secureMetrics + " }}",
		indent + "  bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token",
		indent + "  tlsConfig:",
		// It is not a default of the value: with that, whoever names an authority would
		// keep it, and check nothing.
		fmt.Sprintf(`    {{- toYaml (.Values.serviceMonitor.tlsConfig | default (dict "insecureSkipVerify" true)) | nindent %d }}`, len(indent)+4),
		"{{- end }}",
	}
}

// metricsService gives the Service the port at which metrics are served.
func (b *builder) metricsService(fields map[string]any) error {
	if fields["kind"] != "Service" {
		return nil
	}
	b.defaults["metrics.serving"] = string(manifests.SecureMetrics)
	plain, err := tree(manifests.Metrics(namespace, manifests.PlainMetrics)[0])
	if err != nil {
		return err
	}
	port := func(service map[string]any) (map[string]any, error) {
		ports, ok := at(service, "spec")["ports"].([]any)
		if !ok || len(ports) != 1 {
			return nil, fmt.Errorf("the Service of the metrics has %d ports, want one", len(ports))
		}
		return ports[0].(map[string]any), nil
	}
	secure, err := port(fields)
	if err != nil {
		return err
	}
	other, err := port(plain)
	if err != nil {
		return err
	}
	secure["port"] = b.mark(scalar(fmt.Sprintf("ternary %v %v (%s)", secure["port"], other["port"], secureMetrics)))
	return nil
}

// serviceMonitor returns the template of the object by which the Prometheus Operator
// finds the metrics. It is the one that package manifests has no type for, and install
// does not print: a cluster without the operator would refuse it.
func (b *builder) serviceMonitor() (string, error) {
	b.defaults["serviceMonitor.labels"] = map[string]any{}
	b.defaults["serviceMonitor.interval"] = ""
	b.defaults["serviceMonitor.tlsConfig"] = map[string]any{}
	labels := map[string]any{b.mark(more("serviceMonitor.labels")): nil}
	for key, value := range manifests.Labels() {
		labels[key] = value
	}
	document, err := b.render(map[string]any{
		"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor",
		"metadata": map[string]any{"name": manifests.Name, "namespace": namespace, "labels": labels},
		"spec": map[string]any{
			"selector":  map[string]any{"matchLabels": manifests.Labels()},
			"endpoints": b.mark(endpoint),
		},
	})
	if err != nil {
		return "", err
	}
	condition := allAnd(".Values.serviceMonitor.enabled")
	return "# Written by make generate.\n{{- if " + condition + " }}\n" +
		"{{- if eq .Values.metrics.serving \"none\" }}\n{{- fail \"serviceMonitor.enabled requires metrics.serving secure or plain\" }}\n{{- end }}\n---\n" +
		document + "{{- end }}\n", nil
}
