package sources

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// The status has which revision is held back: the last good one, whatever was polled after it, and
// whatever spec comes next. It has none once a revision is applied.
func TestStatusHasTheRevisionThatIsHeldBack(t *testing.T) {
	src := &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
	state := &fetchState{good: "main@sha1:2", revision: "main@sha1:3"}
	held := sourceFacts{fetchState: state, failure: &refusal{reason: v1.ReleaseBlockedReason, err: &plan.ReleaseBlock{Limit: "50%"}}}
	for _, pass := range []struct {
		what  string
		facts sourceFacts
		want  string
	}{
		{"held back", held, "main@sha1:2"},
		{"suspended", sourceFacts{pause: pauseOf(plan.SourceStateSuspended)}, "main@sha1:2"},
		{"not reached", sourceFacts{fetchState: &fetchState{unreachable: fmt.Errorf("no route")}}, "main@sha1:2"},
		{"applied", sourceFacts{fetchState: state, plan: &plan.PoolsPlan{}}, ""},
	} {
		src.Status = sourceStatus(src, pass.facts)
		src.Generation++
		if got := plan.ReleasePolicyOf(src).Blocked; got != pass.want {
			t.Errorf("%s: %q is held back at the next spec, want %q", pass.what, got, pass.want)
		}
	}
}

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
