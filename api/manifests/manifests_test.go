package manifests

import (
	"strings"
	"testing"
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
