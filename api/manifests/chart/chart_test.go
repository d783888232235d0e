package chart_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/api/manifests/chart"
)

// folder of the chart that is committed.
const folder = "../../../charts/nodepools"

// What is committed is what the typed objects say, no file more and no byte less.
func TestChartIsUpToDate(t *testing.T) {
	files, err := chart.Files()
	if err != nil {
		t.Fatal(err)
	}
	committed := map[string]bool{}
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		committed[filepath.ToSlash(name)] = true
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
		if err != nil || string(got) != string(want) {
			t.Errorf("charts/nodepools/%s is not what api/manifests says; run make generate (%v)", name, err)
		}
		delete(committed, name)
	}
	for name := range committed {
		t.Errorf("charts/nodepools/%s is not of the chart", name)
	}
}

// What stands in an object must not be read as an expression, and nothing of how the
// templates are made may be left in them.
func TestTemplatesHaveNoMarkers(t *testing.T) {
	files, err := chart.Files()
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		for _, word := range []string{"helm-hole", "namespace-of-the-release"} {
			if strings.Contains(string(content), word) {
				t.Errorf("%s has %q in it", name, word)
			}
		}
	}
}
