package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// TestKubeletsMaySetWhatWeWarnOf in apply/controller compares which keys a
// kubelet may set with the API server.
func TestSelfJoinKeys(t *testing.T) {
	expression := func(operator metav1.LabelSelectorOperator) *v1.LabelSelector {
		return &v1.LabelSelector{MatchExpressions: []v1.LabelSelectorRequirement{{Key: "example.com/tier", Operator: operator}}}
	}
	own := []string{"example.com/tier"}
	for reason, test := range map[string]struct {
		spec v1.NodePoolSpec
		want []string
	}{
		"the role label is not for kubelets":   {v1.NodePoolSpec{}, nil},
		"a name is not for kubelets to choose": {v1.NodePoolSpec{NodeNames: []string{"*"}}, nil},
		"a label in matchLabels":               {v1.NodePoolSpec{Selector: &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"example.com/tier": "a"}}}, own},
		"In":                                   {v1.NodePoolSpec{Selector: expression(metav1.LabelSelectorOpIn)}, own},
		"Exists":                               {v1.NodePoolSpec{Selector: expression(metav1.LabelSelectorOpExists)}, own},
		"NotIn: the node joins without the label":  {v1.NodePoolSpec{Selector: expression(metav1.LabelSelectorOpNotIn)}, own},
		"DoesNotExist: so it does":                 {v1.NodePoolSpec{Selector: expression(metav1.LabelSelectorOpDoesNotExist)}, own},
		"a parent only bounds which nodes":         {v1.NodePoolSpec{Parent: "wall", Selector: expression(metav1.LabelSelectorOpExists)}, own},
		"protected labels":                         {v1.NodePoolSpec{Selector: &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"tenant.node-restriction.kubernetes.io/name": "a", "node-role.kubernetes.io/a": ""}}}, nil},
		"by one of several a node can still leave": {v1.NodePoolSpec{Selector: &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"node-restriction.kubernetes.io/a": "", "b": "", "a": ""}}}, []string{"a", "b"}},
		"a duplicate key": {v1.NodePoolSpec{Selector: &v1.LabelSelector{
			MatchLabels:      map[string]v1.LabelValue{"example.com/tier": "a"},
			MatchExpressions: expression(metav1.LabelSelectorOpExists).MatchExpressions,
		}}, own},
	} {
		if diff := cmp.Diff(test.want, SelfJoinKeys(&v1.NodePool{Spec: test.spec})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
}

func TestSelfJoinPatterns(t *testing.T) {
	for reason, test := range map[string]struct {
		names, want []string
	}{
		"whole names are meant":                     {[]string{"a", "b.c"}, nil},
		"each kind of pattern":                      {[]string{"a*", "b", "c?", "[d]"}, []string{"a*", "c?", "[d]"}},
		"every node is in it, so nobody chooses":    {[]string{"*"}, nil},
		"nor where other patterns stand beside it":  {[]string{"a*", "**"}, nil},
		"members by the role label, whatever it is": {nil, nil},
	} {
		if diff := cmp.Diff(test.want, SelfJoinPatterns(&v1.NodePool{Spec: v1.NodePoolSpec{NodeNames: test.names}})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
}

func TestOpenLabels(t *testing.T) {
	pool := define("p", v1.NodePoolSpec{Labels: map[string]v1.LabelValue{
		"z": "", "example.com/tenant": "a", "topology.kubernetes.io/zone": "a",
		"tenant.node-restriction.kubernetes.io/name": "a", "node-role.kubernetes.io/p": "", "kubernetes.io/x": "",
	}})
	if diff := cmp.Diff([]string{"example.com/tenant", "topology.kubernetes.io/zone", "z"}, OpenLabels(pool)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Patterns and labels are warned of only where the pool is meant as a wall.
func TestLoadWarnsOfWallsThatAreNone(t *testing.T) {
	const restricted = "  selector: {matchLabels: {tenant.node-restriction.kubernetes.io/name: a}}\n"
	for reason, test := range map[string]struct {
		spec string
		want []string // line:column, and the message
	}{
		"patterns that sort":                 {"  nodeNames: ['a-*']\n  labels: {tier: a}\n  taints: [{key: a, effect: PreferNoSchedule}]\n", nil},
		"patterns of a pool that is set off": {"  taints: [{key: a, effect: NoSchedule}]\n  nodeNames: [b, 'a-*']\n", []string{`7:3 "a-*" is a pattern`}},
		"every node, and a taint":            {"  nodeNames: ['*']\n  taints: [{key: a, effect: NoExecute}]\n", nil},
		"the role label, and a taint":        {"  labels: {tier: a}\n  taints: [{key: a, effect: NoExecute}]\n", nil},
		"a protected selector, open labels":  {restricted + "  labels:\n    tier: a\n    example.com/b: c\n", []string{"9:5 the label example.com/b, so it alone", "8:5 the label tier, so it alone"}},
		"a protected expression":             {"  selector: {matchExpressions: [{key: node-restriction.kubernetes.io/a, operator: Exists}]}\n  labels: {tier: a}\n", []string{"7:12 the label tier, so it alone"}},
		"a wall":                             {restricted + "  labels: {node-restriction.kubernetes.io/a: b}\n  taints: [{key: a, effect: NoExecute}]\n", nil},
	} {
		t.Run(reason, func(t *testing.T) {
			definitions, err := Load(tree("p.yaml", named("p", "spec:\n"+test.spec)))
			if err != nil {
				t.Fatal(err)
			}
			warnings := definitions[0].Warnings
			if len(warnings) != len(test.want) {
				t.Fatalf("it warns of %v", warnings)
			}
			for i, warning := range warnings {
				place, text, _ := strings.Cut(test.want[i], " ")
				if got := fmt.Sprintf("%d:%d", warning.Line, warning.Column); got != place || !strings.Contains(warning.Message, text) {
					t.Errorf("%s: %s, want %s", got, warning.Message, test.want[i])
				}
			}
		})
	}
}

func TestLoadWarnsWhereTheSelectorIs(t *testing.T) {
	for name, test := range map[string]struct {
		spec string
		want []string // line:column key
	}{
		"none":          {"  selector: {matchLabels: {node-role.kubernetes.io/x: ''}}\n", nil},
		"block":         {"  selector:\n    matchLabels:\n      a: x\n      b.example.com/c.d: z\n", []string{"8:7 a", "9:7 b.example.com/c.d"}},
		"flow":          {"  selector: {matchLabels: {a: x, b: z}}\n", []string{"6:28 a", "6:34 b"}},
		"expressions":   {"  selector:\n    matchExpressions:\n    - {key: node-role.kubernetes.io/x, operator: Exists}\n    - operator: DoesNotExist\n      key: a\n", []string{"10:7 a"}},
		"both":          {"  selector:\n    matchExpressions:\n    - {key: a, operator: Exists}\n    matchLabels: {a: x}\n", []string{"9:19 a"}},
		"an alias":      {"  labels: &same\n    a: x\n  selector:\n    matchLabels: *same\n", []string{"7:5 a"}},
		"within parent": {"  parent: wall\n  selector: {matchLabels: {a: x}}\n", []string{"7:28 a"}},
	} {
		t.Run(name, func(t *testing.T) {
			definitions, err := Load(tree("wall.yaml", named("wall", ""), "folder/p.yaml", named("p", "spec:\n"+test.spec)))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, warning := range definitions[0].Warnings {
				_, key, _ := strings.Cut(warning.Message, "the label ")
				key, _, _ = strings.Cut(key, ",")
				got = append(got, fmt.Sprintf("%d:%d %s", warning.Line, warning.Column, key))
				if warning.File != "folder/p.yaml" || warning.Pool != "p" {
					t.Errorf("it is about %s in %s", warning.Pool, warning.File)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWarningsAreBounded(t *testing.T) {
	var keys, expressions strings.Builder
	for i := range 64 {
		fmt.Fprintf(&keys, "      k%d: ''\n", i)
		fmt.Fprintf(&expressions, "    - {key: e%d, operator: Exists}\n", i)
	}
	definitions, err := Load(tree("p.yaml", named("p", "spec:\n  selector:\n    matchLabels:\n"+keys.String()+"    matchExpressions:\n"+expressions.String())))
	if err != nil {
		t.Fatal(err)
	}
	if count := len(definitions[0].Warnings); count != maxDocumentProblems {
		t.Errorf("%d warnings", count)
	}
}
