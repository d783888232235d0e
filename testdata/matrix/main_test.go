package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	all := []string{"v1.3.0", "v1.2.0", "v1.1.0"}
	for name, tc := range map[string]struct {
		reason string
		m      matrix
		asked  string
		want   string // empty for an error
	}{
		"all":            {"the newest first", matrix{update: true}, "", "v1.3.0 v1.2.0 v1.1.0"},
		"some":           {"the newest first, however they are asked for", matrix{}, "v1.1.0 v1.3.0 v1.1.0", "v1.3.0 v1.1.0"},
		"typo":           {"nothing is run of what is only half meant", matrix{}, "v1.3.0 v1.20", ""},
		"short":          {"the oldest one, where most is different", matrix{short: true}, "", "v1.1.0"},
		"short, chosen":  {"the short form is for make test", matrix{short: true}, "v1.3.0", ""},
		"short, updated": {"a few tests say nothing of a version", matrix{short: true, update: true}, "", ""},
	} {
		got, err := tc.m.choose(all, strings.Fields(tc.asked))
		if !slices.Equal(got, strings.Fields(tc.want)) || (err == nil) != (tc.want != "") {
			t.Errorf("%s: %s: got %v, %v", name, tc.reason, got, err)
		}
		if err != nil && name == "typo" && !strings.Contains(err.Error(), "v1.3.0, v1.2.0, v1.1.0") {
			t.Errorf("%s: %v does not say what there is", name, err)
		}
	}
}

func TestText(t *testing.T) {
	runs := []Run{
		{"v1.3.0", "abc", "2026-01-02", []Area{{Name: areas[0].name, Passed: 2}, {Name: areas[1].name, Others: []Result{{"TestX", failed, "why"}}}}},
		{"v1.1.0", "abc", "2026-01-02", []Area{{Name: areas[0].name, Passed: 1, Others: []Result{{"TestY", skippedTest, "no helm"}}}}},
	}
	var b bytes.Buffer
	writeText(&b, runs)
	for _, want := range []string{"Kubernetes", "v1.3.0", "2 of 2", "0 of 1", "1 of 2", "not run",
		"v1.3.0, validation: TestX has failed: why\n", "v1.1.0, install: TestY has been skipped: no helm\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	b.Reset()
	writeText(&b, nil)
	if b.Len() > 0 {
		t.Errorf("of no runs it prints %q", &b)
	}
}
