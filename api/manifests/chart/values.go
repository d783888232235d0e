package chart

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nodepools/nodepools/api/manifests"
)

// value is one that who installs the chart may set, or a group of them.
type value struct {
	name string
	// doc is a sentence or two.
	doc      string
	fallback any
	schema   schema
	// required is set where there is no doing without: null takes a default away.
	required bool
	fields   []value // of a group, which has no default of its own
}

// volume is what the configuration of the controller may be mounted from.
type volume struct {
	Name      string                                    `json:"name"`
	Secret    *corev1.SecretVolumeSource                `json:"secret,omitempty"`
	ConfigMap *corev1.ConfigMapVolumeSource             `json:"configMap,omitempty"`
	Projected *corev1.ProjectedVolumeSource             `json:"projected,omitempty"`
	EmptyDir  *corev1.EmptyDirVolumeSource              `json:"emptyDir,omitempty"`
	CSI       *corev1.CSIVolumeSource                   `json:"csi,omitempty"`
	Claim     *corev1.PersistentVolumeClaimVolumeSource `json:"persistentVolumeClaim,omitempty"`
}

// values returns all values, with what templates have found as defaults.
func (b *builder) values() []value {
	off := func(doc string) value { return value{name: "enabled", doc: doc, fallback: false, schema: boolean} }
	return []value{
		{name: "crds", fields: []value{
			{name: "enabled", doc: "Install the custom resource definitions, and upgrade them with the chart. They stay when it is uninstalled.", fallback: true, schema: boolean},
			{name: "only", doc: "Install the custom resource definitions, and nothing else.", fallback: false, schema: boolean},
		}},
		{name: "namespace", fields: []value{
			{name: "create", doc: "Make the namespace of the release one of its objects, held to the restricted pod security standard. It stays when the chart is uninstalled. Set it to false where the namespace exists already.", fallback: true, schema: boolean},
		}},
		b.imageValues(),
		b.leaf("imagePullSecrets", "Names of Secrets for the registry, as a list of {name: …}.", listOf[corev1.LocalObjectReference]()),
		required(b.leaf("replicas", "One works, the others are ready to take over.", schema{"type": "integer", "minimum": 0})),
		{name: "serviceAccount", fields: []value{
			b.under("serviceAccount", "annotations", "Such as those that give it an identity of a cloud.", texts),
		}},
		{name: "webhook", fields: []value{off("Receive webhooks of Git servers: adds the Service nodepools-webhook, and a NetworkPolicy that lets everybody reach it.")}},
		{name: "rollout", fields: []value{off("Let the controller list and evict pods, for pools whose rollout has nodes drained.")}},
		{name: "viewer", fields: []value{off("Add a service account that may only read, for a CI job that runs nodepools diff or inventory.")}},
		{name: "networkPolicy", fields: []value{
			off("Let nothing be reached but probes and metrics."),
			required(b.under("networkPolicy", "metricsFrom", "Who reaches the metrics.", notEmpty(listOf[networkingv1.NetworkPolicyPeer]()))),
			b.under("networkPolicy", "egress", "What the controller may reach: the API server, name servers and Git servers. Not limited where it is empty.", listOf[networkingv1.NetworkPolicyEgressRule]()),
		}},
		{name: "metrics", fields: []value{
			required(b.under("metrics", "serving", "secure is by TLS, to who is bound to the ClusterRole nodepools-metrics-reader; plain to every pod; none to nobody.", oneOf(servings()...))),
		}},
		{name: "serviceMonitor", fields: []value{
			off("Add a ServiceMonitor, for a cluster with the Prometheus Operator."),
			b.under("serviceMonitor", "labels", "By which your Prometheus selects ServiceMonitors.", ownLabels()),
			b.under("serviceMonitor", "interval", "Such as 30s; that of Prometheus where it is empty.", schema{"type": "string", "pattern": "^([0-9]+(ms|[smhdwy]))*$"}),
			b.under("serviceMonitor", "tlsConfig", "How the certificate is checked, in the fields of the Prometheus Operator. Where it is empty, not at all: the certificate signs itself unless --metrics-cert-file names another.", schema{"type": "object"}),
		}},
		{name: "podDisruptionBudget", fields: []value{
			off("Let a drain wait until another replica is ready."),
			required(b.under("podDisruptionBudget", "minAvailable", "Number or share of the replicas that stay.", schemaOf(reflect.TypeFor[intstr.IntOrString]()))),
		}},
		{name: "logging", fields: []value{
			required(b.under("logging", "level", "debug, info or error.", oneOf(levels...))),
			required(b.under("logging", "format", "text or json.", oneOf(formats...))),
		}},
		b.leaf("extraArgs", "More flags of nodepools run, but for those that the chart sets.", extraArgs()),
		b.leaf("extraEnv", "More variables of the environment, such as HTTPS_PROXY.", listOf[corev1.EnvVar]()),
		b.leaf("extraVolumes", "More volumes, such as one with the authorities of a Git server.", listOf[volume]()),
		b.leaf("extraVolumeMounts", "Where they are mounted.", listOf[corev1.VolumeMount]()),
		b.leaf("resources", "Requests and limits of the container.", schemaOf(reflect.TypeFor[corev1.ResourceRequirements]())),
		required(b.leaf("goMemLimit", "Memory from which on garbage is collected at all costs. Change it with resources.limits.memory, to about 90% of it.", schema{"type": "string", "pattern": "^[0-9]+([KMGT]i)?B$"})),
		b.leaf("priorityClassName", "The class of the pods. A ResourceQuota lets the namespace use it.", text),
		b.leaf("nodeSelector", "Labels of the nodes that the pods run on.", texts),
		b.leaf("tolerations", "Every taint is tolerated: the taints that pools put on nodes must not drive out the controller that can remove them.", listOf[corev1.Toleration]()),
		b.leaf("affinity", "Control-plane nodes are preferred where there are any.", schemaOf(reflect.TypeFor[corev1.Affinity]())),
		b.leaf("topologySpreadConstraints", "Replicas run on different nodes where they can.", listOf[corev1.TopologySpreadConstraint]()),
		b.leaf("podAnnotations", "Annotations of the pods.", texts),
		b.leaf("podLabels", "Labels of the pods, beside the one that selects them.", ownLabels()),
	}
}

