package v1_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodepools/nodepools/api/crds"
	v1 "github.com/nodepools/nodepools/api/v1"
)

// FuzzSchema: the schema that the API server goes by takes each key and value that
// ValidateNodePool takes. Another one would fail in the middle of a revision.
func FuzzSchema(f *testing.F) {
	spec := specSchema(f, v1.NodePoolKind)
	long, prefix := strings.Repeat("a", 63), strings.Repeat("a.", 126)+"a"
	for _, text := range []string{
		"", "a", "A_b.c-1", "-a", "a-", long, long + "a", prefix + "/" + long, prefix + "a/" + long, prefix + "/" + long + "a", "a/b/c", "/a", "a/",
		"a..b/c", "a.-b/c", "A.b/c", "a\n", "\na", "é", "a b", v1.Domain + "/a", v1.Domain, "node.kubernetes.io/a", "x.node.kubernetes.io/a", "node.cloudprovider.kubernetes.io/a", "readiness.k8s.io/a", "x.readiness.k8s.io/a", "node.cilium.io/agent-not-ready", "agent-not-ready", "a.b/agent-not-readyx",
		"kubernetes.io/hostname", "beta.kubernetes.io/os", "xkubernetes.io/arch", "kubernetes.io/archx", "topology.kubernetes.io/zone", "topology.kubernetes.iox/a", "karpenter.sh/a",
		"failure-domain.beta.kubernetes.io/zone", "beta.kubernetes.io/instance-type", "node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/p", "node-role.kubernetes.io/q",
		"ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscalerx", "startup-taint.cluster-autoscaler.kubernetes.io/a", "node.cluster.x-k8s.io/uninitialized",
	} {
		f.Add(text, "x")
		f.Add("k", text)
		f.Add("k", strings.Repeat(text, 17))
	}
	for _, text := range []string{
		"gpu-1", "gpu-*", "*", "?", "[a-z]*", "gpu-[0-9].corp", "*-a*b-?", "GPU-1", "gpu 1", "gpu_1", "gpu-{1,2}", "gpu-[3-1]", "[z-a]", "[a-Z]", "[A-F]", "[A-F0-9]", "[A-z]", "[_]", "[._]", "[.]",
		"-gpu", "gpu-", ".gpu", "gpu.", "a..b", "a.-b", "a-.b", "a--b", ".*", "*-", "*.*", "a[", "[]a]", "[a-]", "[-a]", "[^]", "[^a]", "[^3-1]", "[a^]", "[[a]]", `a\-b`, `\-a`, `a\-`, `a\.\.b`, `a\*`, `a\`, `[\-a]`, `[\]]`, `[.-9]`, `[,-.]`,
		"[é]", "é", "a\n", "[\n]a", strings.Repeat("a", 253), strings.Repeat("a", 254), "[" + strings.Repeat("é", 251) + "]", "[a" + strings.Repeat("é", 250) + "]", "[a" + strings.Repeat("é", 251) + "]",
		"In", "NotIn", "Exists", "DoesNotExist", "in", "Equals", "Gt", "=", "",
	} {
		f.Add("k", text)
	}
	labels, annotations, taint := spec.Properties["labels"], spec.Properties["annotations"], *spec.Properties["taints"].Items.Schema
	nodeName, matchLabels := *spec.Properties["nodeNames"].Items.Schema, spec.Properties["selector"].Properties["matchLabels"]
	requirement := spec.Properties["selector"].Properties["matchExpressions"].Items.Schema.Properties
	f.Fuzz(func(t *testing.T, key, value string) {
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			t.Skip("no file and no API server has such a text")
		}
		label := takes(t, labels, key) && within(t, *labels.AdditionalProperties.Schema, value)
		tainted := takes(t, taint, key) && within(t, taint.Properties["key"], key) && within(t, taint.Properties["value"], value)
		cases := map[string]struct {
			spec  v1.NodePoolSpec
			takes bool
		}{
			"label": {
				v1.NodePoolSpec{Labels: map[string]v1.LabelValue{key: v1.LabelValue(value)}},
				label,
			},
			"label taken over": {
				v1.NodePoolSpec{ConflictPolicy: v1.TakeOver, Labels: map[string]v1.LabelValue{key: v1.LabelValue(value)}},
				label,
			},
			"taint adopted": {
				v1.NodePoolSpec{ConflictPolicy: v1.Adopt, Taints: []v1.Taint{{Key: key, Value: value, Effect: "NoSchedule"}}},
				tainted,
			},
			"annotation": {
				v1.NodePoolSpec{Annotations: map[string]v1.AnnotationValue{key: v1.AnnotationValue(value)}},
				takes(t, annotations, key) && within(t, *annotations.AdditionalProperties.Schema, value),
			},
			"taint": {
				v1.NodePoolSpec{Taints: []v1.Taint{{Key: key, Value: value, Effect: "NoSchedule"}}},
				tainted,
			},
			"node name": {
				v1.NodePoolSpec{NodeNames: []string{value}},
				takes(t, nodeName, value) && within(t, nodeName, value),
			},
			"selector's label": {
				v1.NodePoolSpec{Selector: &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{key: v1.LabelValue(value)}}},
				takes(t, matchLabels, key) && within(t, *matchLabels.AdditionalProperties.Schema, value),
			},
			"selector's requirement": {
				v1.NodePoolSpec{Selector: &v1.LabelSelector{MatchExpressions: []v1.LabelSelectorRequirement{{Key: key, Operator: metav1.LabelSelectorOpNotIn, Values: []string{value}}}}},
				takes(t, requirement["key"], key) && within(t, requirement["key"], key) && within(t, *requirement["values"].Items.Schema, value),
			},
			"selector's operator": {
				v1.NodePoolSpec{Selector: &v1.LabelSelector{MatchExpressions: []v1.LabelSelectorRequirement{{Key: "k", Operator: metav1.LabelSelectorOperator(value), Values: valuesFor(value)}}}},
				slices.ContainsFunc(requirement["operator"].Enum, func(operator apiextensionsv1.JSON) bool { return string(operator.Raw) == strconv.Quote(value) }),
			},
			"handler": {
				v1.NodePoolSpec{Handler: value},
				value == "" || within(t, spec.Properties["handler"], value),
			},
		}
		for name, c := range cases {
			pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: c.spec}
			if problems := v1.ValidateNodePool(pool); len(problems) == 0 && !c.takes {
				t.Errorf("%s %q, %q: the schema refuses it, and ValidateNodePool takes it", name, key, value)
			}
		}
	})
}

// valuesFor are as many values as an operator takes.
func valuesFor(operator string) []string {
	if operator == string(metav1.LabelSelectorOpIn) || operator == string(metav1.LabelSelectorOpNotIn) {
		return []string{"v"}
	}
	return nil
}

func specSchema(f *testing.F, kind string) apiextensionsv1.JSONSchemaProps {
	f.Helper()
	all, err := crds.All()
	if err != nil {
		f.Fatal(err)
	}
	for _, crd := range all {
		if crd.Spec.Names.Kind == kind {
			return crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		}
	}
	f.Fatalf("no schema of %s", kind)
	return apiextensionsv1.JSONSchemaProps{}
}

// within reports whether a text keeps the bounds and the pattern of a schema.
func within(t *testing.T, schema apiextensionsv1.JSONSchemaProps, text string) bool {
	t.Helper()
	length := int64(utf8.RuneCountInString(text))
	return (schema.MinLength == nil || length >= *schema.MinLength) &&
		(schema.MaxLength == nil || length <= *schema.MaxLength) &&
		(schema.Pattern == "" || regexp.MustCompile(schema.Pattern).MatchString(text))
}

// term is one condition of the rules for keys and values: the only form in which
// they are written. CEL's matches is that of Go's regexp.
var term = regexp.MustCompile(`(!?)(k|self\.key)\.(matches|startsWith)\('([^']*)'\)`)

// takes reports whether a key keeps the rules of a schema.
func takes(t *testing.T, schema apiextensionsv1.JSONSchemaProps, key string) bool {
	t.Helper()
	for _, rule := range schema.XValidations {
		terms := term.FindAllStringSubmatch(rule.Rule, -1)
		rest := strings.Join(strings.Fields(strings.ReplaceAll(term.ReplaceAllString(rule.Rule, ""), "&&", "")), "")
		if len(terms) == 0 || rest != "" && rest != "self.all(k,)" {
			t.Fatalf("the test does not understand all of the rule %s: %q", rule.Rule, rest)
		}
		for _, term := range terms {
			holds := strings.HasPrefix(key, term[4])
			if term[3] == "matches" {
				holds = regexp.MustCompile(term[4]).MatchString(key)
			}
			if holds == (term[1] == "!") {
				return false
			}
		}
	}
	return true
}
