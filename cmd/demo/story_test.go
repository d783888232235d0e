package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// The story is printed to its end, in 80 columns. That what it says comes to pass it
// sees to itself: the evictions that were foretold, the conflict, and all else.
func TestStory(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane; run without -short")
	}
	t.Setenv("DEMO_KEEP", "")
	t.Chdir(filepath.Join("..", ".."))
	dir := t.TempDir()
	program := filepath.Join(dir, "nodepools")
	if output, err := exec.Command("go", "build", "-o", program, "./cmd/nodepools").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	var out strings.Builder
	s := &stage{out: &out, program: program, page: filepath.Join(dir, "review.html")}
	if code := s.run(t.Context()); code != 0 {
		t.Fatalf("the exit code is %d\n%s", code, out.String())
	}
	printed := out.String()
	for line := range strings.Lines(printed) {
		// The name of the folder of this test is as long as it is.
		if line = strings.TrimRight(line, "\n"); utf8.RuneCountInString(line) > 80 && !strings.Contains(line, dir) {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
	if strings.Contains(printed, s.git.token) || strings.Contains(printed, s.git.signature) {
		t.Error("a token is printed")
	}
	for _, want := range []string{
		"2 pods of 1 Deployment evicted; PodDisruptionBudget default/shop exceeded",
		"exactly the pods that diff has",
		"label example.com/backup stays \"daily\": backup has set it",
		"Secret nodepools-system/platform: does not exist", "secret/platform created", "https://127.0.0.1:",
		"Halted; stalled since ", "nodepools resume general", "13/13  ", "That was all, in ",
		"is kept as a page. Open it in a browser:\n\n" + s.page + "\n",
		"What was started is stopped and removed.",
	} {
		if !strings.Contains(printed, want) {
			t.Errorf("%q is not printed", want)
		}
	}
	if page, err := os.ReadFile(s.page); err != nil || !strings.Contains(string(page), "default/shop") {
		t.Errorf("the page that is kept has %d bytes, without the Deployment (%v)", len(page), err)
	}
	if _, err := os.Stat(s.dir); err == nil {
		t.Errorf("%s is left behind", s.dir)
	}

	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, excerpt, found := strings.Cut(string(readme), "From the demo:\n\n```\n")
	excerpt, _, ended := strings.Cut(excerpt, "```\n")
	if !found || !ended {
		t.Fatal("the README has no excerpt")
	}
	printed = timeless(printed)
	for paragraph := range strings.SplitSeq(timeless(excerpt), "\n\n") {
		if !strings.Contains(printed, strings.TrimSpace(paragraph)) {
			t.Errorf("the README has what the demo does not print:\n%s", paragraph)
		}
	}
}

// varying is what differs from run to run: times, pods and their order, and how many
// blanks come after them.
var varying = regexp.MustCompile(`\b[0-9.]+ ?m?s\b *|shop-[0-9a-z]+-[0-9a-z]+( on worker-0[12])?| +\n`)

func timeless(text string) string {
	return varying.ReplaceAllStringFunc(text, func(match string) string {
		if strings.HasSuffix(match, "\n") {
			return "\n"
		}
		return "… "
	})
}

// An interrupt ends the story, and leaves nothing behind.
func TestStoryIsInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	s := &stage{out: new(strings.Builder), program: "bin/nodepools"}
	if code := s.run(ctx); code != exitInterrupted {
		t.Errorf("the exit code is %d", code)
	}
}
