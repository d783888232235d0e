package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/testdata/docs"
)

// A test that was renamed would silently not run, on any version.
func TestTestsOfAreasExist(t *testing.T) {
	sources := map[string]string{}
	seen := map[string]string{}
	for _, test := range testsOf(false) {
		key := test.folder + " " + test.name
		if seen[key] != "" {
			t.Errorf("%s is in the areas %s and %s", key, seen[key], test.area)
		}
		seen[key] = test.area
		if sources[test.folder] == "" {
			sources[test.folder] = testSource(t, test.folder)
		}
		name, script, isScript := strings.Cut(test.name, "/")
		if !strings.Contains(sources[test.folder], "\nfunc "+name+"(t *testing.T)") {
			t.Errorf("%s has no test %s", test.folder, name)
		}
		path := filepath.Join(docs.Root(t), test.folder, "testdata", "script", "cluster", script+".txtar")
		if _, err := os.Stat(path); isScript && err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// testSource is the text of the test files of a package.
func testSource(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(docs.Root(t), folder, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no tests (%v)", folder, err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// The short form has something of each area, and the long one has all of the short one.
func TestShortFormHasEveryArea(t *testing.T) {
	long := testsOf(false)
	var found []string
	for _, test := range testsOf(true) {
		if !slices.Contains(long, test) {
			t.Errorf("%v is in the short form alone", test)
		}
		if !slices.Contains(found, test.area) {
			found = append(found, test.area)
		}
	}
	if len(found) != len(areas) {
		t.Errorf("the short form has tests of %v", found)
	}
}

func TestPattern(t *testing.T) {
	got := pattern([]named{{name: "TestA"}, {name: "TestScripts/one"}})
	if want := "^TestA$|^TestScripts$/^one$"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