func (b *builder) imageValues() value {
	return value{name: "image", fields: []value{
		{name: "repository", doc: "Where the image is. None is published yet: name yours.", fallback: manifests.DefaultRepository, required: true,
			schema: schema{"type": "string", "pattern": `^([a-zA-Z0-9.-]+(:[0-9]+)?/)?[a-z0-9]+([._/-]+[a-z0-9]+)*$`}},
		{name: "tag", doc: "The appVersion of the chart where it is empty, unless there is a digest.", fallback: "",
			schema: schema{"type": "string", "pattern": `^([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?$`}},
		{name: "digest", doc: "sha256:…, by which it stays this image, whoever moves the tag. It goes before the tag: who names another tag names its digest, too, or an empty one.", fallback: "",
			schema: schema{"type": "string", "pattern": `^(sha256:[0-9a-f]{64})?$`}},
		{name: "pullPolicy", doc: "Always, IfNotPresent or Never.", fallback: "", schema: oneOf(pullPolicies...)},
	}}
}

var (
	levels  = []any{"debug", logLevel, "error"}
	formats = []any{logFormat, "json"}
)

func servings() []any {
	var all []any
	for _, serving := range manifests.MetricsServings() {
		all = append(all, string(serving))
	}
	return all
}

// ownLabels are those that do not replace one by which an object is found.
func ownLabels() schema {
	own := map[string]any{}
	for key := range manifests.Labels() {
		own[key] = false
	}
	s := schema{"properties": own}
	for key, rule := range texts {
		s[key] = rule
	}
	return s
}

// extraArgs are flags that the chart does not set: the last one of two counts, so that one
// here would have two instances work at a time, or the metrics read by everybody, whatever
// the values say that are for it.
func extraArgs() schema {
	own := map[string]bool{"--log-level": true, "--log-format": true}
	for _, serving := range manifests.MetricsServings() {
		deployment := manifests.Deployment(manifests.Options{Metrics: serving, Webhook: true})
		for _, arg := range deployment.Spec.Template.Spec.Containers[0].Args {
			if flag, _, _ := strings.Cut(arg, "="); strings.HasPrefix(flag, "--") {
				own[flag] = true
			}
		}
	}
	flags := strings.Join(slices.Sorted(maps.Keys(own)), "|")
	return schema{"type": "array", "items": schema{
		"type": "string", "pattern": "^--[a-z]", "not": schema{"pattern": "^(" + flags + ")(=|$)"},
	}}
}

func required(v value) value {
	v.required = true
	return v
}

func notEmpty(s schema) schema {
	s["minItems"] = 1
	return s
}

// leaf is a value whose default is what a template has found.
func (b *builder) leaf(name, doc string, s schema) value { return b.under("", name, doc, s) }

// under is one in a group.
func (b *builder) under(group, name, doc string, s schema) value {
	path := name
	if group != "" {
		path = group + "." + name
	}
	return value{name: name, doc: doc, fallback: b.defaults[path], schema: s}
}
