package main

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// The README shows what explain prints, and not what somebody thinks it prints.
func TestReadmeShowsRealOutput(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	script, err := txtar.ParseFile("testdata/script/cluster/explain.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range script.Files {
		if file.Name == "settled.txt" {
			if !strings.Contains(string(readme), "$ nodepools explain node gpu-1\n"+string(file.Data)+"```\n") {
				t.Errorf("the README does not show what explain prints:\n%s", file.Data)
			}
			return
		}
	}
	t.Fatal("the script has no settled.txt")
}
