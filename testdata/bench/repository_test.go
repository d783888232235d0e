package main

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A clone is counted as requests, one of which asks for objects; a list of references
// asks for none; a push is not counted at all.
func TestRepositoryCounts(t *testing.T) {
	if err := exec.CommandContext(t.Context(), "git", "http-backend", "-h").Run(); err != nil && strings.Contains(err.Error(), "not found") {
		t.Skip("git comes without http-backend")
	}
	r, err := newRepository(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	}()
	if got := r.read(); got != (gitReads{}) {
		t.Fatalf("after a push: %+v", got)
	}
	answer, err := http.Get(r.url + "/info/refs?service=git-upload-pack")
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("status %s, %v", answer.Status, err)
	}
	if got := r.read(); got.requests != 1 || got.packs != 0 || got.bytes == 0 {
		t.Errorf("after a list of references: %+v", got)
	}
	into := filepath.Join(t.TempDir(), "clone")
	if err := r.git(t.Context(), "clone", "--quiet", r.url, into); err != nil {
		t.Fatal(err)
	}
	if got := r.read(); got.packs != 1 || got.requests < 3 {
		t.Errorf("after a clone: %+v", got)
	}
	if files, err := filepath.Glob(filepath.Join(into, "pools", "*.yaml")); err != nil || len(files) != 1 {
		t.Errorf("the clone has %v, %v", files, err)
	}
}
