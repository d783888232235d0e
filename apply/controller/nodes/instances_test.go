package nodes

import (
	"fmt"
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
	cases := map[string]struct {
		reason string
		steps  []step
		want   int32
	}{
		"others write":             {"three nodes that were not touched have another record", change(1, 2, 3, 4, 5), 1},
		"refused":                  {"they were faster", append([]step{{tries: 1}, {tries: 2}, {tries: 3}, {refused: 1}, {refused: 2}, {refused: 3}}, change(1, 2, 3)...), 1},
		"refused without a change": {"by the status that a kubelet writes", []step{{tries: 1}, {tries: 2}, {tries: 3}, {refused: 1}, {refused: 2}, {refused: 3}}, 0},
		"two nodes":                {"somebody may repair them by hand", change(1, 2, 1, 2), 0},
		"own writes":               {"they come back by the watch", append([]step{{tries: 1}, {tries: 2}, {tries: 3}}, change(1, 2, 3)...), 0},
		"late own writes":          {"the cache may be behind", append([]step{{tries: 1}, {tries: 2}, {tries: 3}, {after: balancePeriod}}, change(1, 2, 3)...), 0},
		"long ago":                 {"what was tried then says nothing of now", append([]step{{tries: 1}, {tries: 2}, {tries: 3}, {after: balancePeriod}, {tries: 9}, {after: balancePeriod}}, change(1, 2, 3)...), 1},
		"spread over an hour":      {"by hand, one after the other", []step{{changes: 1}, {after: time.Hour}, {changes: 2}, {after: time.Hour}, {changes: 3}}, 0},
		"other changes":            {"everybody may label a node", []step{{changes: 1, same: true}, {changes: 2, same: true}, {changes: 3, same: true}}, 0},
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
					i.add(fmt.Sprint(s.tries), +1)
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
