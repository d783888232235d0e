package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
)

// poolRows change a label of very many pools at once, in worlds of their own. Only the
// first one is compared with a client.
func poolRows(ctx context.Context, o options) (figures []Figure, err error) {
	for i, pools := range o.manyPools {
		m, err := crowdedPools(ctx, o, o.crowded(pools), i == 0)
		if err != nil {
			return figures, err
		}
		figures = append(figures, m.figures(o.crowded(pools))...)
	}
	return figures, nil
}

// crowdedPools measures a fleet in many pools.
func crowdedPools(ctx context.Context, o options, of size, compare bool) (m manyPools, err error) {
	ctx, gone := context.WithCancelCause(ctx)
	defer gone(nil)
	o.rows = maps.Clone(o.rows)
	delete(o.rows, "kubectl")
	w, err := newWorld(ctx, o, of, gone)
	if err != nil {
		return m, err
	}
	defer func() {
		err = errors.Join(w.explain(ctx, err), w.close())
	}()
	if err := w.startProgram(); err != nil {
		return m, err
	}
	if err := w.createSource(ctx); err != nil {
		return m, err
	}
	if m, err = w.measurePools(ctx); err != nil || !compare {
		return m, err
	}
	m.bare, err = w.writePools(ctx)
	return m, err
}

// manyPools is what a change of very many pools has cost.
type manyPools struct {
	created, changed pushed
	// bare is how long a client takes that only writes the pools; 0 where none was asked.
	bare time.Duration
	use  usage
	// scrape is that of very many pools.
	scrape scraped
}

func (w *world) measurePools(ctx context.Context) (m manyPools, err error) {
	of := number(float64(w.size.pools)) + " pools"
	status("nodepools follows a push of %s", of)
	if m.created, err = w.push(ctx, w.fleet.pools, w.fleet.names()); err != nil {
		return m, err
	}
	status("change a label of %s", of)
	for _, p := range w.fleet.pools {
		p.tier = "t1"
	}
	if m.changed, err = w.push(ctx, w.fleet.pools, w.fleet.names()); err != nil {
		return m, err
	}
	if m.use, err = w.runs.use(); err != nil {
		return m, err
	}
	if err := w.checkAll(ctx); err != nil {
		return m, err
	}
	if m.scrape, err = w.scrape(ctx); err != nil {
		return m, err
	}
	_, err = w.stopProgram()
	return m, err
}

// firstTarget bounds what the program takes before the first node beyond the applies of the
// pools: these are the API server's time, and no program can be done without them.
var firstTarget = &Target{AtMost: 1.25}

func (m manyPools) figures(size size) []Figure {
	of := number(float64(size.pools)) + " pools"
	seconds := func(name string, value float64, target *Target) Figure {
		return Figure{Row: "pools", Name: name, Value: value, Unit: "s", Target: target}
	}
	whole := func(name string, p pushed) Figure {
		return Figure{Row: "pools", Name: name, Value: float64(p.early), Unit: "nodes", Target: &Target{AtMost: 0}}
	}
	first, settled := &Target{AtMost: 2}, &Target{AtMost: 10}
	if m.bare == 0 {
		first, settled = nil, nil
	}
	figures := []Figure{
		seconds("poll to the first node, "+of+" created", m.created.first.Seconds(), nil),
		seconds("poll to the last node, "+of+" created", m.created.last.Seconds(), nil),
		whole("nodes that follow before all "+of+" are created", m.created),
		seconds("poll to the first node, a label of "+of, m.changed.first.Seconds(), first),
		seconds("poll to the last node, a label of "+of, m.changed.last.Seconds(), nil),
		whole("nodes that follow before all "+of+" are changed", m.changed),
		seconds("last node to every status of "+of, m.changed.settled.Seconds(), settled),
		{
			Row: "pools", Name: "writes per changed node, " + of, Unit: "writes", Target: &Target{AtMost: 1},
			Value: float64(m.changed.writes.all()) / float64(size.nodes),
		},
		{Row: "pools", Name: "other writes per pool, " + of, Value: float64(m.changed.others) / float64(size.pools), Unit: "writes"},
		{Row: "pools", Name: "peak memory, " + of, Value: m.use.peak, Unit: "MiB"},
	}
	if m.bare > 0 {
		figures = slices.Insert(figures, 4, Figure{
			Row: "pools", Name: "the same, against a client that only writes the pools", Value: m.changed.first.Seconds(), Unit: "s",
			Baseline: &Baseline{Name: "bare client, same applies", Value: m.bare.Seconds()}, Target: firstTarget,
		})
	}
	return append(figures, m.scrape.figures("pools", of)...)
}

// writePools is how long it takes a bare client to change a label of every pool: it applies
// what the program has applied, as the same user and manager, as many at once. Nodes can
// follow a revision as a whole no sooner.
func (w *world) writePools(ctx context.Context) (time.Duration, error) {
	if err := w.settle(ctx); err != nil {
		return 0, err
	}
	live, _, err := w.statuses(ctx)
	if err != nil {
		return 0, err
	}
	applies := make([][]byte, len(live))
	for i := range live {
		if applies[i], err = relabeled(&live[i], "t2"); err != nil {
			return 0, err
		}
	}
	start := time.Now()
	err = together(ctx, len(live), apply.PoolsAtOnce, func(ctx context.Context, i int) error {
		// The account's client is of the core API; the path leads it elsewhere.
		return w.account.Patch(types.ApplyPatchType).AbsPath("/apis", v1.GroupVersion.Group, v1.GroupVersion.Version, "nodepools", live[i].Name).
			Param("fieldManager", v1.FieldManager).Param("force", "true").Body(applies[i]).Do(ctx).Error()
	})
	return time.Since(start), err
}

// relabeled is the apply of a pool as it is, but for the tier.
func relabeled(live *v1.NodePool, tier string) ([]byte, error) {
	want := &v1.NodePool{
		TypeMeta: metav1.TypeMeta{APIVersion: v1.GroupVersion.String(), Kind: "NodePool"},
		ObjectMeta: metav1.ObjectMeta{
			Name: live.Name, UID: live.UID, Labels: live.Labels, Annotations: live.Annotations, Finalizers: live.Finalizers,
		},
		Spec: *live.Spec.DeepCopy(),
	}
	want.Spec.Labels[tierLabel] = v1.LabelValue(tier)
	want.Annotations[v1.RevisionAnnotation] = "main"
	text, err := json.Marshal(want)
	if err != nil {
		return nil, fmt.Errorf("write pool %q: %w", live.Name, err)
	}
	return text, nil
}
