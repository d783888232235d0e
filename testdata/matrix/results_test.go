package main

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/testdata/docs"
)

var update = flag.Bool("update", false, "write the table of the page")

// inRoot makes the root of the repository the working directory, and returns the versions.
func inRoot(t *testing.T) []string {
	t.Helper()
	t.Chdir(docs.Root(t))
	all, err := versions(t.Context())
	if err != nil || len(all) < 2 {
		t.Fatalf("the versions are %v (%v)", all, err)
	}
	return all
}

// The page shows the results that are kept, and names a version that was not run as that.
func TestPageShowsTheResults(t *testing.T) {
	all := inRoot(t)
	runs, err := readRuns(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range runs {
		if !slices.Contains(all, run.Kubernetes) {
			t.Errorf("there are results of %s, which cannot be brought any more", run.Kubernetes)
		}
	}
	want, err := shown(".", all, runs)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(pageFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s does not show %s; renew it with go test ./testdata/matrix -update (-want +got):\n%s", pageFile, resultsFile, diff)
	}
}

// A version is required as the oldest because everything holds on it. So it does on all
// that were run.
func TestEverythingHeldWhereItWasRun(t *testing.T) {
	all := inRoot(t)
	runs, err := readRuns(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range runs {
		if run.failed() {
			t.Errorf("tests have failed on %s: %+v", run.Kubernetes, run.Areas)
		}
	}
	oldest := all[len(all)-1]
	if !slices.ContainsFunc(runs, func(r Run) bool { return r.Kubernetes == oldest }) {
		t.Errorf("there are no results of %s, the oldest version; run make matrix VERSIONS=%s", oldest, oldest)
	}
}

func TestPublish(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{resultsFile, pageFile} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	page := filepath.Join(root, pageFile)
	if err := os.WriteFile(page, []byte("before\n"+tableBegin+"old\n"+tableEnd+"after\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	all := []string{"v1.3.0", "v1.2.0", "v1.1.0"}
	one := []Area{{Name: areas[0].name, Passed: 2}}
	for _, run := range []Run{
		{"v1.1.0", "aaa", "2026-01-01", one},
		{"v1.0.0", "aaa", "2026-01-01", one}, // which is no longer there
		{"v1.3.0", "aaa", "2026-01-01", one},
		{"v1.1.0", "bbb", "2026-01-02", []Area{{Name: areas[0].name, Passed: 1, Others: []Result{{"TestX", skippedTest, "a | b <c>"}}}}},
	} {
		if err := publish(root, all, run); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := readRuns(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) != 2 || runs[0].Kubernetes != "v1.3.0" || runs[1].Revision != "bbb" || runs[1].Areas[0].Others[0].Reason != "a | b <c>" {
		t.Errorf("kept are %+v", runs)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(string(text)), " ")
	if strings.Contains(got, " old ") || !strings.HasPrefix(got, "before") || !strings.HasSuffix(got, "after") {
		t.Errorf("the page is\n%s", text)
	}
	for _, want := range []string{
		"| v1.3.0 | 2 of 2 |", "| 2026-01-01, aaa |",
		"| v1.2.0 | not run |", "| not run |",
		"| v1.1.0 | 1 of 2 |", "| 2026-01-02, bbb |",
		"- v1.1.0, install: TestX has been skipped: a \\| b &lt;c&gt;",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(got, "v1.0.0") {
		t.Errorf("a version that is no longer there is shown:\n%s", text)
	}
}

func TestInAreas(t *testing.T) {
	a, b, c := named{"one", "x", "TestA"}, named{"one", "x", "TestB"}, named{"two", "x", "TestC"}
	got := inAreas([]named{a, b, c}, map[named]Result{a: {Outcome: passed}, b: {Outcome: failed, Reason: "why"}, c: {Outcome: passed}})
	want := []Area{
		{Name: "one", Passed: 1, Others: []Result{{"TestB", failed, "why"}}},
		{Name: "two", Passed: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if run := (Run{Areas: got}); !run.failed() {
		t.Error("a run with a test that failed has not failed")
	}
	if run := (Run{Areas: got[1:]}); run.failed() {
		t.Error("a run in which all passed has failed")
	}
}
