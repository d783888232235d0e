package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// How many nodes are on their way is counted as turns are given: what counts against a budget
// is what the budget goes by.
func TestRolloutNodes(t *testing.T) {
	of := func(name string, changes ...func(*Follower)) Follower {
		f := Follower{Name: name, Pools: []string{"p"}}
		for _, change := range changes {
			change(&f)
		}
		return f
	}
	waits := func(f *Follower) { f.Asks, f.Waits = asksFor("p"), []string{"p"} }
	down := func(f *Follower) { f.Unready, f.Unavailable = true, true }
	cordoned := func(f *Follower) { f.Unavailable = true }
	busy := func(f *Follower) { f.Busy, f.Begun = true, []string{"p"} }
	drained := func(f *Follower) {
		f.Change.Drains = map[render.TaintID]DrainedTaint{{Key: "k", Effect: corev1.TaintEffectNoExecute}: {Pool: "p"}}
	}
	followed := func(ago time.Duration) func(*Follower) {
		return func(f *Follower) {
			f.Change.At = closedAt.Add(-ago)
			f.Change.Pools = map[string]FollowedPool{"p": {At: f.Change.At}}
		}
	}
	const month = 30 * 24 * time.Hour
	pools := []*v1.NodePool{waitingPool("p", limited("3", time.Minute)), waitingPool("other", nothing), waitingPool("idle", limited("1", time.Minute))}
	cases := map[string]struct {
		reason string
		nodes  []Follower
		want   RolloutNodes
	}{
		"all ask":            {"it is the turn of three", []Follower{of("a", waits), of("b", waits), of("c", waits), of("d", waits)}, RolloutNodes{Following: 3, Unavailable: 3}},
		"one was written":    {"and is not ready for long enough", []Follower{of("a", followed(time.Second)), of("b", waits, cordoned)}, RolloutNodes{Following: 1, Unavailable: 2}},
		"one is ready":       {"for long enough", []Follower{of("a", followed(time.Minute)), of("b", waits, cordoned)}, RolloutNodes{Unavailable: 1}},
		"one has its turn":   {"nothing is known of it yet", []Follower{of("a", waits, busy), of("b", waits, cordoned)}, RolloutNodes{Following: 1, Unavailable: 2}},
		"one is drained":     {"it follows when it is empty", []Follower{of("a", drained), of("b")}, RolloutNodes{Following: 1, Unavailable: 1}},
		"one is down":        {"whatever has made it so", []Follower{of("a", down), of("b", waits, cordoned)}, RolloutNodes{Unavailable: 2}},
		"one has failed":     {"it was ready when it began to follow what others wait for", []Follower{of("a", down, followed(time.Hour)), of("b", waits, cordoned)}, RolloutNodes{Unavailable: 2, Failed: 1}},
		"one was down":       {"it was not ready when it began", []Follower{of("a", down, followed(month), func(f *Follower) { f.Change.Pools = map[string]FollowedPool{"p": {Unready: true}} }), of("b", waits, cordoned)}, RolloutNodes{Unavailable: 2}},
		"one has left":       {"it is on its way still", []Follower{of("a", followed(time.Second), func(f *Follower) { f.Pools = []string{"other"} }), of("b", waits, cordoned)}, RolloutNodes{Unavailable: 2}},
		"none waits":         {"it is not known", []Follower{of("a", down, followed(time.Hour))}, RolloutNodes{}},
		"nothing waits in p": {"a node that is down is down for another reason", []Follower{of("a", down, followed(time.Hour)), of("b", func(f *Follower) { f.Pools, f.Waits = []string{"other"}, []string{"other"} })}, RolloutNodes{Unavailable: 1}},
	}
	for name, c := range cases {
		counts := RolloutsOf(pools).Turns(asking(c.nodes), nil, closedAt, true).Counts
		if diff := cmp.Diff(c.want, counts["p"]); diff != "" {
			t.Errorf("%s, as %s (-want +got):\n%s", name, c.reason, diff)
		}
		if _, counted := counts["other"]; counted {
			t.Errorf("%s: nodes take no turns in a pool, and are counted there", name)
		}
	}
}
