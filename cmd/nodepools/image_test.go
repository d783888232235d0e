package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/api/manifests"
)

// The manifests of a release name the image where install looks for it.
func TestReleasesArePublishedWhereInstallLooks(t *testing.T) {
	for file, want := range map[string]string{
		"Makefile":            "\nREPOSITORY ?= " + manifests.DefaultRepository + "\n",
		"cmd/publish/main.go": `"` + manifests.DefaultRepository + `"`,
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s does not name %s", file, manifests.DefaultRepository)
		}
	}
}
