package chart

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/api/manifests"
)

const (
	// keep has Helm leave an object where it is when the chart is uninstalled.
	keep = "helm.sh/resource-policy"

	// Conditions under which objects are part of the chart.
	allButCRDs = "not .Values.crds.only"
)

// templates returns the files of templates.
func (b *builder) templates() (map[string][]byte, error) {
	definitions, err := manifests.CRDs()
	if err != nil {
		return nil, err
	}
	o := manifests.Options{Namespace: namespace, Image: "image"}
	files := map[string][]byte{}
	for _, file := range []struct {
		name, condition string
		objects         []manifests.Object
		change          func(fields map[string]any) error
	}{
		{"crds", "or .Values.crds.enabled .Values.crds.only", definitions, kept},
		{"namespace", allButCRDs, manifests.Namespace(namespace), b.namespace},
		{"rbac", allButCRDs, manifests.RBAC(namespace), b.rbac},
		{"policies", allButCRDs, slices.Concat(manifests.NodePolicy(), manifests.StatusPolicy()), nil},
		{"rollout", allAnd(".Values.rollout.enabled"), manifests.Rollout(namespace), nil},
		{"webhook", allAnd(".Values.webhook.enabled"), manifests.Webhook(namespace), nil},
		{"networkpolicy", allAnd(".Values.networkPolicy.enabled"), []manifests.Object{manifests.NetworkPolicy(namespace)}, b.networkPolicy},
		{"poddisruptionbudget", allAnd(".Values.podDisruptionBudget.enabled"), []manifests.Object{manifests.PodDisruptionBudget(namespace)}, b.budget},
		{"viewer", allAnd(".Values.viewer.enabled"), manifests.Viewer(namespace), nil},
		{"metrics", allAnd(`(ne .Values.metrics.serving "none")`), manifests.Metrics(namespace, manifests.SecureMetrics), b.metricsService},
		{"deployment", allButCRDs, []manifests.Object{manifests.Deployment(o)}, b.deployment},
	} {
		text, err := b.template(file.condition, file.objects, file.change)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.name, err)
		}
		files["templates/"+file.name+".yaml"] = []byte(text)
	}
	monitor, err := b.serviceMonitor()
	files["templates/servicemonitor.yaml"] = []byte(monitor)
	return files, err
}

func allAnd(condition string) string { return fmt.Sprintf("and (%s) %s", allButCRDs, condition) }

// template writes objects, changed to have holes, under a condition.
func (b *builder) template(condition string, objects []manifests.Object, change func(map[string]any) error) (string, error) {
	text := "# Written by make generate from package api/manifests.\n{{- if " + condition + " }}\n"
	for _, object := range objects {
		fields, err := tree(object)
		if err != nil {
			return "", err
		}
		if change != nil {
			if err := change(fields); err != nil {
				return "", err
			}
		}
		document, err := b.render(fields)
		if err != nil {
			return "", err
		}
		begin, end := "---\n", ""
		if only, ok := optional[fields["kind"].(string)+" "+object.GetName()]; ok {
			begin, end = "{{- if "+only+" }}\n---\n", "{{- end }}\n"
		}
		text += begin + document + end
	}
	return text + "{{- end }}\n", nil
}

// optional are objects that have a condition of their own, by kind and name.
var optional = map[string]string{
	// The namespace of a release may have been made by who installs it.
	"Namespace " + namespace: ".Values.namespace.create",
	// Its scope is a class, and there is nothing to limit without one.
	"ResourceQuota " + manifests.Name: ".Values.priorityClassName",
	// What it takes that not everybody may read the metrics.
	"ClusterRole " + manifests.MetricsName:        secureMetrics,
	"ClusterRoleBinding " + manifests.MetricsName: secureMetrics,
	"ClusterRole " + manifests.MetricsReaderName:  secureMetrics,
}

// kept has an object stay when the chart is uninstalled: with a definition every pool
// would go, and with the namespace the Secrets of sources.
func kept(fields map[string]any) error {
	at(fields, "metadata", "annotations")[keep] = "keep"
	return nil
}

func (b *builder) namespace(fields map[string]any) error {
	if fields["kind"] == "Namespace" {
		return kept(fields)
	}
	// The class of the pods, which is a value of theirs.
	scopes, ok := at(fields, "spec", "scopeSelector")["matchExpressions"].([]any)
	if !ok || len(scopes) != 1 {
		return fmt.Errorf("the quota has %d scopes, want one", len(scopes))
	}
	scopes[0].(map[string]any)["values"] = []any{b.mark(func(indent, _ string) []string {
		return []string{indent + "- {{ .Values.priorityClassName | quote }}"}
	})}
	return nil
}

func (b *builder) rbac(fields map[string]any) error {
	if fields["kind"] == "ServiceAccount" {
		metadata := at(fields, "metadata")
		b.defaults["serviceAccount.annotations"] = map[string]any{}
		metadata["annotations"] = b.mark(block("serviceAccount.annotations"))
	}
	return nil
}

