package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
)

// poolsRow changes a label of very many pools at once, each number of pools in a world of
// its own. Targets are for 1,000 pools.
func poolsRow(ctx context.Context, o options) (figures []Figure, err error) {
	for _, pools := range o.manyPools {
		s := size{nodes: max(o.size.nodes, pools), pools: pools}
		err := inWorld(ctx, o, s, func(ctx context.Context, w *world) error {
			more, err := w.manyPools(ctx)
			figures = append(figures, more...)
			return err
		})
		if err != nil {
			return figures, err
		}
	}
	return figures, nil
}

func (w *world) manyPools(ctx context.Context) ([]Figure, error) {
	pools, of := float64(w.size.pools), number(float64(w.size.pools))+" pools"
	created, err := w.converge(ctx)
	if err != nil {
		return nil, err
	}
	setTier(w.fleet.pools, "t1")
	changed, err := w.push(ctx, w.fleet.pools)
	if err != nil {
		return nil, err
	}
	atRest, err := w.polledEachSecond(ctx)
	if err != nil {
		return nil, err
	}
	use, err := w.use()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(w.checkAll(ctx), w.stopProgram()); err != nil {
		return nil, err
	}
	client, err := w.writePools(ctx)
	figure := func(name, unit string, value, atMost float64) Figure {
		f := Figure{Row: "pools", Name: name + ", " + of, Value: value, Unit: unit}
		if atMost > 0 && pools <= 1000 {
			f.Target = &Target{atMost}
		}
		return f
	}
	first := figure("poll to the first node, against a client that only writes the pools", "s", changed.first, 1.15)
	first.Baseline = &Baseline{bareClient, client}
	return []Figure{
		figure("poll to the first node, all created", "s", created.first, 0),
		figure("poll to the last node, all created", "s", created.last, 0),
		first,
		figure("poll to the last node, a label of all", "s", changed.last, 0),
		figure("last node to every status", "s", changed.settled, 10),
		figure("writes per changed node", "writes", changed.writes/float64(w.size.nodes), 1),
		figure("other writes per pool", "writes", changed.others/pools, 3),
		figure("processor time at rest, a poll each second, of one core", "%", atRest, 1),
		figure("peak memory", "MiB", use.peak, 0),
	}, err
}

// polledEachSecond is what share of a core the program uses at rest while it polls its
// source each second, in percent.
func (w *world) polledEachSecond(ctx context.Context) (float64, error) {
	if err := w.patchSource(ctx, `{"spec":{"interval":"1s"}}`); err != nil {
		return 0, err
	}
	r, err := w.rest(ctx)
	if err == nil && r.polls < w.o.steady.Seconds()/2 {
		err = fmt.Errorf("the source was polled %.0f times in %s, expected once a second", r.polls, w.o.steady)
	}
	return r.share, err
}

// writePools is how long a bare client takes to change a label of every pool: it applies the
// pools as the program does, as the same user and manager, as many at once. Nodes can
// follow a revision as a whole no sooner.
func (w *world) writePools(ctx context.Context) (seconds float64, err error) {
	if err := settle(ctx); err != nil {
		return 0, err
	}
	live := &v1.NodePoolList{}
	if err := w.records.List(ctx, live); err != nil {
		return 0, err
	}
	setTier(w.fleet.pools, "t2")
	specs := map[string]v1.NodePoolSpec{spare.Name: spare.Spec}
	for _, p := range w.fleet.pools {
		specs[p.Name] = p.Spec
	}
	start := time.Now()
	err = together(ctx, len(live.Items), apply.PoolsAtOnce, func(ctx context.Context, i int) error {
		p := &live.Items[i]
		text, err := json.Marshal(&v1.NodePool{
			TypeMeta: metav1.TypeMeta{APIVersion: v1.GroupVersion.String(), Kind: "NodePool"},
			ObjectMeta: metav1.ObjectMeta{
				Name: p.Name, UID: p.UID, Labels: p.Labels, Annotations: p.Annotations, Finalizers: p.Finalizers,
			},
			Spec: specs[p.Name],
		})
		if err != nil {
			return err
		}
		// The account's client is of the core API; the path leads it elsewhere.
		return w.account.Patch(types.ApplyPatchType).AbsPath("/apis", v1.GroupVersion.Group, v1.GroupVersion.Version, "nodepools", p.Name).
			Param("fieldManager", v1.FieldManager).Param("force", "true").Body(text).Do(ctx).Error()
	})
	return time.Since(start).Seconds(), err
}
