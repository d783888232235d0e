package report

import (
	"strings"
	"testing"

	"github.com/nodepools/nodepools/render"
)

// Each format is another one, names the files as it has to, and what is none is no other
// one by mistake.
func TestDocument(t *testing.T) {
	r := Accepted("pools", 1, []render.Warning{{File: "gpu.yaml", Line: 3, Pool: "gpu", Message: "it may join"}})
	fromRoot := func(file string) string { return "clusters/" + file }
	known := map[string]string{}
	for _, format := range Formats() {
		document, err := r.Document(format, fromRoot, "v1.2.3")
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		if other, is := known[string(document)]; is {
			t.Errorf("%s is written like %s", format, other)
		}
		known[string(document)] = format
		forPeople := format == "json" || format == "yaml"
		if strings.Contains(string(document), "clusters/gpu.yaml") == forPeople || !strings.Contains(string(document), "gpu.yaml") {
			t.Errorf("%s does not name the file as it has to:\n%s", format, document)
		}
	}
	if document, err := r.Document("xml", fromRoot, ""); err == nil {
		t.Errorf("xml is written as\n%s", document)
	}
}
