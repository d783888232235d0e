package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A difference says how each taint comes of which a node is drained; whether it is drained at
// all, [TestWhatIsDrained] holds against what a controller does.
func TestDifferenceDrains(t *testing.T) {
	taint := corev1.Taint{Key: key, Value: "v", Effect: corev1.TaintEffectNoExecute}
	forced := func(p *v1.NodePool) {
		p.Spec.Rollout.Drain = &v1.Drain{Timeout: &metav1.Duration{Duration: time.Minute}, OnTimeout: v1.ForceOnTimeout}
	}
	twin := v1.Taint{Key: key, Value: "w", Effect: corev1.TaintEffectNoSchedule}
	before := waitingPool("p", labelled("1"))
	for name, c := range map[string]struct {
		reason string
		pools  []*v1.NodePool
		change func(*NodeState)
		want   []DrainBefore
	}{
		"Hold":  {"that is the default, after an hour", []*v1.NodePool{drainingPool(nil)}, nil, []DrainBefore{{Taint: taint, Timeout: time.Hour}}},
		"Force": {"what the pool says", []*v1.NodePool{drainingPool(forced)}, nil, []DrainBefore{{Taint: taint, Timeout: time.Minute, Force: true}}},
		"closed": {"what waits for a window is drained when that opens", []*v1.NodePool{drainingPool(func(p *v1.NodePool) { p.Spec.Rollout.Windows = nightly().Windows })}, nil,
			[]DrainBefore{{Taint: taint, Timeout: time.Hour}}},
		"a twin of somebody else": {"no pod is evicted", []*v1.NodePool{drainingPool(nil)}, func(node *NodeState) {
			node.Taints = append(node.Taints, corev1.Taint{Key: key, Value: "w", Effect: corev1.TaintEffectNoSchedule})
		}, []DrainBefore{{Taint: taint, Timeout: time.Hour, Obstacle: "taint " + key + ":NoSchedule=w of somebody else lets pods come that " + key + ":NoExecute=v would end"}}},
		"a twin of a stronger pool": {"no pod is evicted", []*v1.NodePool{drainingPool(nil), waitingPool("strong", all(prior(9), func(p *v1.NodePool) { p.Spec.Taints = []v1.Taint{twin} }))}, nil,
			[]DrainBefore{{Taint: taint, Timeout: time.Hour, Obstacle: "taint " + key + ":NoSchedule=w of pool strong lets pods come that " + key + ":NoExecute=v would end"}}},
		"no rollout": {"nothing is drained", []*v1.NodePool{drainingPool(func(p *v1.NodePool) { p.Spec.Rollout = nil })}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			node := followed(t, longAgo, before)
			if c.change != nil {
				c.change(node)
			}
			first, err := Node(node, expand(before, waitingPool("q", labelPairs("m", "1"))))
			if err != nil {
				t.Fatal(err)
			}
			second, err := Node(first.After(node), expand(c.pools...))
			if err != nil {
				t.Fatal(err)
			}
			whole, err := Node(node, expand(c.pools...))
			if err != nil {
				t.Fatal(err)
			}
			for of, p := range map[string]*NodePlan{"in one round": whole, "in two rounds": first.compose(second)} {
				d := &Difference{Pools: &PoolsPlan{}, accepted: &Acceptance{Pools: c.pools}, Nodes: []NodeDifference{{node.Name, p}}}
				if diff := cmp.Diff(c.want, d.Drains(Cluster{Pools: c.pools, Nodes: []*NodeState{node}}, closedAt)[node.Name]); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", of, c.reason, diff)
				}
			}
		})
	}
}
