package main

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Each minor version from the oldest that is supported to that of go.mod is there, once,
// the newest first.
func TestVersionsLeaveOutNone(t *testing.T) {
	known, err := versions()
	if err != nil {
		t.Fatal(err)
	}
	last := -1
	for _, version := range known {
		parts := strings.Split(version, ".")
		if len(parts) != 3 || parts[0] != "v1" {
			t.Fatalf("%q is not a version", version)
		}
		minor, err := strconv.Atoi(parts[1])
		if err != nil {
			t.Fatal(err)
		}
		if last >= 0 && minor != last-1 {
			t.Errorf("%s comes after 1.%d", version, last)
		}
		last = minor
	}
}

// The oldest version is the one that the Helm chart requires at least.
func TestOldestVersionIsTheRequiredOne(t *testing.T) {
	chart, err := os.ReadFile("../../charts/nodepools/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	minor := earlier[len(earlier)-1]
	minor = strings.TrimPrefix(minor[:strings.LastIndex(minor, ".")], "v")
	if want := `kubeVersion: ">=` + minor + `.0-0"`; !strings.Contains(string(chart), want) {
		t.Errorf("the oldest version is %s, and the chart does not say %s", earlier[len(earlier)-1], want)
	}
}

func TestChoose(t *testing.T) {
	newest, err := required("k8s.io/kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	oldest := earlier[len(earlier)-1]
	for name, tc := range map[string]struct {
		reason             string
		asked, environment string
		want               string // empty for an error that lists what there is
	}{
		"nothing":              {"the tests are those of go.mod's version", "", "", newest},
		"asked":                {"an earlier one is there for who asks", oldest, "", oldest},
		"environment":          {"tests start the program without arguments of theirs", "", oldest, oldest},
		"both":                 {"what is asked for is nearer", newest, oldest, newest},
		"minor":                {"which patch release is a matter of this list", "v1.30", "", ""},
		"without v":            {"there is one way to write a version", strings.TrimPrefix(oldest, "v"), "", ""},
		"typo":                 {"nothing is looked for in vain", "v1.03.14", "", ""},
		"typo, in environment": {"nor by tests", "", "v1.3.14", ""},
		"path":                 {"a version names a folder", "../../x", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(kubernetesVariable, tc.environment)
			got, err := choose(tc.asked)
			if got != tc.want || (err == nil) != (tc.want != "") {
				t.Errorf("%s: got %q, %v; want %q", tc.reason, got, err, tc.want)
			}
			if err == nil {
				return
			}
			for _, version := range slices.Concat([]string{newest}, earlier) {
				if !strings.Contains(err.Error(), version) {
					t.Errorf("%s: %s is not in the error: %v", tc.reason, version, err)
				}
			}
		})
	}
}
