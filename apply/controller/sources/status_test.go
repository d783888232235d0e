package sources

import (
	"fmt"
	"strings"
	"testing"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// What an API server says is bounded and on one line before it is reported.
func TestGitServerTextIsBounded(t *testing.T) {
	long := &refusal{reason: v1.ApplyReason, err: fmt.Errorf("says:\x1b[31m\n%s", strings.Repeat("é", 5000))}
	facts := sourceFacts{fetchState: &fetchState{good: "main@sha1:1", revision: "main@sha1:1"}, failure: long}
	for _, c := range facts.conditions(nil) {
		if len(c.message) > 1000 || strings.ContainsRune(c.message, '\x1b') {
			t.Errorf("%s has a message of %d bytes: %.300q", c.kind, len(c.message), c.message)
		}
	}
}
