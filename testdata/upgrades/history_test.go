package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// Commits count that change a definition or the format of the record, once there is a
// program to run.
func TestHistory(t *testing.T) {
	t.Chdir(t.TempDir())
	do(t, "init", "--quiet")
	commits := []struct{ title, file, text, reason string }{
		{"before", "api/crds/pools.yaml", "a", ""},                // there is no program
		{"program", controllerFile, "package main", "definition"}, // it has that of before
		{"first record", "apply/plan/record.go", "const recordVersion = 1\n", "record"},
		{"comment", "apply/plan/record.go", "// It is written.\nconst recordVersion = 1\n", ""},
		{"field", "apply/plan/recordtext.go", "Pools map[string]string `json:\"pools\"`\n", "record"},
		{"test", "apply/plan/record_test.go", "const recordVersion = 2\n", ""},
		{"definition", "api/crds/pools.yaml", "b", "definition"},
		{"other Go", "api/crds/crds.go", "const recordVersion = 3\n", ""},
	}
	want := map[string]bool{} // by title, whether the record changed
	for _, c := range commits {
		if err := os.MkdirAll(filepath.Dir(c.file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(c.file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		do(t, "add", ".")
		do(t, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", c.title)
		if c.reason != "" {
			want[c.title] = c.reason == "record"
		}
	}
	found, without, err := history(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if without != 1 {
		t.Errorf("%d commits without a program, want 1", without)
	}
	if len(found) != len(want) {
		t.Errorf("found %v, want %v", found, want)
	}
	for _, c := range found {
		if record, counts := want[c.title]; !counts || record != c.record {
			t.Errorf("found %v", c)
		}
	}
	all, err := choose(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(all, func(c commit) bool { return !c.record }); i != 2 || all[0].title != "field" {
		t.Errorf("those that changed the record come first, the newest before the others: %v", all)
	}
}

// A commit can be named that is not in the list, but none without a program.
func TestNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	do(t, "init", "--quiet")
	commitAll := []string{"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--allow-empty", "-m", "empty"}
	do(t, commitAll...)
	if _, err := named(t.Context(), []string{"HEAD"}); err == nil {
		t.Error("a commit without a program is taken")
	}
	if err := os.MkdirAll(filepath.Dir(controllerFile), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(controllerFile, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	do(t, "add", ".")
	do(t, commitAll...)
	if got, err := named(t.Context(), []string{"HEAD"}); err != nil || len(got) != 1 || got[0].record {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := named(t.Context(), []string{"--all"}); err == nil {
		t.Error("a flag is taken for a commit")
	}
}

func do(t *testing.T, args ...string) {
	t.Helper()
	if printed, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, printed)
	}
}
