package window

import (
	"fmt"
	"testing"
	"time"
)

// However many windows and exclusions take turns, a search ends soon after its budget is
// spent: within one round of all of them.
func TestSearchIsBounded(t *testing.T) {
	at := moment(t, "2026-07-01T12:10:00Z")
	halves := func(distinct bool) []Rule {
		var rules []Rule
		for i := range 64 {
			rule := Rule{Schedule: fmt.Sprintf("%d * * * *", i%2*30), Duration: 30 * time.Minute}
			if distinct { // the same half hours, and another text
				rule.Schedule = fmt.Sprintf("%d,%d * * * *", i%2*30, i%2*30+i/2%30)
			}
			rules = append(rules, rule)
		}
		return rules
	}
	var minutes []Rule
	for i := range 64 {
		minutes = append(minutes, Rule{Schedule: fmt.Sprintf("%d-59/2 * * * *", i%2), TimeZone: []string{"UTC", "Europe/Berlin", "Asia/Kolkata"}[i%3], Duration: time.Duration(i+1) * time.Minute})
	}
	cases := map[string]struct {
		reason              string
		windows, exclusions []Rule
		most                int
	}{
		"half hours that take turns":  {"of equal rules one is left", nil, halves(false), maxEvaluations + 1000},
		"and are not written equally": {"each is evaluated", nil, halves(true), maxEvaluations + 10_000},
		"windows that touch":          {"until is bounded as well", minutes[:16], nil, maxEvaluations + 10_000},
		"minutes of several zones":    {"none is ever free", minutes[:16], minutes, maxEvaluations + 10_000},
		"leap days that are excluded": {"nine years have few of them", []Rule{{Schedule: "0 0 29 2 *", Duration: time.Hour}}, []Rule{{Schedule: "0 0 29 2 *", Duration: 2 * time.Hour}}, 2000},
	}
	for name, c := range cases {
		calendar := New(c.windows, c.exclusions)
		b := newBudget()
		next, found := calendar.next(at, b)
		if used := maxEvaluations - b.left; used > c.most || used == 0 || found != (c.exclusions == nil) {
			t.Errorf("%s: %d evaluations, want %d at most; opens at %v (found: %t): %s", name, used, c.most, next, found, c.reason)
		}
		b = newBudget()
		calendar.until(at, b)
		if used := maxEvaluations - b.left; used > c.most {
			t.Errorf("%s: %d evaluations for the end, want %d at most: %s", name, used, c.most, c.reason)
		}
	}
	if kept := len(New(nil, halves(false)).exclusions); kept != 2 {
		t.Errorf("%d exclusions are left, want 2", kept)
	}
	started := newBudget()
	if _, found := New([]Rule{{Schedule: "0 2 * * *", TimeZone: "Europe/Berlin", Duration: time.Hour}}, halves(false)[:1]).next(at, started); !found || maxEvaluations-started.left > 100 {
		t.Errorf("an ordinary search takes %d evaluations (found: %t), want few", maxEvaluations-started.left, found)
	}
}
