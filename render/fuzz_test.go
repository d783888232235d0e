package render

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sigsyaml "sigs.k8s.io/yaml"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// FuzzLoad: for any input, Load does not panic and its problems can be printed;
// and what it accepts, kubectl and the API server read as the same pool.
func FuzzLoad(f *testing.F) {
	for _, text := range hostile() {
		if len(text) < 4096 {
			f.Add([]byte(text))
		}
	}
	examples, err := filepath.Glob("../examples/*/*.yaml")
	if err != nil || len(examples) == 0 {
		f.Fatalf("no examples: %v", err)
	}
	for _, example := range examples {
		text, err := os.ReadFile(example)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, seed := range []string{
		named("p", ""),
		named("p", "spec:\n  parent: q\n  priority: -1\n  handler: runc\n  conflictPolicy: Adopt\n---\n") + named("q", ""),
		named("p", "  labels: {a: b}\n  annotations: {nodes.lailin.xyz/prune: disabled}\nspec:\n  taints:\n  - &t {key: a, value: &v x, effect: NoSchedule}\n  - {<<: *t, effect: NoExecute}\n  labels:\n    ? a\n    : *v\n"),
		named("p", "spec:\n  selector:\n    matchLabels: {a: 2024-01-01}\n    matchExpressions: [{key: a, operator: In, values: ['8', \"\\u00e9\"]}]\n"),
		named("p", "spec:\n  nodeNames: [a*, \"b[0-9]\", 'c', >-\n   d\n  ]\n  annotations:\n    a: |+\n      x\n\n    b: !!str 8\n"),
		"\uFEFF# c\r\n%YAML 1.1\r\n---\r\n" + named("p", "...\n# end\n"),
		"{apiVersion: nodes.lailin.xyz/v1, kind: NodePool, metadata: {name: p}, spec: {labels: {a: 0o7, b: 1_000, c: 0b1, d: 1:30, e: .inf, f: +1, g: 1e3, h: ~, i: '', j: <<}}}",
		"a: b: c\n---\n- x\n -y\n---\n\"\n", "a:\n\t- b", "? [a, b]\n: {c: *d}\n", "&a [*a, {<<: *a}]", "!!binary YQ==", "%TAG ! x\n--- !y z",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		definitions, err := Load(tree("p.yaml", string(data)))
		problems := problemsOf(t, err)
		mustBeSafe(t, problems)
		lines := 1 + strings.Count(string(data), "\n")
		for _, p := range problems {
			if p.Line > lines {
				t.Errorf("line %d of %d: %s", p.Line, lines, p.Message)
			}
		}
		if err != nil && definitions != nil {
			t.Error("pools beside problems")
		}
		for _, d := range definitions {
			if errs := v1.ValidateNodePool(d.Pool); len(errs) > 0 || d.Line < 1 || d.Line > lines {
				t.Errorf("%s at line %d of %d: %v", d.Pool.Name, d.Line, lines, errs)
			}
		}
		// Merge keys are excluded: the strict reader takes an overridden key for a duplicate.
		if len(definitions) == 1 && !strings.Contains(string(data), "<<") {
			sameAsStrict(t, data, definitions[0].Pool)
		}
	})
}

// sameAsStrict compares with the strict reader of Kubernetes, on the condition
// that there is a single document: it takes the first and no more.
func sameAsStrict(t *testing.T, data []byte, pool *v1.NodePool) {
	text, _ := checkText(data)
	if len(split(text)) > 1 {
		return
	}
	var strict v1.NodePool
	if err := sigsyaml.UnmarshalStrict(text, &strict); err != nil {
		t.Errorf("the strict reader refuses what Load takes: %v", err)
		return
	}
	// What is written as null is empty here and absent there.
	want, err := sigsyaml.Marshal(&strict)
	if err != nil {
		t.Fatal(err)
	}
	got, err := sigsyaml.Marshal(pool)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-strict reader +Load):\n%s", diff)
	}
}
