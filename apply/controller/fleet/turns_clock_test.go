package fleet

import (
	"testing"
	"time"

	"github.com/nodepools/nodepools/apply/plan"
)

// A record that says that the node began in the year 9999 hides nothing of what it begins
// from then on.
func TestRecordOfTheFutureHidesNothing(t *testing.T) {
	turns := newTurns()
	now := turnsNow
	turns.clock.Now = func() time.Time { return now }
	forged := Observation{Epoch: 1, UID: "1", Members: []string{"p"}, Recorded: []string{"p"}, Change: plan.LastChange{At: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)}}
	turns.ended("a", nil, &forged)
	turns.known([]plan.Follower{{Name: "a", Pools: []string{"p"}, Change: forged.Change}}, &Snapshot{Epoch: 1}, now)
	now = now.Add(24 * time.Hour)
	began := Observation{Epoch: 1, UID: "1", Members: []string{"p"}, Recorded: []string{"p"},
		Change: plan.LastChange{At: now, Pools: map[string]plan.FollowedPool{"p": {At: now, Content: "new"}}}}
	turns.ended("a", &forged, &began)
	known := turns.known([]plan.Follower{{Name: "a", Pools: []string{"p"}, Change: began.Change}}, &Snapshot{Epoch: 1}, now)
	if change := known[0].Change; !change.At.Equal(now) || change.Pools["p"].Content != "new" {
		t.Errorf("a began at %v, and is taken for one that began at %v, and followed %v", now, change.At, change.Pools)
	}
}
