package v1_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/api/crds"
	v1 "github.com/nodepools/nodepools/api/v1"
)

// A rule in CEL takes the prefix of role labels off by its length.
func TestRuleOfRoleLabelsKnowsTheirPrefix(t *testing.T) {
	definitions, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("!k.startsWith('%s') || (k.substring(%d) == self.metadata.name ", v1.RoleLabelPrefix, len(v1.RoleLabelPrefix))
	found := 0
	for _, definition := range definitions {
		for _, version := range definition.Spec.Versions {
			for _, rule := range version.Schema.OpenAPIV3Schema.XValidations {
				found += strings.Count(rule.Rule, want)
			}
		}
	}
	if found != 1 {
		t.Errorf("%d rules say %s", found, want)
	}
}
