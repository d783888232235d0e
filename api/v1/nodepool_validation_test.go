package v1

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestValidateNodePool(t *testing.T) {
	long := strings.Repeat("a", 63)
	with := func(change func(*NodePoolSpec)) *NodePool {
		pool := &NodePool{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
		change(&pool.Spec)
		return pool
	}
	named := func(name string) *NodePool { return &NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	parent := func(name string) *NodePool { return with(func(s *NodePoolSpec) { s.Parent = name }) }
	names := func(patterns ...string) *NodePool {
		return with(func(s *NodePoolSpec) { s.NodeNames = append([]string{}, patterns...) })
	}
	selector := func(selector LabelSelector) *NodePool {
		return with(func(s *NodePoolSpec) { s.Selector = &selector })
	}
	label := func(key, value string) *NodePool {
		return with(func(s *NodePoolSpec) { s.Labels = map[string]LabelValue{key: LabelValue(value)} })
	}
	annotation := func(key, value string) *NodePool {
		return with(func(s *NodePoolSpec) { s.Annotations = map[string]AnnotationValue{key: AnnotationValue(value)} })
	}
	annotations := func(count int, value string) *NodePool {
		return with(func(s *NodePoolSpec) {
			s.Annotations = map[string]AnnotationValue{}
			for _, key := range numbered(count) {
				s.Annotations[key] = AnnotationValue(value)
			}
		})
	}
	taints := func(taints ...Taint) *NodePool { return with(func(s *NodePoolSpec) { s.Taints = taints }) }

	cases := map[string]struct {
		reason string
		pool   *NodePool
		want   []string // type, path
	}{
		"nothing but a name": {"everything else has a default", named("gpu"), nil},
		"everything": {"all fields at once", with(func(s *NodePoolSpec) {
			s.Parent, s.Priority, s.Handler, s.ConflictPolicy = "all", -1, "kata-qemu", Adopt
			s.Selector = &LabelSelector{MatchLabels: map[string]LabelValue{"zone": "a"}}
			s.Labels = map[string]LabelValue{"example.com/gpu": "8", "empty": ""}
			s.Annotations = map[string]AnnotationValue{"example.com/note": "any text at all: \n"}
			s.Taints = []Taint{{Key: "a", Effect: "NoSchedule"}, {Key: "a", Effect: "NoExecute", Value: "b"}}
		}), nil},

		"no name":          {"an object has one", named(""), []string{"FieldValueRequired metadata.name"}},
		"dotted name":      {"the API server takes a subdomain", named("gpu.a100"), nil},
		"capital name":     {"but no capitals", named("GPU"), []string{"FieldValueInvalid metadata.name"}},
		"longest name":     {"the name part of a label key", named(long), nil},
		"name too long":    {"the role label would not be valid", named(long + "a"), []string{"FieldValueTooLong metadata.name"}},
		"own parent":       {"the smallest cycle", parent("gpu"), []string{"FieldValueInvalid spec.parent"}},
		"no pool's parent": {"no pool can have that name", parent("A b"), []string{"FieldValueInvalid spec.parent"}},

		"both ways": {"members are chosen in one way", with(func(s *NodePoolSpec) {
			s.NodeNames = []string{"a"}
			s.Selector = &LabelSelector{MatchLabels: map[string]LabelValue{"a": "b"}}
		}), []string{"FieldValueForbidden spec.nodeNames"}},
		"empty selector":    {"it would match every node", selector(LabelSelector{}), []string{"FieldValueRequired spec.selector"}},
		"every node":        {"said in so many words", selector(LabelSelector{MatchExpressions: []LabelSelectorRequirement{{Key: corev1.LabelHostname, Operator: "Exists"}}}), nil},
		"selector operator": {"as Kubernetes", selector(LabelSelector{MatchExpressions: []LabelSelectorRequirement{{Key: "a", Operator: "Within"}}}), []string{"FieldValueNotSupported spec.selector.matchExpressions[0].operator"}},
		"selector values":   {"as Kubernetes", selector(LabelSelector{MatchExpressions: []LabelSelectorRequirement{{Key: "a", Operator: "In"}}}), []string{"FieldValueRequired spec.selector.matchExpressions[0].values"}},
		"selector value":    {"a value that no node can have", selector(LabelSelector{MatchLabels: map[string]LabelValue{"a": "b c"}}), []string{"FieldValueInvalid spec.selector.matchLabels[a]"}},

		"patterns":          {"names and all that a pattern may have", names("node-1", "node-*", "node-?", "node-[a-c]", `node\-[^\-.]`), nil},
		"no patterns":       {"nobody, or the role label?", names(), []string{"FieldValueRequired spec.nodeNames"}},
		"empty pattern":     {"no node has that name", names(""), []string{"FieldValueRequired spec.nodeNames[0]"}},
		"literal wildcard":  {"no name has one", names(`node-\*`), []string{"FieldValueInvalid spec.nodeNames[0]"}},
		"malformed pattern": {"an open bracket", names("a", "node-["), []string{"FieldValueInvalid spec.nodeNames[1]"}},
		"malformed end":     {"beyond where matching would stop", names("node-*[a-"), []string{"FieldValueInvalid spec.nodeNames[0]"}},
		"slash":             {"* does not match it, and no name has it", names("a/b"), []string{"FieldValueInvalid spec.nodeNames[0]"}},
		"long pattern":      {"longer than any name", names(strings.Repeat("a", 254)), []string{"FieldValueTooLong spec.nodeNames[0]"}},
		"pattern twice":     {"a set", names("a", "a"), []string{"FieldValueDuplicate spec.nodeNames[1]"}},
		"many patterns":     {"bounded", names(numbered(1001)...), []string{"FieldValueTooMany spec.nodeNames"}},

		"label key":        {"as Kubernetes", label("a b", ""), []string{"FieldValueInvalid spec.labels[a b]"}},
		"empty label key":  {"as Kubernetes", label("", "a"), []string{"FieldValueRequired spec.labels[]"}},
		"label value":      {"as Kubernetes", label("a", "b c"), []string{"FieldValueInvalid spec.labels[a]"}},
		"long label value": {"as Kubernetes", label("a", long+"a"), []string{"FieldValueInvalid spec.labels[a]"}},
		"our label":        {"the controller's", label("nodes.lailin.xyz/source", ""), []string{"FieldValueForbidden spec.labels[nodes.lailin.xyz/source]"}},
		"another's role":   {"its RuntimeClass would select nodes that are not its own", label("node-role.kubernetes.io/worker", ""), []string{"FieldValueForbidden spec.labels[node-role.kubernetes.io/worker]"}},
		"own role":         {"as the controller puts it", label("node-role.kubernetes.io/gpu", ""), nil},
		"own role, valued": {"nobody chooses by that", label("node-role.kubernetes.io/gpu", "yes"), []string{"FieldValueForbidden spec.labels[node-role.kubernetes.io/gpu]"}},
		"hostname":         {"DaemonSets and volumes go by it", label(corev1.LabelHostname, "a"), []string{"FieldValueForbidden spec.labels[kubernetes.io/hostname]"}},
		"beta arch":        {"same, in its old form", label("beta.kubernetes.io/arch", "a"), []string{"FieldValueForbidden spec.labels[beta.kubernetes.io/arch]"}},
		"zone":             {"where a cloud does not say it, a pool may", label(corev1.LabelTopologyZone, "a"), nil},
		"zone taken over": {"where a cloud says it, nobody else does", with(func(s *NodePoolSpec) {
			s.ConflictPolicy, s.Labels = TakeOver, map[string]LabelValue{corev1.LabelTopologyZone: "a"}
		}), []string{"FieldValueForbidden spec.labels[topology.kubernetes.io/zone]"}},
		"control-plane taint": {"a pool may say it too", taints(Taint{Key: "node-role.kubernetes.io/control-plane", Effect: "NoSchedule"}), nil},
		"control-plane taint adopted": {"it would go with the pool", with(func(s *NodePoolSpec) {
			s.ConflictPolicy, s.Taints = Adopt, []Taint{{Key: "a", Effect: "NoSchedule"}, {Key: "node-role.kubernetes.io/control-plane", Effect: "NoSchedule"}}
		}), []string{"FieldValueForbidden spec.taints[1].key"}},
		"autoscaler's taint taken over": {"a node that is about to be deleted would be spared", with(func(s *NodePoolSpec) {
			s.ConflictPolicy, s.Taints = TakeOver, []Taint{{Key: "ToBeDeletedByClusterAutoscaler", Effect: "NoSchedule"}}
		}), []string{"FieldValueForbidden spec.taints[0].key"}},
		"control plane": {"by its role label", named("control-plane"), nil},
		"control plane by names": {"every node would get its role label", func() *NodePool {
			pool := names("*")
			pool.Name = "control-plane"
			return pool
		}(), []string{"FieldValueForbidden spec.nodeNames"}},
		"master by a selector": {"same", func() *NodePool {
			pool := selector(LabelSelector{MatchLabels: map[string]LabelValue{"a": "b"}})
			pool.Name = "master"
			return pool
		}(), []string{"FieldValueForbidden spec.selector"}},
		"many labels": {"bounded", with(func(s *NodePoolSpec) {
			s.Labels = map[string]LabelValue{}
			for _, key := range numbered(65) {
				s.Labels[key] = ""
			}
		}), []string{"FieldValueTooMany spec.labels"}},

		"annotation key":      {"as Kubernetes", annotation("a b", ""), []string{"FieldValueInvalid spec.annotations[a b]"}},
		"our annotation":      {"the record is the controller's", annotation(AppliedAnnotation, "{}"), []string{"FieldValueForbidden spec.annotations[nodes.lailin.xyz/applied]"}},
		"longest annotation":  {"counted in characters, as the API server does", annotation("a", strings.Repeat("é", 1024)), nil},
		"most annotations":    {"in bytes", annotations(7, strings.Repeat("é", 511)), nil},
		"too many bytes":      {"characters take up to four", annotations(4, strings.Repeat("é", 1024)), []string{"FieldValueForbidden spec.annotations"}},
		"annotation too long": {"the record repeats it", annotation("a", strings.Repeat("a", 1025)), []string{"FieldValueTooLong spec.annotations[a]"}},

		"taint key":             {"as Kubernetes", taints(Taint{Key: "a b", Effect: "NoSchedule"}), []string{"FieldValueInvalid spec.taints[0].key"}},
		"no taint key":          {"as Kubernetes", taints(Taint{Effect: "NoSchedule"}), []string{"FieldValueRequired spec.taints[0].key"}},
		"taint value":           {"as Kubernetes", taints(Taint{Key: "a", Value: "b c", Effect: "NoSchedule"}), []string{"FieldValueInvalid spec.taints[0].value"}},
		"effect":                {"as Kubernetes", taints(Taint{Key: "a", Effect: "noschedule"}), []string{"FieldValueNotSupported spec.taints[0].effect"}},
		"no effect":             {"required", taints(Taint{Key: "a"}), []string{"FieldValueNotSupported spec.taints[0].effect"}},
		"taint twice":           {"key and effect are its identity", taints(Taint{Key: "a", Effect: "NoSchedule"}, Taint{Key: "a", Effect: "NoSchedule", Value: "b"}), []string{"FieldValueDuplicate spec.taints[1]"}},
		"condition taint":       {"Kubernetes would fight for it", taints(Taint{Key: corev1.TaintNodeNotReady, Effect: "NoExecute"}), []string{"FieldValueForbidden spec.taints[0].key"}},
		"cloud provider taint":  {"same", taints(Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: "NoSchedule"}), []string{"FieldValueForbidden spec.taints[0].key"}},
		"readiness taint":       {"its agent takes it off when the node is ready, and the pool would put it back", taints(Taint{Key: "readiness.k8s.io/network", Effect: "NoSchedule"}), []string{"FieldValueForbidden spec.taints[0].key"}},
		"taint of Cilium":       {"same", taints(Taint{Key: "node.cilium.io/agent-not-ready", Effect: "NoExecute"}), []string{"FieldValueForbidden spec.taints[0].key"}},
		"taint of a CSI driver": {"same", taints(Taint{Key: "disk.csi.azure.com/agent-not-ready", Effect: "NoExecute"}), []string{"FieldValueForbidden spec.taints[0].key"}},
		"not an agent's taint":  {"of another name", taints(Taint{Key: "example.com/agent-not-ready-yet", Effect: "NoExecute"}), nil},
		"our taint":             {"the controller's", taints(Taint{Key: "nodes.lailin.xyz/a", Effect: "NoSchedule"}), []string{"FieldValueForbidden spec.taints[0].key"}},
		"many taints": {"bounded", with(func(s *NodePoolSpec) {
			for _, key := range numbered(33) {
				s.Taints = append(s.Taints, Taint{Key: key, Effect: "NoSchedule"})
			}
		}), []string{"FieldValueTooMany spec.taints"}},

		"handler":      {"as RuntimeClass demands", with(func(s *NodePoolSpec) { s.Handler = "run_c" }), []string{"FieldValueInvalid spec.handler"}},
		"long handler": {"as RuntimeClass demands", with(func(s *NodePoolSpec) { s.Handler = long + "a" }), []string{"FieldValueInvalid spec.handler"}},
		"policy":       {"one of three", with(func(s *NodePoolSpec) { s.ConflictPolicy = "adopt" }), []string{"FieldValueNotSupported spec.conflictPolicy"}},
		"all at once": {"every reason, not the first", with(func(s *NodePoolSpec) {
			s.Parent, s.Handler, s.Labels = "A", "B", map[string]LabelValue{"z z": "", "a a": "b b"}
		}), []string{
			"FieldValueInvalid spec.parent",
			"FieldValueInvalid spec.labels[a a]", "FieldValueInvalid spec.labels[a a]", "FieldValueInvalid spec.labels[z z]",
			"FieldValueInvalid spec.handler",
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, err := range ValidateNodePool(c.pool) {
				got = append(got, strings.Join([]string{string(err.Type), err.Field}, " "))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func numbered(count int) []string {
	keys := make([]string, count)
	for i := range keys {
		keys[i] = fmt.Sprintf("k%d", i)
	}
	return keys
}
