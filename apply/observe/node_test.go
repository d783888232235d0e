package observe

import (
	"slices"
	"testing"
)

func TestNear(t *testing.T) {
	known := []string{"gpu-1.example.com", "gpu-2.example.com", "gpu-3.example.com", "gpu-4.example.com", "worker-one", "worker-two"}
	for name, c := range map[string]struct {
		reason string
		want   []string
	}{
		"gpu-1":       {"the short name is in the long one", []string{"gpu-1.example.com"}},
		"gpu":         {"no more than a few", known[:3]},
		"wroker-one":  {"two letters changed places", []string{"worker-one"}},
		"worker-":     {"it is not named twice", []string{"worker-one", "worker-two"}},
		"database-17": {"nothing is like it", nil},
	} {
		if got := near(name, known); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q: %s", name, got, c.want, c.reason)
		}
	}
}
