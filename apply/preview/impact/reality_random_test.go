package impact_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

var seed = flag.Uint64("seed", 0, "the first of the worlds that are left to chance; 0 for new ones each time")

// TestImpactEqualsRealityRandomly holds worlds to reality that nobody has thought
// of. Each is named by the number that it comes from: run with -seed=<number> to
// see it again.
func TestImpactEqualsRealityRandomly(t *testing.T) {
	cluster.Long(t)
	stage := newStage(t)
	first := *seed
	if first == 0 {
		first = rand.Uint64N(1e9)
	}
	together, worlds := uint64(10), uint64(0)
	more := func() bool { return worlds == 0 }
	if cluster.Stress() {
		together = 16 // the control plane takes no more at once without a queue
		end := time.Now().Add(5 * time.Minute)
		more = func() bool { return time.Now().Before(end) }
	}
	for more() && !t.Failed() {
		t.Run("", func(t *testing.T) {
			for number := first + worlds; number < first+worlds+together; number++ {
				t.Run(fmt.Sprintf("world-%d", number), func(t *testing.T) {
					t.Parallel()
					stage.perform(t, randomScenario(number), nil)
				})
			}
		})
		worlds += together
	}
	t.Logf("%d worlds, the first is %d", worlds, first)
}

// chance makes a scenario.
type chance struct{ *rand.Rand }

func randomScenario(number uint64) scenario {
	c := chance{rand.New(rand.NewPCG(number, 0))}
	s := scenario{reason: "left to chance", settles: true}
	for i := range 2 + c.IntN(2) {
		s.nodes = append(s.nodes, node{name: nodeNames[i], labels: map[string]string{"kind": c.pick("x", "y")}})
	}
	// A revision without a pool is never carried out.
	s.before = pools{"rest": members("none")}
	s.after = pools{"rest": members("none")}
	for _, name := range []string{"p", "q", "r"} {
		before, after := c.pool(beforeTaints), c.pool(afterTaints)
		if c.IntN(4) > 0 {
			s.before[name] = before
		}
		switch {
		case c.IntN(5) == 0:
		case c.IntN(3) == 0:
			after.NodeNames, after.Selector = before.NodeNames, before.Selector
			fallthrough
		default:
			s.after[name] = after
		}
	}
	for i := range 4 + c.IntN(4) {
		w := c.workload(fmt.Sprintf("w%d", i), s.before)
		s.workloads = append(s.workloads, w)
		if w.kind != "Static" && c.IntN(3) == 0 {
			s.budgets = append(s.budgets, budget{workload: w.name, minAvailable: c.IntN(2)})
		}
	}
	return s
}

var nodeNames = []string{"a", "b", "c"}

// The taints that there are before the change do not evict anybody for whom a
// toleration ends: such a pod would come and go all the time. See tolerations.
var (
	beforeTaints = []string{"t1=a:NoSchedule", "t1=b:NoSchedule", "t2=a:PreferNoSchedule", "t2=a:NoSchedule", "lasting=a:NoExecute", "lasting=b:NoExecute"}
	afterTaints  = append([]string{"t1=a:NoExecute", "t1=b:NoExecute", "t2=a:NoExecute", "t2=b:NoExecute"}, beforeTaints...)
	tolerations  = []string{"t1", "t1=a", "t1:NoSchedule", "t1:NoExecute", "t1:NoExecute@0", "t1=a:NoExecute@1", "t1:NoExecute@300",
		"t2", "t2=b:NoExecute", "t2=a", "t2:NoExecute@1", "t2:NoExecute@300", "lasting", "lasting=a", "lasting:NoExecute", "", ":NoSchedule"}
)

func (c chance) pick(from ...string) string { return from[c.IntN(len(from))] }

func (c chance) pool(taintsOf []string) v1.NodePoolSpec {
	spec := v1.NodePoolSpec{Priority: int32(c.IntN(2))} //nolint:gosec // 0 or 1
	if c.IntN(4) == 0 {
		spec.Selector = &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"kind": v1.LabelValue(c.pick("x", "y"))}}
	} else {
		for _, name := range nodeNames {
			if c.IntN(2) == 0 {
				spec.NodeNames = append(spec.NodeNames, name)
			}
		}
		if spec.NodeNames == nil {
			spec.NodeNames = []string{c.pick(nodeNames...)}
		}
	}
	if c.IntN(2) == 0 {
		spec.Labels = map[string]v1.LabelValue{c.pick("disk", "zone"): v1.LabelValue(c.pick("1", "2"))}
	}
	if c.IntN(4) == 0 {
		spec.Handler = "kata"
	}
	known := map[string]bool{}
	for range c.IntN(3) {
		taint := taints(c.pick(taintsOf...))[0]
		if id := taint.Key + string(taint.Effect); !known[id] {
			known[id] = true
			spec.Taints = append(spec.Taints, taint)
		}
	}
	return spec
}

func (c chance) workload(name string, before pools) workload {
	var options []option
	kind := c.IntN(10)
	if c.IntN(3) == 0 {
		pool := c.pick("p", "q", "r")
		if _, there := before[pool]; there {
			options = append(options, inPool(pool))
		}
	}
	// What a pod alone says itself and what its RuntimeClass has brought cannot be
	// distinguished afterwards.
	plain := len(options) > 0 && kind == 0
	for range c.IntN(4) {
		if !plain {
			options = append(options, tolerates(c.pick(tolerations...)))
		}
	}
	if len(options) == 0 || !plain && c.IntN(2) == 0 {
		switch c.IntN(6) {
		case 0:
			options = append(options, on(c.pick(nodeNames...)))
		case 1:
			options = append(options, selects("kind="+c.pick("x", "y")))
		case 2:
			options = append(options, needs(corev1.NodeSelectorRequirement{Key: c.pick("disk", "zone"), Operator: corev1.NodeSelectorOpDoesNotExist}))
		case 3:
			options = append(options, needs(corev1.NodeSelectorRequirement{
				Key: c.pick("disk", "zone", "kind"), Operator: corev1.NodeSelectorOpNotIn, Values: []string{c.pick("1", "x")},
			}))
		case 4:
			options = append(options, needs(corev1.NodeSelectorRequirement{Key: c.pick("disk", "zone"), Operator: corev1.NodeSelectorOpExists}))
		}
	}
	pods := 1 + c.IntN(2)
	switch kind {
	case 0:
		return alone(name, options...)
	case 1:
		return statefulSet(name, pods, options...)
	case 2:
		return job(name, pods, options...)
	case 3:
		return doneJob(name, pods, options...)
	case 4:
		return cronJob(name, options...)
	case 5, 6, 7:
		return daemonSet(name, 0, options...)
	default:
		return deployment(name, pods, append(options, spread)...)
	}
}
