package main

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/render"
	hostiletexts "github.com/nodepools/nodepools/testdata/hostile"
)

// hostile are texts that were made to deceive whoever reads them.
var hostile = hostiletexts.Samples()

// In JSON and YAML nothing of it is lost, and nothing is obeyed.
func TestStructuredOutputIsExactAndSanitized(t *testing.T) {
	for name, text := range hostile {
		if !utf8.ValidString(text) {
			continue // an API server stores no such text
		}
		t.Run(name, func(t *testing.T) {
			want := map[string]string{"value": text, "k" + text[:min(len(text), 100)]: "key"}
			if !utf8.ValidString(text[:min(len(text), 100)]) {
				want = map[string]string{"value": text}
			}
			var asJSON, asYAML bytes.Buffer
			if err := json.NewEncoder(&asJSON).Encode(want); err != nil {
				t.Fatal(err)
			}
			if err := render.WriteYAML(&asYAML, want); err != nil {
				t.Fatal(err)
			}
			read := map[string]func([]byte, any) error{
				sanitize.JSON(asJSON.String()): json.Unmarshal,
				asYAML.String():                func(data []byte, into any) error { return yaml.Unmarshal(data, into) },
			}
			for written, unmarshal := range read {
				if len(hostiletexts.Hidden(written)) > 0 {
					t.Errorf("what cannot be seen is in %.200q", written)
				}
				got := map[string]string{}
				if err := unmarshal([]byte(written), &got); err != nil {
					t.Errorf("it cannot be read any more: %v\n%.200q", err, written)
					continue
				}
				for key, value := range want {
					if got[key] != value {
						t.Errorf("%.50q became %.200q", value, got[key])
					}
				}
			}
		})
	}
}

// What is printed as JSON or YAML is no command to the CI runner in whose log it ends
// up, and is read back as it was.
func TestStructuredOutputIsNoCommandToARunner(t *testing.T) {
	texts := []string{
		"hello\n::error file=x::pwned\n##[group]x", "::error::x", "\n  ::error::x", "a\n\u00a0::error::x", "a\r::error::x\n",
		"a ##[add-mask]b", "##[error]x", "###[error]x##[error]", "a\n\"::error::x\" \\ ##[error]\n",
	}
	for _, each := range hostiletexts.Strings() {
		if utf8.ValidString(each.Text) && len(each.Text) < 1000 {
			texts = append(texts, each.Text)
		}
	}
	for _, text := range texts {
		r := &review.Review{Pools: []review.Object{{After: map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{"a": text, "k" + text: "b", text: "c"}}, "list": []any{text},
		}}}, Notes: []string{text}}
		for format, unmarshal := range map[string]func([]byte, any) error{
			"json": json.Unmarshal, "yaml": func(data []byte, into any) error { return yaml.Unmarshal(data, into) },
		} {
			var written bytes.Buffer
			o := diffOutput{outputFlags: to(format)}
			if err := o.write(&written, r); err != nil {
				t.Fatal(err)
			}
			if found := hostiletexts.Commands(written.String()); len(found) > 0 {
				t.Errorf("%.100q as %s has %q:\n%.2000s", text, format, found, written.String())
			}
			got := &review.Review{}
			if err := unmarshal(written.Bytes(), got); err != nil {
				t.Errorf("%.100q as %s cannot be read any more: %v\n%.2000s", text, format, err, written.String())
				continue
			}
			if diff := cmp.Diff([]any{r.Pools[0].After, r.Notes}, []any{got.Pools[0].After, got.Notes}); diff != "" {
				t.Errorf("%.100q as %s (-want +got):\n%s", text, format, diff)
			}
		}
	}
}
