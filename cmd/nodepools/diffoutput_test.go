package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/nodepools/nodepools/apply/preview/review"
	deceit "github.com/nodepools/nodepools/testdata/hostile"
	"github.com/nodepools/nodepools/testdata/reviews"
)

// TestDocuments holds JSON and YAML of every sample to golden files, and the summary
// alone.
func TestDocuments(t *testing.T) {
	for _, format := range []string{"json", "yaml"} {
		for _, sample := range reviews.All() {
			if sample.Name == "big" || sample.Name == "hostile" {
				continue // nobody would read it, and it is read back below
			}
			document(t, sample.Name+"."+format, sample.Make(), diffOutput{outputFlags: to(format), color: "never"})
		}
		clustersDocument(t, "clusters."+format, diffOutput{outputFlags: to(format), color: "never"})
		clustersDocument(t, "clusters.summary."+format, diffOutput{outputFlags: to(format), color: "never", summary: true})
		document(t, "summary."+format, reviews.Everything(), diffOutput{outputFlags: to(format), color: "never", summary: true})
	}
}

func document(t *testing.T, name string, r *review.Review, o diffOutput) {
	t.Helper()
	var text bytes.Buffer
	if err := o.write(&text, r); err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "documents", name), strings.TrimSuffix(text.String(), "\n"))
}

func clustersDocument(t *testing.T, name string, o diffOutput) {
	t.Helper()
	var text bytes.Buffer
	if err := o.writeClusters(&text, reviews.Clusters()); err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "documents", name), strings.TrimSuffix(text.String(), "\n"))
}

// TestDocumentsAreSanitizedAndWhole writes hostile content as JSON and as YAML: nothing
// of it does anything to a terminal, and all of it can be read back.
func TestDocumentsAreSanitizedAndWhole(t *testing.T) {
	for _, bad := range deceit.Strings() {
		if len(bad.Text) > 64<<10 {
			continue // read by a parser some hundred times
		}
		r := reviews.Everything()
		deceit.Fill(r, func(string) string { return bad.Text })
		want := throughJSON(t, r) // what is no UTF-8 is reported as that
		for format, parse := range map[string]func([]byte, any) error{
			"json": json.Unmarshal,
			"yaml": func(text []byte, into any) error { return yaml.Unmarshal(text, into) },
		} {
			t.Run(format+"/"+bad.Name, func(t *testing.T) {
				var text bytes.Buffer
				o := diffOutput{outputFlags: to(format), color: "never"}
				if err := o.write(&text, r); err != nil {
					t.Fatal(err)
				}
				// Blanks of other scripts are left: a program reads these, and they do nothing.
				if hidden := slices.DeleteFunc(deceit.Hidden(text.String()), unicode.IsGraphic); len(hidden) > 0 {
					t.Errorf("%q stand in the document", hidden)
				}
				read := &review.Review{}
				if err := parse(text.Bytes(), read); err != nil {
					t.Fatalf("it cannot be read back: %v", err)
				}
				if diff := cmp.Diff(want, throughJSON(t, read)); diff != "" {
					t.Errorf("something else is read back:\n%.2000s", diff)
				}
			})
		}
	}
}

func throughJSON(t *testing.T, r *review.Review) any {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var read any
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}
