package program

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What the user tries out in Go has no part in what is published.
func TestCompileRefusesExperiments(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":                "module example.com/n\n\ngo 1.26\n",
		"cmd/nodepools/main.go": "package main\n\nfunc main() {}\n",
		"env":                   "GOEXPERIMENT=nogreenteagc\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	source := Source{Dir: dir, Version: "v1.2.3"}
	compile := func(file string) error {
		return source.Compile(t.Context(), "go", Host(), filepath.Join(dir, file), io.Discard)
	}
	if err := compile("plain"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOEXPERIMENT", "nogreenteagc")
	if err := compile("variable"); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(dir, "plain"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "variable")); err != nil || string(got) != string(want) {
		t.Errorf("a variable of the environment changes the program, %v", err)
	}
	t.Setenv("GOENV", filepath.Join(dir, "env"))
	if err := compile("written"); err == nil || !strings.Contains(err.Error(), "experiments nogreenteagc") {
		t.Errorf("what go env -w has written: %v", err)
	}
}
