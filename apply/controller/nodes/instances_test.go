package nodes

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/nodecache"
	"github.com/nodepools/nodepools/apply/plan"
)

func TestInstances(t *testing.T) {
	type step struct {
		tries, refused, changes int // the number of a node
		after                   time.Duration
		same                    bool // its record stays
	}
	change := func(nodes ...int) (steps []step) {
		for _, node := range nodes {
			steps = append(steps, step{changes: node})
		}
		return steps
	}
	tries := []step{{tries: 1}, {tries: 2}, {tries: 3}}
	cases := map[string]struct {
		reason string
		steps  []step
		want   int32
	}{
		"others write":             {"three nodes that were not touched have another record", change(1, 2, 3, 4, 5), 1},
		"refused":                  {"they were faster", slices.Concat(tries, []step{{refused: 1}, {refused: 2}, {refused: 3}}, change(1, 2, 3)), 1},
		"refused without a change": {"by the status that a kubelet writes", slices.Concat(tries, []step{{refused: 1}, {refused: 2}, {refused: 3}}), 0},
		"two nodes":                {"somebody may repair them by hand", change(1, 2, 1, 2), 0},
		"own writes":               {"they come back by the watch", slices.Concat(tries, change(1, 2, 3)), 0},
		"late own writes":          {"the cache may be behind", slices.Concat(tries, []step{{after: unseenPeriod}}, change(1, 2, 3)), 0},
		"own writes at the end of two periods": {"each is seen in the next one", slices.Concat(
			tries, []step{{after: unseenPeriod}}, change(1, 2, 3), tries, []step{{after: unseenPeriod}}, change(1, 2, 3),
		), 0},
		"long ago":          {"what was tried then says nothing of now", slices.Concat(tries, []step{{after: unseenPeriod}, {tries: 9}, {after: unseenPeriod}}, change(1, 2, 3)), 1},
		"tried an hour ago": {"and nothing happened since", slices.Concat(tries, []step{{after: time.Hour}}, change(1, 2, 3)), 1},
		"never seen": {"what the watch has left out in each period hides nothing", slices.Concat(
			tries, []step{{after: unseenPeriod}}, tries, change(1, 2, 3), []step{{after: unseenPeriod}}, tries, change(1, 2, 3),
			[]step{{after: unseenPeriod}}, change(1, 2, 3),
		), 1},
		"spread over an hour": {"by hand, one after the other", []step{{changes: 1}, {after: time.Hour}, {changes: 2}, {after: time.Hour}, {changes: 3}}, 0},
		"other changes":       {"everybody may label a node", []step{{changes: 1, same: true}, {changes: 2, same: true}, {changes: 3, same: true}}, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			said := &atomic.Int32{}
			i := newInstances(funcr.New(func(_, line string) {
				if strings.Contains(line, "another instance of nodepools") {
					said.Add(1)
				}
			}, funcr.Options{}))
			i.now = func() time.Time { return now }
			for _, s := range c.steps {
				now = now.Add(s.after)
				if s.tries > 0 {
					i.sends(fmt.Sprint(s.tries))
				}
				if s.refused > 0 {
					i.account(fmt.Sprint(s.refused))
				}
				if s.changes > 0 {
					before := &nodecache.Node{NodeState: plan.NodeState{Name: fmt.Sprint(s.changes)}}
					after := &nodecache.Node{NodeState: before.NodeState}
					if after.Labels = map[string]string{"a": "b"}; !s.same {
						after.Annotations = map[string]string{v1.AppliedAnnotation: "{}"}
					}
					i.changed(before, after)
				}
			}
			if got := said.Load(); got != c.want {
				t.Errorf("said %d times, want %d: %s", got, c.want, c.reason)
			}
		})
	}
}
