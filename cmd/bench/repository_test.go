package main

import (
	"net/http"
	"path/filepath"
	"testing"
)

// A clone is counted as requests, one of which asks for objects; a list of references
// asks for none; a push is not counted at all.
func TestRepositoryCounts(t *testing.T) {
	r, err := newRepository(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	}()
	soFar := func() traffic {
		t.Helper()
		so, err := r.soFar(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return so
	}
	if got := soFar(); got != (traffic{}) {
		t.Fatalf("after a push: %+v", got)
	}
	answer, err := http.Get(r.address() + "/info/refs?service=git-upload-pack")
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("status %s, %v", answer.Status, err)
	}
	if got := soFar(); got.Requests != 1 || got.Packs != 0 || got.Bytes == 0 {
		t.Errorf("after a list of references: %+v", got)
	}
	into := filepath.Join(t.TempDir(), "clone")
	if err := r.git(t.Context(), "clone", "--quiet", r.address(), into); err != nil {
		t.Fatal(err)
	}
	if got := soFar(); got.Packs != 1 || got.Requests < 3 {
		t.Errorf("after a clone: %+v", got)
	}
	if files, err := filepath.Glob(filepath.Join(into, "pools", "*.yaml")); err != nil || len(files) != 1 {
		t.Errorf("the clone has %v, %v", files, err)
	}
}
