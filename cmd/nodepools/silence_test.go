package main

import (
	"os"
	"testing"
)

// The controller gives silent connections up soon, but for a user who has said when.
func TestSilenceIsBounded(t *testing.T) {
	for name := range maxSilence {
		t.Setenv(name, "") // restores it in the end
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := boundSilence(); err != nil {
		t.Fatal(err)
	}
	for name, want := range maxSilence {
		if got := os.Getenv(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
		t.Setenv(name, "60")
	}
	if err := boundSilence(); err != nil {
		t.Fatal(err)
	}
	for name := range maxSilence {
		if got := os.Getenv(name); got != "60" {
			t.Errorf("%s is %q, and the user has said 60", name, got)
		}
	}
}
