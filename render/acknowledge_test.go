package render

import (
	"fmt"
	"strings"
	"testing"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// An acknowledgement silences its own warning, and no other: neither one beside
// it, nor one of another kind with the same name.
func TestAcknowledgedSelfJoins(t *testing.T) {
	const (
		open   = "spec:\n  selector: {matchLabels: {example.com/a: x, b: v}}\n"
		named  = "spec:\n  nodeNames: ['a-*', 'b-?', c]\n  taints: [{key: a, effect: NoSchedule}]\n"
		walled = "spec:\n  selector: {matchLabels: {node-restriction.kubernetes.io/a: x}}\n  labels: {tier: a}\n"
	)
	for reason, test := range map[string]struct {
		acknowledged, spec string
		want               []string // parts of the warnings
	}{
		"both labels":                         {"selector:example.com/a selector:b", open, nil},
		"with a comma":                        {"selector:example.com/a, selector:b", open, nil},
		"one of two":                          {"selector:b", open, []string{"the label example.com/a, and so join"}},
		"both patterns":                       {"nodeNames:a-* nodeNames:b-?", named, nil},
		"a pattern that came later":           {"nodeNames:a-*", named, []string{`"b-?" is a pattern`}},
		"a label of a wall":                   {"labels:tier", walled, nil},
		"a label of a wall, of which nothing": {"", walled, []string{"the label tier, so it alone"}},
	} {
		t.Run(reason, func(t *testing.T) {
			annotation := ""
			if test.acknowledged != "" {
				annotation = "  annotations: {\"" + v1.AcknowledgeSelfJoinAnnotation + "\": \"" + test.acknowledged + "\"}\n"
			}
			definitions, err := Load(tree("p.yaml", "apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nmetadata:\n  name: p\n"+annotation+test.spec))
			if err != nil {
				t.Fatal(err)
			}
			warnings := definitions[0].Warnings
			if len(warnings) != len(test.want) {
				t.Fatalf("it warns of %v", warnings)
			}
			for i, warning := range warnings {
				if !strings.Contains(warning.Message, test.want[i]) {
					t.Errorf("it warns of %v, want %s", warning, test.want[i])
				}
			}
		})
	}
}

// Each warning names the entry that acknowledges it.
func TestWarningsSayHowTheyAreAcknowledged(t *testing.T) {
	pool := func(annotation string) string {
		return "apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nmetadata:\n  name: p\n" + annotation +
			"spec:\n  selector: {matchLabels: {node-restriction.kubernetes.io/a: x, b: v, c: z}}\n  labels: {b: x}\n"
	}
	definitions, err := Load(tree("p.yaml", pool("")))
	if err != nil {
		t.Fatal(err)
	}
	var entries []string
	for _, warning := range definitions[0].Warnings {
		_, entry, found := strings.Cut(warning.Hint(), "; to acknowledge: ")
		if !found {
			t.Fatalf("it does not say how: %s", warning)
		}
		entries = append(entries, entry)
	}
	if len(entries) != 3 {
		t.Fatalf("it warns of %v", entries)
	}
	definitions, err = Load(tree("p.yaml", pool("  annotations: {\""+v1.AcknowledgeSelfJoinAnnotation+"\": \""+strings.Join(entries, " ")+"\"}\n")))
	if err != nil || len(definitions[0].Warnings) > 0 {
		t.Errorf("%v, warned of is %v", err, definitions)
	}
}

// An acknowledgement of a key that is combined with a protected label does not
// cover the key alone, nor the other way round.
func TestAcknowledgedBesideAProtectedLabel(t *testing.T) {
	for reason, test := range map[string]struct {
		selector string
		want     string
	}{
		"alone":                       {"matchLabels: {zone: x}", bySelector},
		"beside one that is open":     {"matchLabels: {zone: x}, matchExpressions: [{key: tier, operator: Exists}]", bySelector},
		"beside a protected label":    {"matchLabels: {node-restriction.kubernetes.io/a: a, zone: x}", byProtectedSelector},
		"beside a role":               {"matchLabels: {zone: x}, matchExpressions: [{key: node-role.kubernetes.io/a, operator: Exists}]", byProtectedSelector},
		"beside one of some values":   {"matchLabels: {zone: x}, matchExpressions: [{key: node-restriction.kubernetes.io/a, operator: In, values: [a]}]", byProtectedSelector},
		"where that one must be gone": {"matchLabels: {zone: x}, matchExpressions: [{key: node-restriction.kubernetes.io/a, operator: DoesNotExist}]", bySelector},
		"where it must be another":    {"matchLabels: {zone: x}, matchExpressions: [{key: node-restriction.kubernetes.io/a, operator: NotIn, values: [a]}]", bySelector},
	} {
		for _, kind := range []string{bySelector, byProtectedSelector} {
			entries := kind + "zone"
			if strings.Contains(test.selector, "key: tier") {
				entries += " " + test.want + "tier"
			}
			definitions, err := Load(tree("p.yaml", named("p", "  annotations: {\""+v1.AcknowledgeSelfJoinAnnotation+"\": \""+entries+"\"}\nspec:\n  selector: {"+test.selector+"}\n")))
			switch {
			case kind != test.want:
				matchProblems(t, reason, problemsOf(t, err), []string{`5:17: pool "p": metadata.annotations[` + v1.AcknowledgeSelfJoinAnnotation + `]: "` + kind + `zone" is nothing by which`})
			case err != nil:
				t.Errorf("%s: %v", reason, err)
			case len(definitions[0].Warnings) > 0:
				t.Errorf("%s: %v", reason, definitions[0].Warnings)
			}
		}
	}
}

// An entry without a counterpart is refused, as it would cover later additions;
// and any number of them is cheap.
func TestAcknowledgedMustBeThere(t *testing.T) {
	pool := func(value, spec string) string {
		return named("p", "  annotations:\n    "+v1.AcknowledgeSelfJoinAnnotation+": \""+value+"\"\n"+spec)
	}
	const open = "spec:\n  selector: {matchLabels: {example.com/a: x}}\n"
	at := `6:5: pool "p": metadata.annotations[` + v1.AcknowledgeSelfJoinAnnotation + `]: `
	for reason, test := range map[string]struct {
		text string
		want []string
	}{
		"a slip of the pen":         {pool("selector:example.com/b", open), []string{at + `"selector:example.com/b" is nothing by which nodes can join the pool by themselves: must be of selector:example.com/a (did you mean "selector:example.com/a"?)`}},
		"one of another kind":       {pool("labels:example.com/a selector:example.com/a", open), []string{at + `"labels:example.com/a" is nothing by which`}},
		"a key alone":               {pool("example.com/a", open), []string{at + `"example.com/a" is nothing by which`}},
		"nothing":                   {pool(" ", open), []string{at + "is empty: must name what is acknowledged, of selector:example.com/a"}},
		"members by the role label": {pool("selector:a", ""), []string{at + "nodes cannot join the pool by themselves: there is nothing to acknowledge (leave it out)"}},
	} {
		_, err := Load(tree("p.yaml", test.text))
		matchProblems(t, reason, problemsOf(t, err), test.want)
	}
	var names strings.Builder
	for i := range 1000 {
		names.WriteString("'" + strings.Repeat("n", 220) + strings.Repeat("m", i%10) + "*" + strings.Repeat("o", i/100) + strings.Repeat("p", i/10%10) + "', ")
	}
	var entries strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&entries, "e%d ", i)
	}
	_, err := Load(tree("p.yaml", pool(strings.TrimSpace(entries.String()), "spec:\n  nodeNames: ["+names.String()+"]\n")))
	if count := problemsOf(t, err).Count(); count != 30_000 {
		t.Errorf("%d problems", count)
	}
}
