package fleet

import (
	"testing"
	"time"

	"github.com/nodepools/nodepools/apply/plan"
)

// Pods are listed at again some time after another node was drained, and by and by while they
// find no place; meanwhile those count that were found, and nobody knows of others.
func TestWhenPodsAreLookedAt(t *testing.T) {
	turns := plan.Turns{Displaced: map[string]plan.Displaced{"p": {Pods: 1}}}
	some, none := map[string]plan.Displaced{"p": {Pods: 1}}, map[string]plan.Displaced{"p": {}}
	ago := func(d time.Duration) time.Time { return turnsNow.Add(-d) }
	for name, c := range map[string]struct {
		listed  time.Time
		found   map[string]plan.Displaced
		drained time.Time
		unknown bool
		again   time.Time
	}{
		"never":           {time.Time{}, nil, ago(time.Second), true, turnsNow},
		"some":            {ago(4 * time.Second), some, ago(time.Minute), false, ago(-6 * time.Second)},
		"some, long ago":  {ago(11 * time.Second), some, ago(time.Minute), false, ago(6 * time.Second)},
		"some, and since": {ago(4 * time.Second), some, ago(time.Second), false, ago(-time.Second)},
		"none":            {ago(4 * time.Second), none, ago(time.Minute), false, ago(-6 * time.Second)},
		"none, and since": {ago(4 * time.Second), none, ago(time.Second), true, ago(-time.Second)},
		"none, long ago":  {ago(11 * time.Second), none, ago(time.Minute), true, ago(6 * time.Second)},
		"noted ahead":     {ago(9 * time.Second), none, ago(-time.Second), true, ago(-time.Second)},
		"clock set back":  {ago(-time.Hour), none, ago(time.Minute), true, turnsNow},
	} {
		p := pendingPods{listed: c.listed, found: c.found}
		displacing := map[string]plan.Displacing{"p": {Since: ago(time.Hour), Last: c.drained}}
		if known := p.known(displacing, turnsNow)["p"]; known.Unknown != c.unknown {
			t.Errorf("%s: known is %+v", name, known)
		}
		if again := p.again(displacing, turns, turnsNow); !again.Equal(c.again) {
			t.Errorf("%s: listed at again at %v, want %v", name, again, c.again)
		}
		if again := p.again(displacing, plan.Turns{}, turnsNow); !again.IsZero() {
			t.Errorf("%s: nothing waits for that, and it is at %v", name, again)
		}
	}
}
