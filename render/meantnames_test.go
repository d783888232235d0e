package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func TestMeantNodeNames(t *testing.T) {
	cases := map[string]struct {
		reason string
		want   []string
	}{
		"GPU-1":                        {"names are in lower case", []string{"gpu-1"}},
		"gpu 1":                        {"a space is none of the characters", []string{"gpu-1"}},
		"gpu_1":                        {"nor is an underscore", []string{"gpu-1"}},
		" gpu-1 ":                      {"nobody sees it", []string{"gpu-1"}},
		"gpu-{1,2}":                    {"of a shell", []string{"gpu-1", "gpu-2"}},
		"GPU_{a,b}{1,2}":               {"several at once", []string{"gpu-a1", "gpu-a2", "gpu-b1", "gpu-b2"}},
		"gpu-{1..3}":                   {"a class says it shorter", []string{"gpu-[1-3]"}},
		"gpu-1, gpu-2":                 {"a list in one entry", []string{"gpu-1", "gpu-2"}},
		"gpu-(1|2)":                    {"of a regular expression", []string{"gpu-1", "gpu-2"}},
		"^gpu-.*$":                     {"same", []string{"gpu-*"}},
		`gpu-\d+`:                      {"same", []string{"gpu-[0-9]*"}},
		"GPU.*":                        {"of two meanings, the one that changes less", []string{"gpu.*"}},
		"gpu-[3-1]":                    {"turned around", []string{"gpu-[1-3]"}},
		"gpu-[F-A]":                    {"same, in lower case", []string{"gpu-[a-f]"}},
		"gpu-[A-F]":                    {"lower case", []string{"gpu-[a-f]"}},
		"gpu-":                         {"the beginning of names", []string{"gpu-*"}},
		"gpu-1.":                       {"a name of the DNS, with its root", []string{"gpu-1"}},
		".corp":                        {"the end of names", []string{"*.corp"}},
		"gpu-{1..16}":                  {"no guess: a class has single characters", nil},
		"gpu-{1,2,3,4,5,6,7,8,9}{0,1}": {"no guess: too many", nil},
		"gpu-[":                        {"no guess", nil},
		"gpu-1/2":                      {"no guess", nil},
		"}{":                           {"no guess", nil},
		strings.Repeat("{a,b}", 50):    {"no guess, and no time lost", nil},
	}
	for entry, c := range cases {
		if len(v1.ValidateNodeNamePattern(entry, nil)) == 0 {
			t.Errorf("%q is valid", entry)
		}
		if diff := cmp.Diff(c.want, meantNodeNames(entry)); diff != "" {
			t.Errorf("%q: %s (-want +got):\n%s", entry, c.reason, diff)
		}
	}
}
