package push

import (
	"strings"
	"testing"
)

// What libraries put into an error may have come from a registry.
func TestTextOfOthersIsCleaned(t *testing.T) {
	s := &secrets{known: []string{"s3cr3t"}}
	for text, want := range map[string]string{
		"malformed answer \"s3cr3t\"": `malformed answer "***"`,
		"red \x1b[31m\r\nsecond":      "red  [31m  second",
		"turned \u202e around":        "turned   around",
		"not \xff UTF-8":              "not \uFFFD UTF-8",
		strings.Repeat("x", 1000):     strings.Repeat("x", 300) + "…",
	} {
		if got := s.clean(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
