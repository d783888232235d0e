package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// to is a format, on standard output.
func to(format string) outputFlags { return outputFlags{format: format, file: standardOutput} }

// printed is what a command prints that ends with the given code.
func printed(t *testing.T, code int, args ...string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	if got := execute(t.Context(), append([]string{"nodepools"}, args...), streams{in: strings.NewReader(""), out: &out, err: &errs}); got != code {
		t.Fatalf("%q: exit code %d, %s", args, got, errs.String())
	}
	return out.Bytes()
}

// JSON and YAML of a command say the same; of manifests, JSON is one list of what YAML
// has in documents.
func TestJSONAndYAMLSayTheSame(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"pools/gpu.yaml": "apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nmetadata: {name: gpu}\nspec:\n  selector: {matchLabels: {hardware: gpu}}\n  labels: {tier: \"1\", \"on\": \"yes\"}\n",
		"nodes.yaml":     "{apiVersion: v1, kind: Node, metadata: {name: gpu-1, labels: {hardware: gpu}}}\n",
		"inventory.json": `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"inventory.nodes.lailin.xyz/v1","kind":"Inventory","withoutPods":true}]}`,
	} {
		name = filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pools := filepath.Join(folder, "pools")
	for name, test := range map[string]struct {
		code int
		args []string
	}{
		"diff":     {exitFailed, []string{"diff", pools, "--inventory", filepath.Join(folder, "inventory.json")}},
		"install":  {exitOK, []string{"install", "--image", "registry.example.com/nodepools:v1"}},
		"render":   {exitOK, []string{"render", pools, "--nodes", filepath.Join(folder, "nodes.yaml")}},
		"validate": {exitOK, []string{"validate", pools}},
		"version":  {exitOK, []string{"version"}},
	} {
		t.Run(name, func(t *testing.T) {
			var fromJSON any
			if err := json.Unmarshal(printed(t, test.code, append(test.args, "-o", "json")...), &fromJSON); err != nil {
				t.Fatal(err)
			}
			var documents []any
			for document := range strings.SplitSeq(string(printed(t, test.code, append(test.args, "-o", "yaml")...)), "\n---\n") {
				var fromYAML any
				if err := yaml.Unmarshal([]byte(document), &fromYAML); err != nil {
					t.Fatal(err)
				}
				documents = append(documents, fromYAML)
			}
			want := any(map[string]any{"apiVersion": "v1", "kind": "List", "items": documents})
			if name != "install" && name != "render" {
				want = documents[0]
			}
			if diff := cmp.Diff(want, withoutNulls(fromJSON)); diff != "" {
				t.Errorf("YAML and JSON (-yaml +json):\n%s", diff)
			}
		})
	}
}

// withoutNulls takes away what YAML leaves out.
func withoutNulls(value any) any {
	switch value := value.(type) {
	case map[string]any:
		maps.DeleteFunc(value, func(_ string, of any) bool { return of == nil })
		for _, of := range value {
			withoutNulls(of)
		}
	case []any:
		for _, of := range value {
			withoutNulls(of)
		}
	}
	return value
}

// An inventory in YAML is the same inventory.
func TestInventoryInYAML(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("..", "..", "apply", "preview", "inventory", "testdata", "fleet.json"))
	if err != nil {
		t.Fatal(err)
	}
	document, err := inventoryInYAML(t, want)
	if err != nil {
		t.Fatal(err)
	}
	read, err := inventory.Read(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := inventory.Write(&got, read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("by way of YAML (-want +got):\n%s", diff)
	}
}

func inventoryInYAML(t *testing.T, file []byte) ([]byte, error) {
	t.Helper()
	inv, err := inventory.Read(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	err = inventory.WriteYAML(&text, inv)
	return text.Bytes(), err
}
