package plan

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// What a stronger pool changes at once counts in the budget of a weaker one.
func TestWhatAStrongerPoolChangesCounts(t *testing.T) {
	strong := func(value string) *v1.NodePool {
		return waitingPool("strong", all(prior(100), tainted(value, corev1.TaintEffectNoExecute)))
	}
	weak := waitingPool("weak", limited("1", time.Hour))
	node := followed(t, 60*24*time.Hour, strong("1"), weak)
	pools := []*v1.NodePool{strong("2"), weak}
	outcome := NodeOutcomeOf(node, expand(pools...), NodeFacts{Rollouts: RolloutsOf(pools), Now: closedAt})
	if at := outcome.Admission.Plan.Record.Change.At; at.IsZero() {
		t.Errorf("state %s: the NoExecute taint changes at once, and nothing says when: it does not count in the budget of weak", outcome.State)
	}
}

// A time is read only as it is written.
func TestTimesInRecords(t *testing.T) {
	for at, read := range map[string]bool{
		"2026-11-25T02:00:07Z": true, "9999-12-31T23:59:59Z": true,
		"0001-01-01T00:00:00Z": false, "2026-11-25T02:00:07+00:00": false, "2026-11-25T02:00:60Z": false, "2026-11-25T02:00:07.0Z": false, "": false,
	} {
		text := `{"version":1,"pools":{"p":{"labels":{"team":"ml"}}},"change":{"at":"` + at + `"}}`
		r, err := ParseRecord(text)
		if (err == nil) != read || read && r.String() != text {
			t.Errorf("%q is read: %v, want %t; written anew it is %s", at, err, read, r)
		}
	}
}
