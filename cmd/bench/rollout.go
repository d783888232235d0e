package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// rolloutRow measures what rollouts cost, in a world of their own, beside the same changes
// without rollouts.
func rolloutRow(ctx context.Context, o options) (figures []Figure, err error) {
	s := size{nodes: o.size.nodes, pools: o.size.pools, rollouts: true}
	err = inWorld(ctx, o, s, func(ctx context.Context, w *world) error {
		if _, err := w.converge(ctx); err != nil {
			return err
		}
		if figures, err = w.heldFigures(ctx); err != nil {
			return fmt.Errorf("held nodes: %w", err)
		}
		more, err := w.waveFigures(ctx)
		if figures = append(figures, more...); err != nil {
			return fmt.Errorf("waves: %w", err)
		}
		return w.checkAll(ctx)
	})
	return figures, err
}

// heldFigures hold a change of every pool on every node: outside of windows, and by a budget
// that is spent. In the end the nodes have followed.
func (w *world) heldFigures(ctx context.Context) (figures []Figure, err error) {
	const row = "rollout, held"
	free, err := w.rest(ctx)
	if err != nil {
		return nil, err
	}
	for _, held := range []struct {
		by      string
		rollout *v1.Rollout
	}{
		{"windows", closed(time.Now())},
		{"budgets", &v1.Rollout{MaxUnavailable: ptr.To(intstr.FromInt32(0))}},
	} {
		status("every node is held by %s", held.by)
		if err := w.hold(ctx, held.rollout, "held-by-"+held.by); err != nil {
			return nil, err
		}
		r, err := w.rest(ctx)
		if err != nil {
			return nil, err
		}
		figures = append(figures,
			Figure{Row: row, Name: fmt.Sprintf("writes in %s, %s nodes held by %s", w.o.steady, number(float64(w.size.nodes)), held.by),
				Value: r.writes, Unit: "writes", Target: &Target{0}},
			Figure{Row: row, Name: "processor time, of one core", Value: r.share, Unit: "%",
				Baseline: &Baseline{"nothing held", free.share}, Target: &Target{1.2}})
	}
	for _, p := range w.fleet.pools {
		p.Spec.Rollout = nil
	}
	followed, err := w.push(ctx, w.fleet.pools)
	return append(figures, Figure{
		Row: row, Name: "writes per node, held no longer", Value: followed.writes / float64(w.size.nodes), Unit: "writes", Target: &Target{1},
	}), err
}

// closed is a rollout with a window that is half a day away.
func closed(now time.Time) *v1.Rollout {
	hour := (now.UTC().Hour() + 12) % 24
	return &v1.Rollout{Windows: []v1.Window{{
		Schedule: v1.Schedule(fmt.Sprintf("0 %d * * *", hour)), Duration: metav1.Duration{Duration: time.Hour},
	}}}
}

// hold pushes another label of every pool, with a rollout that lets no node follow, and
// returns when every pool reports that all of its nodes wait.
func (w *world) hold(ctx context.Context, rollout *v1.Rollout, tier string) error {
	members := map[string]int{spare.Name: 0}
	for _, p := range w.fleet.pools {
		p.Spec.Rollout = rollout
	}
	for _, m := range w.fleet.members {
		for _, p := range m.pools {
			members[p.Name]++
		}
	}
	setTier(w.fleet.pools, tier)
	if err := w.repository.write(ctx, w.fleet.pools); err != nil {
		return err
	}
	if err := w.repository.push(ctx); err != nil {
		return err
	}
	if err := w.notify(ctx); err != nil {
		return err
	}
	return w.poll(ctx, "every node is held", func(ctx context.Context) error {
		list := &v1.NodePoolList{}
		if err := w.records.List(ctx, list); err != nil {
			return err
		}
		for _, p := range list.Items {
			is := p.Status.Rollout
			if p.Name != spare.Name && (p.Spec.Rollout == nil || p.Status.ObservedGeneration != p.Generation || is == nil || int(is.Waiting) != members[p.Name]) {
				return fmt.Errorf("pool %q reports %+v, expected %d nodes that wait", p.Name, is, members[p.Name])
			}
		}
		return nil
	})
}

// waves are how many parts a fleet follows in, the rest included; waveNodes is the share of
// the nodes in each, and of those that may be unavailable.
const (
	waves     = 50
	waveNodes = "2%"
)

