package plan

import (
	"testing"
	"time"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// While nodes wait for their turn, the nodes that use up the budget are named: the first of those
// that are not available, with the reason, and how many settle.
func TestWhoUsesUpTheBudget(t *testing.T) {
	rollouts := RolloutsOf([]*v1.NodePool{waitingPool("p", limited("2", time.Minute))})
	of := func(name string, changes ...func(*Follower)) Follower {
		f := Follower{Name: name, Pools: []string{"p"}}
		for _, change := range changes {
			change(&f)
		}
		return f
	}
	waits := func(f *Follower) { f.Waits, f.Asks = []string{"p"}, asksFor("p") }
	cordoned := func(f *Follower) { f.Unavailable = true }
	down := func(f *Follower) { f.Unready, f.Unavailable = true, true }
	unmet := func(f *Follower) { f.Unmet = map[string]string{"p": "has condition GPUHealthy=False"} }
	settles := func(f *Follower) { f.Change.At = closedAt.Add(-time.Second) }
	drained := func(f *Follower) { f.Change.Drains = map[render.TaintID]DrainedTaint{{Key: "k"}: {Pool: "p"}} }
	for name, c := range map[string]struct {
		reason string
		nodes  []Follower
		want   string
	}{
		"cordoned": {"somebody has to uncordon it", []Follower{of("a", cordoned), of("b", settles), of("c", waits)}, "node a is cordoned; 1 node is settling"},
		"two of them": {"the first by name, with its own reason", []Follower{of("a", down, waits), of("b", cordoned), of("c", waits)},
			"2 nodes are not available: node a is not ready, for one"},
		"a condition":        {"as it is on the node", []Follower{of("a", unmet), of("b", drained), of("c", waits)}, "2 nodes are not available: node a has condition GPUHealthy=False, for one"},
		"drained":            {"its pods go", []Follower{of("a", drained), of("b", settles), of("c", waits)}, "node a is being drained; 1 node is settling"},
		"both settle":        {"they are available, and nobody has to act", []Follower{of("a", settles), of("b", settles), of("c", waits)}, "2 nodes are settling"},
		"one settles of two": {"there is room for another one", []Follower{of("a", settles), of("b"), of("c", waits)}, ""},
		"one has left":       {"it settles where it is now", []Follower{of("a", settles, func(f *Follower) { f.Pools = nil; f.Change.Pools = map[string]FollowedPool{"p": {At: f.Change.At}} }), of("b", settles), of("c", waits)}, "2 nodes are settling"},
		"nothing waits":      {"then it is no matter", []Follower{of("a", cordoned), of("b", cordoned), of("c")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rollouts.Turns(asking(c.nodes), nil, closedAt, true).Unavailable["p"].String(); got != c.want {
				t.Errorf("it says %q, want %q: %s", got, c.want, c.reason)
			}
		})
	}
}
