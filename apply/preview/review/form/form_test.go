package form

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/nodepools/nodepools/apply/preview/review"
	deceit "github.com/nodepools/nodepools/testdata/hostile"
	"github.com/nodepools/nodepools/testdata/reviews"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestDocuments holds JSON and YAML of every sample to golden files, and the summary
// alone.
func TestDocuments(t *testing.T) {
	for _, form := range []string{JSON, YAML} {
		for _, sample := range reviews.All() {
			if sample.Name == "big" || sample.Name == "hostile" {
				continue // nobody would read it, and it is read back below
			}
			golden(t, sample.Name+"."+form)(Write(sample.Make(), Options{Form: form}))
		}
		golden(t, "summary."+form)(Write(reviews.Everything(), Options{Form: form, Summary: true}))
		golden(t, "clusters."+form)(WriteClusters(reviews.Clusters(), Options{Form: form}))
		golden(t, "clusters.summary."+form)(WriteClusters(reviews.Clusters(), Options{Form: form, Summary: true}))
	}
}

// golden compares a document with a file.
func golden(t *testing.T, name string) func(document []byte, err error) {
	return func(document []byte, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(name, document, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(document)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Each name is a form, and what is none is no other one by mistake.
func TestEveryNameIsAForm(t *testing.T) {
	for _, name := range Names() {
		document, err := Write(reviews.Everything(), Options{Form: name, Marker: "m", MaxBytes: 1 << 20})
		if err != nil || len(document) == 0 {
			t.Errorf("%s: %d bytes, %v", name, len(document), err)
		}
	}
	if document, err := Write(reviews.Everything(), Options{Form: "txt"}); err == nil {
		t.Errorf("txt is written as\n%.200s", document)
	}
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
				text, err := Write(r, Options{Form: format})
				if err != nil {
					t.Fatal(err)
				}
				// Blanks of other scripts are left: a program reads these, and they do nothing.
				if hidden := slices.DeleteFunc(deceit.Hidden(string(text)), unicode.IsGraphic); len(hidden) > 0 {
					t.Errorf("%q stand in the document", hidden)
				}
				read := &review.Review{}
				if err := parse(text, read); err != nil {
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
