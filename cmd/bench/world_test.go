package main

import (
	"os"
	"strings"
	"testing"
)

// What cannot be started is said, and nothing is left of what was begun.
func TestWorldWithoutProgram(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	_, err := newWorld(t.Context(), options{program: "no/such/program"}, size{nodes: 1, pools: 1}, func(error) {})
	if err == nil || !strings.Contains(err.Error(), "make bench") {
		t.Errorf("error is %v, expected what to do", err)
	}
	left, err := os.ReadDir(temporary)
	if err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
