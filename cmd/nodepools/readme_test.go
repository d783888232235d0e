package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/nodepools/nodepools/testdata/docs"
)

// The documentation shows what explain prints, and not what somebody thinks it prints.
func TestReadmeShowsRealOutput(t *testing.T) {
	shown := docs.Cut(t, "```\n$ nodepools explain node gpu-1\n", "```\n")
	script, err := txtar.ParseFile("testdata/script/cluster/explain.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range script.Files {
		if file.Name == "settled.txt" {
			if shown != string(file.Data) {
				t.Errorf("the documentation does not show what explain prints:\n%s", file.Data)
			}
			return
		}
	}
	t.Fatal("the script has no settled.txt")
}