func (b *builder) networkPolicy(fields map[string]any) error {
	// A rule without any peer would let in everybody.
	rules, ok := at(fields, "spec")["ingress"].([]any)
	if !ok || len(rules) != 2 {
		return fmt.Errorf("the network policy has %d rules, want one for probes and one for metrics", len(rules))
	}
	b.bind(rules[1].(map[string]any), "from", "networkPolicy.metricsFrom", list)
	spec := at(fields, "spec")
	spec["egress"] = b.mark(block("networkPolicy.egress"))
	spec["policyTypes"] = append(spec["policyTypes"].([]any), b.mark(item(".Values.networkPolicy.egress", "Egress")))
	b.defaults["networkPolicy.egress"] = []any{}
	return nil
}

func (b *builder) budget(fields map[string]any) error {
	b.bind(at(fields, "spec"), "minAvailable", "podDisruptionBudget.minAvailable", func(value string) hole {
		return scalar(".Values." + value + " | toJson") // a number or a text
	})
	return nil
}

// image is what the container runs. A digest alone is enough.
const image = `"{{ .Values.image.repository }}{{ if or .Values.image.tag (not .Values.image.digest) }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}{{ with .Values.image.digest }}@{{ . }}{{ end }}"`

func (b *builder) deployment(fields map[string]any) error {
	spec := at(fields, "spec")
	b.bind(spec, "replicas", "replicas", func(value string) hole { return scalar(".Values." + value + " | int") })

	b.defaults["podLabels"], b.defaults["podAnnotations"] = map[string]any{}, map[string]any{}
	at(spec, "template", "metadata", "labels")[b.mark(more("podLabels"))] = nil
	at(spec, "template", "metadata")["annotations"] = b.mark(block("podAnnotations"))

	pod := at(spec, "template", "spec")
	for _, field := range []string{"affinity", "tolerations", "topologySpreadConstraints"} {
		b.bind(pod, field, field, block)
	}
	b.defaults["imagePullSecrets"], b.defaults["nodeSelector"] = []any{}, map[string]any{}
	for _, field := range []string{"imagePullSecrets", "nodeSelector"} {
		pod[field] = b.mark(block(field))
	}
	b.bind(pod, "priorityClassName", "priorityClassName", func(value string) hole {
		return when(".Values."+value, ".Values."+value+" | quote")
	})
	pod["volumes"] = append(pod["volumes"].([]any), b.mark(more("extraVolumes")))
	b.defaults["extraVolumes"] = []any{}

	containers, ok := pod["containers"].([]any)
	if !ok || len(containers) != 1 {
		return fmt.Errorf("the Deployment has %d containers, want one", len(containers))
	}
	return b.container(containers[0].(map[string]any))
}

func (b *builder) container(fields map[string]any) error {
	fields["image"] = b.mark(func(indent, key string) []string { return []string{indent + key + ": " + image} })
	fields["imagePullPolicy"] = b.mark(when(".Values.image.pullPolicy", ".Values.image.pullPolicy"))
	b.bind(fields, "resources", "resources", block)
	for field, value := range map[string]string{"env": "extraEnv", "volumeMounts": "extraVolumeMounts"} {
		fields[field] = append(fields[field].([]any), b.mark(more(value)))
		b.defaults[value] = []any{}
	}
	for _, variable := range fields["env"].([]any) {
		if v, ok := variable.(map[string]any); ok && v["name"] == "GOMEMLIMIT" {
			b.bind(v, "value", "goMemLimit", func(value string) hole { return scalar(".Values." + value + " | quote") })
		}
	}

	if err := b.options(fields); err != nil {
		return err
	}
	fields["args"] = append(fields["args"].([]any), b.arguments()...)
	return nil
}

// Defaults of the flags of nodepools run: with them an argument is not written.
const (
	logLevel  = "info"
	logFormat = "text"
)

// arguments are the flags of nodepools run that are values, and the others. That of the
// leader election is none: without it two instances would work while one replaces the
// other.
func (b *builder) arguments() []any {
	b.defaults["logging.level"], b.defaults["logging.format"] = logLevel, logFormat
	b.defaults["extraArgs"] = []any{}
	flag := func(condition, flag, value string) any {
		return b.mark(item(condition, "--"+flag+"={{ .Values."+value+" }}"))
	}
	return []any{
		flag(`ne .Values.logging.level "`+logLevel+`"`, "log-level", "logging.level"),
		flag(`ne .Values.logging.format "`+logFormat+`"`, "log-format", "logging.format"),
		b.mark(more("extraArgs")),
	}
}

// pullPolicies are those of Kubernetes, and none, for which it has its own default.
var pullPolicies = []any{"", string(corev1.PullAlways), string(corev1.PullIfNotPresent), string(corev1.PullNever)}
