package main

import (
	"os/exec"
	"testing"
)

// What is quoted comes back from a real shell as it was.
func TestQuoted(t *testing.T) {
	for _, test := range []struct {
		reason, text, want string
	}{
		{"a plain path stays as it is", "/tmp/nodepools-demo-1/home", "/tmp/nodepools-demo-1/home"},
		{"a space does not part a word", "/tmp/my demo", "'/tmp/my demo'"},
		{"nothing is expanded", "/tmp/$HOME`id`*", "'/tmp/$HOME`id`*'"},
		{"a quote does not end it", "/tmp/ada's", `'/tmp/ada'\''s'`},
		{"nothing is a word too", "", "''"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			got := quoted(test.text)
			if got != test.want {
				t.Errorf("quoted gives %s, want %s", got, test.want)
			}
			printed, err := exec.Command("sh", "-c", "printf %s "+got).Output()
			if err != nil || string(printed) != test.text {
				t.Errorf("the shell reads %q, %v; want %q", printed, err, test.text)
			}
		})
	}
}

func TestAsked(t *testing.T) {
	for value, want := range map[string]bool{"": false, "0": false, "false": false, "False": false, "no": false, "1": true, "true": true, "yes": true} {
		t.Setenv("DEMO_STEP", value)
		if got := asked("DEMO_STEP"); got != want {
			t.Errorf("DEMO_STEP=%s: %t, want %t", value, got, want)
		}
	}
}
