package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A rule that a server knows is never renamed.
func TestRulesStay(t *testing.T) {
	var got []string
	for _, r := range Rules() {
		got = append(got, string(r.ID)+" "+string(r.Severity))
	}
	want := []string{"path error", "file error", "document error", "pool error", "self-joinable warning", "rollout warning"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}
