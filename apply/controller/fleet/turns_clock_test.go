package fleet

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// A record that says that the node began in the year 9999 hides nothing of what it begins
// from then on.
func TestRecordOfTheFutureHidesNothing(t *testing.T) {
	turns := newTurns()
	now := turnsNow
	turns.clock.Now = func() time.Time { return now }
	forged := Observation{Epoch: 1, UID: "1", FollowerState: plan.FollowerState{Members: []string{"p"}, Recorded: []string{"p"}, Change: plan.LastChange{At: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)}}}
	turns.ended("a", &forged)
	turns.known([]plan.Follower{{Name: "a", Pools: []string{"p"}, Change: forged.Change}}, &Snapshot{Epoch: 1}, now)
	now = now.Add(24 * time.Hour)
	began := Observation{Epoch: 1, UID: "1", FollowerState: plan.FollowerState{Members: []string{"p"}, Recorded: []string{"p"}, Change: plan.LastChange{At: now, Pools: map[string]plan.FollowedPool{"p": {At: now, Spec: "new"}}}}}
	turns.ended("a", &began)
	known := turns.known([]plan.Follower{{Name: "a", Pools: []string{"p"}, Change: began.Change}}, &Snapshot{Epoch: 1}, now)
	if change := known[0].Change; !change.At.Equal(now) || change.Pools["p"].Spec != "new" {
		t.Errorf("a began at %v, and is taken for one that began at %v, and followed %v", now, change.At, change.Pools)
	}
}

// At an opening it is the turn of the first node, though the pass over another one has ended
// before; but nobody waits for long for a pass that does not end.
func TestTurnsWaitForAllWhoseWindowOpens(t *testing.T) {
	one := intstr.FromInt32(1)
	list := &poolList{pools: map[string]*v1.NodePool{"p": turnsPool("p", &v1.Rollout{MaxUnavailable: &one, MinReady: &metav1.Duration{Duration: time.Minute}})}}
	for _, ends := range []bool{true, false} {
		f := turnsFleet(t, list)
		turn := plan.NodeWait{{Pool: "p", Restriction: &plan.Restriction{For: []string{"p"}, Turn: true}}}
		closed := plan.NodeWait{{Pool: "p", Restriction: &plan.Restriction{For: []string{"p"}, Until: turnsNow}}}
		report := func(node string, wait plan.NodeWait, asks ...string) {
			asking := &plan.Asking{}
			for _, pool := range asks {
				asking.Asks = append(asking.Asks, plan.Ask{Pool: pool})
			}
			f.Report(node, Observation{Epoch: 1, FollowerState: plan.FollowerState{Ready: true, Members: []string{"p"}, Recorded: []string{"p"}, Wait: wait, Asking: asking}}, nil)
		}
		var given []string
		give := func(after time.Duration) {
			t.Helper()
			f.turns.clock.Now = func() time.Time { return turnsNow.Add(after) }
			if _, err := f.giveTurns(t.Context(), noChanges, func(node string) { given = append(given, node) }); err != nil {
				t.Fatal(err)
			}
		}
		report("a", closed)
		report("b", turn, "p")
		if give(0); len(given) > 0 {
			t.Fatalf("it is the turn of %v, and it is not known yet that a asks", given)
		}
		want := "b"
		if ends {
			report("a", turn, "p")
			want = "a"
		}
		if give(openingPeriod); !slices.Equal(given, []string{want}) {
			t.Errorf("the pass over a has ended: %t; and it is the turn of %v, want %s", ends, given, want)
		}
	}
}
