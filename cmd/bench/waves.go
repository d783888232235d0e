package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// waves are how many parts a fleet follows in, the rest included; waveNodes is the share of
// the nodes that is in each, and that may be unavailable.
const (
	waves     = 50
	waveNodes = "2%"
)

// inWaves is a rollout in waves without soak; the nodes of one begin together.
func inWaves(drain *v1.Drain) *v1.Rollout {
	share := intstr.FromString(waveNodes)
	rollout := &v1.Rollout{MaxUnavailable: &share, Drain: drain}
	for i := range waves - 1 {
		rollout.Waves = append(rollout.Waves, v1.Wave{Name: fmt.Sprintf("wave-%02d", i+1), Nodes: &share})
	}
	return rollout
}

// waved are changes of every node: a label of the pool of all nodes, a label of the other
// pools, which wait for its rollout, and a taint before which nodes are drained.
type waved struct {
	one, others, drained pushed
	// onceOne and onceOthers are the same without a rollout, before and after.
	onceOne, onceOthers []pushed
	pods                int
	peak                float64 // MiB since the start
}

// waveFigures change every node in waves, and at once. In the end all nodes are drained.
func (w *world) waveFigures(ctx context.Context) ([]Figure, error) {
	everywhere := w.fleet.everywhere
	others := w.fleet.pools[:len(w.fleet.pools)-1]
	m, tier := waved{}, 0
	var err error
	follow := func(what string, rollout *v1.Rollout, pools ...*pool) (p pushed) {
		if err != nil {
			return p
		}
		status("%s", what)
		everywhere.rollout, tier = rollout, tier+1
		for _, changed := range pools {
			changed.tier = fmt.Sprintf("wave-t%d", tier)
		}
		if p, err = w.push(ctx, w.fleet.pools, w.fleet.names()); err == nil {
			status("that took %.2f s, and %.2f s of the processor", p.last.Seconds(), p.cpu)
		}
		return p
	}
	for range 2 {
		m.onceOne = append(m.onceOne, follow("change a label of one pool, at once", nil, everywhere))
		if len(m.onceOne) == 1 {
			m.one = follow(fmt.Sprintf("the same in %d waves", waves), inWaves(nil), everywhere)
		}
	}
	everywhere.priority = 1000
	for range 2 {
		m.onceOthers = append(m.onceOthers, follow("change a label of the other pools, at once", nil, others...))
		if len(m.onceOthers) == 1 {
			m.others = follow(fmt.Sprintf("the same in %d waves of one pool", waves), inWaves(nil), others...)
		}
	}
	if err != nil {
		return nil, err
	}
	if m.pods, err = w.createPods(ctx); err != nil {
		return nil, err
	}
	everywhere.drives = true
	m.drained = follow(fmt.Sprintf("drain the nodes in %d waves", waves), inWaves(&v1.Drain{}), everywhere)
	if err != nil {
		return nil, err
	}
	use, err := w.runs.use()
	m.peak = use.peak
	return m.figures(w.size), err
}

// createPods puts a pod on every tenth node, on those that come first, and returns how many
// there are.
func (w *world) createPods(ctx context.Context) (int, error) {
	members := w.fleet.members[:w.size.nodes/10]
	return len(members), together(ctx, len(members), clientWorkers, func(ctx context.Context, i int) error {
		_, err := w.client.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "on-" + members[i].name},
			Spec: corev1.PodSpec{
				NodeName: members[i].name, TerminationGracePeriodSeconds: ptr.To[int64](0),
				Containers: []corev1.Container{{Name: "main", Image: "none"}},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create a pod on node %q: %w", members[i].name, err)
		}
		return nil
	})
}

func (m waved) figures(size size) []Figure {
	nodes := float64(size.nodes)
	of := fmt.Sprintf("rollout, %d waves of %s nodes", waves, number(nodes))
	others := fmt.Sprintf("rollout, the same waves, %s pools wait for them", number(float64(size.pools)))
	drained := "rollout, the same waves, drained"
	figures := costFigures(of, m.one, m.onceOne, nodes, 1)
	figures = append(figures, costFigures(others, m.others, m.onceOthers, nodes, 1)...)
	figures = append(figures, costFigures(drained, m.drained, m.onceOne, nodes, 2)...)
	return append(figures,
		Figure{Row: drained, Name: "lists of pods per node", Value: float64(countOf(m.drained.requests, "list", "pods", "")) / nodes, Unit: "requests"},
		Figure{
			Row: drained, Name: fmt.Sprintf("evictions of each of %s pods", number(float64(m.pods))), Unit: "requests", Target: &Target{AtMost: 1},
			Value: float64(countOf(m.drained.requests, "create", "pods", "eviction")) / float64(m.pods),
		},
		Figure{Row: drained, Name: "peak memory since the start", Value: m.peak, Unit: "MiB", Target: peakTarget(size.nodes)},
	)
}

// costFigures are what a change costs beside what it costs at once.
func costFigures(row string, p pushed, once []pushed, nodes, most float64) []Figure {
	compared := func(name, unit string, of func(pushed) float64) Figure {
		return Figure{Row: row, Name: name, Value: of(p), Unit: unit, Baseline: &Baseline{Name: "a label at once", Value: median(each(once, of))}}
	}
	return []Figure{
		{Row: row, Name: "writes per node", Value: float64(p.writes.all()) / nodes, Unit: "writes", Target: &Target{AtMost: most}},
		compared("of which refused as conflicts", "writes", func(p pushed) float64 { return float64(p.writes.conflicts) }),
		compared("push to the last node right", "s", func(p pushed) float64 { return p.last.Seconds() }),
		compared("processor time of nodepools", "s", func(p pushed) float64 { return p.cpu }),
		compared("processor time of API server and etcd", "s", func(p pushed) float64 { return p.spent.server }),
		compared("writes of statuses of pools", "writes", func(p pushed) float64 { return float64(countOf(p.requests, "patch", "nodepools", "status")) }),
		compared("events", "writes", func(p pushed) float64 {
			return float64(countOf(p.requests, "create", "events", "") + countOf(p.requests, "patch", "events", ""))
		}),
		compared("all requests but writes of nodes", "requests", func(p pushed) float64 { return float64(len(p.requests)) }),
	}
}

// countOf is how many requests are of a verb, a resource and a subresource.
func countOf(requests []cluster.Request, verb, resource, subresource string) (count int) {
	for _, r := range requests {
		if r.Verb == verb && r.Object.Resource == resource && r.Object.Subresource == subresource {
			count++
		}
	}
	return count
}