// inWaves is a rollout in waves without soak.
func inWaves(drain *v1.Drain) *v1.Rollout {
	share := intstr.FromString(waveNodes)
	rollout := &v1.Rollout{MaxUnavailable: &share, Drain: drain}
	for i := range waves - 1 {
		rollout.Waves = append(rollout.Waves, v1.Wave{Name: fmt.Sprintf("wave-%02d", i+1), Nodes: &share})
	}
	return rollout
}

// waveFigures change every node at once and in waves: a label of the pool of all nodes, a
// label of the other pools, which wait for its rollout, and a taint before which nodes are
// drained. In the end all nodes are drained.
func (w *world) waveFigures(ctx context.Context) (figures []Figure, err error) {
	everywhere, others := w.fleet.everywhere, w.fleet.pools[:w.fleet.base]
	tier := 0
	follow := func(rollout *v1.Rollout, pools ...*v1.NodePool) (p pushed) {
		if err != nil {
			return p
		}
		tier++
		everywhere.Spec.Rollout = rollout
		setTier(pools, fmt.Sprintf("wave-t%d", tier))
		p, err = w.push(ctx, w.fleet.pools)
		return p
	}
	status("change a label of one pool, at once and in waves")
	once := follow(nil, everywhere)
	one := follow(inWaves(nil), everywhere)
	figures = w.costFigures(fmt.Sprintf("rollout, %d waves of %s nodes", waves, number(float64(w.size.nodes))), one, once, 1)

	everywhere.Spec.Priority = 1000
	status("change a label of the other pools, at once and in waves")
	onceOthers := follow(nil, others...)
	waited := follow(inWaves(nil), others...)
	row := fmt.Sprintf("rollout, the same waves, %s pools wait for them", number(float64(w.size.pools)))
	figures = append(figures, w.costFigures(row, waited, onceOthers, 1)...)

	pods := w.fleet.members[:max(1, w.size.nodes/10)]
	if err == nil {
		err = w.createPods(ctx, pods)
	}
	status("drain the nodes in waves")
	everywhere.Spec.Taints = append(everywhere.Spec.Taints, v1.Taint{Key: "example.com/reserved", Value: "true", Effect: corev1.TaintEffectNoExecute})
	drained := follow(inWaves(&v1.Drain{}), everywhere)
	if err != nil {
		return nil, err
	}
	row = "rollout, the same waves, drained"
	figures = append(figures, w.costFigures(row, drained, once, 2)...)
	use, err := w.use()
	return append(figures,
		Figure{Row: row, Name: fmt.Sprintf("evictions of each of %s pods", number(float64(len(pods)))), Unit: "requests", Target: &Target{1},
			Value: countOf(drained.requests, "create", "pods", "eviction") / float64(len(pods))},
		Figure{Row: row, Name: "peak memory since the start", Value: use.peak, Unit: "MiB", Target: peakTarget(w.size.nodes)},
	), err
}

// createPods puts a pod on each of some nodes.
func (w *world) createPods(ctx context.Context, members []*member) error {
	return together(ctx, len(members), clientWorkers, func(ctx context.Context, i int) error {
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

// costFigures are what a change costs beside the same change at once.
func (w *world) costFigures(row string, p, once pushed, mostWrites float64) []Figure {
	compared := func(name, unit string, of func(pushed) float64) Figure {
		return Figure{Row: row, Name: name, Value: of(p), Unit: unit, Baseline: &Baseline{"a label at once", of(once)}}
	}
	return []Figure{
		{Row: row, Name: "writes per node", Value: p.writes / float64(w.size.nodes), Unit: "writes", Target: &Target{mostWrites}},
		compared("push to the last node right", "s", func(p pushed) float64 { return p.last }),
		compared("processor time of nodepools", "s", func(p pushed) float64 { return p.cpu }),
		compared("writes of statuses of pools", "writes", func(p pushed) float64 { return countOf(p.requests, "patch", "nodepools", "status") }),
		compared("all requests but writes of nodes", "requests", func(p pushed) float64 { return float64(len(p.requests)) }),
	}
}

// countOf is how many requests are of a verb, a resource and a subresource.
func countOf(requests []cluster.Request, verb, resource, subresource string) (count float64) {
	for _, r := range requests {
		if r.Verb == verb && r.Object.Resource == resource && r.Object.Subresource == subresource {
			count++
		}
	}
	return count
}
