package manifests

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestImageNames(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0123456789abcdef", 4)
	for image, valid := range map[string]bool{
		"nodepools":    true,
		"nodepools:v1": true,
		"ghcr.io/nodepools/nodepools:v1.2.3-4-gab":    true,
		"localhost:5000/nodepools":                    true,
		"registry.example.com/a/b__c/d-e:v1" + digest: true,
		"nodepools" + digest:                          true,
		"":                                            false,
		"Nodepools":                                   false,
		"nodepools:":                                  false,
		"nodepools:v1+dirty":                          false,
		"nodepools@sha256:short":                      false,
		"nodepools v1":                                false,
		"nodepools\nmalicious: true":                  false,
		"https://ghcr.io/nodepools/nodepools":         false,
	} {
		if imageName().MatchString(image) != valid {
			t.Errorf("image %q: valid is %t", image, !valid)
		}
	}
}

// A namespace that others use as well is no part of what is applied, and deleted again;
// all else is the same.
func TestExistingNamespace(t *testing.T) {
	o := Options{Namespace: "n", Image: "i"}
	whole, err := All(o)
	if err != nil {
		t.Fatal(err)
	}
	o.ExistingNamespace = true
	got, err := All(o)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.DeleteFunc(whole, func(object Object) bool { return object.GetObjectKind().GroupVersionKind().Kind == "Namespace" })
	if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}
