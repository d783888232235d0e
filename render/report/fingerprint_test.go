package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFingerprints(t *testing.T) {
	above := []Finding{{Rule: PoolRule, File: "a.yaml", Line: 3, Message: "m"}, {Rule: PoolRule, File: "a.yaml", Line: 9, Message: "m"}, {Rule: PoolRule, File: "b.yaml", Line: 3, Message: "m"}}
	moved := []Finding{{Rule: PoolRule, File: "a.yaml", Line: 4, Message: "m"}, {Rule: PoolRule, File: "a.yaml", Line: 10, Message: "m"}, {Rule: PoolRule, File: "b.yaml", Line: 3, Message: "m"}}
	if diff := cmp.Diff(fingerprints(above), fingerprints(moved)); diff != "" {
		t.Errorf("a line put in above changes them:\n%s", diff)
	}
	seen := map[string]bool{}
	for _, digest := range fingerprints(above) {
		if seen[digest] {
			t.Errorf("two findings share %s", digest)
		}
		seen[digest] = true
	}
}
