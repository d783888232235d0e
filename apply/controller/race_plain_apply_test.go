package controller

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// plainApply carries the pools out as a tool does that knows of its own fields
// only: by a forced server-side apply of what each pool wants, the list of taints
// included.
func (r *race) plainApply(stop, ctx context.Context) {
	for stop.Err() == nil {
		if err := r.plainPass(ctx); err != nil {
			r.ledger.fail(fmt.Errorf("plain apply: %w", err))
			return
		}
	}
}

func (r *race) plainPass(ctx context.Context) error {
	var pools v1.NodePoolList
	if err := r.List(ctx, &pools); err != nil {
		return err
	}
	var definitions []*v1.NodePool
	for i := range pools.Items {
		definitions = append(definitions, &pools.Items[i])
	}
	expansion := render.Expand(definitions)
	var nodes corev1.NodeList
	if err := r.List(ctx, &nodes); err != nil {
		return err
	}
	for i := range nodes.Items {
		desired := expansion.Node(nodes.Items[i].Name, nodes.Items[i].Labels)
		labels := map[string]string{}
		for key, want := range desired.Labels {
			labels[key] = want.Value
		}
		body := map[string]any{
			"apiVersion": "v1", "kind": "Node",
			"metadata": map[string]any{"name": nodes.Items[i].Name, "labels": labels},
		}
		if len(desired.Taints) > 0 {
			taints := []corev1.Taint{}
			for id, want := range desired.Taints {
				taints = append(taints, corev1.Taint{Key: id.Key, Value: want.Value, Effect: id.Effect})
			}
			body["spec"] = map[string]any{"taints": taints}
		}
		patch, err := rawPatch(types.ApplyPatchType, body)
		if err != nil {
			return err
		}
		err = r.Patch(ctx, &nodes.Items[i], patch, client.FieldOwner("plain"), client.ForceOwnership)
		if err != nil && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

// The race can be lost: a plain forced apply in the place of the loops takes
// taints from others. Nodes neither join nor vanish, as it would bring back those
// that have gone.
func TestRacePlainForcedApplyLoses(t *testing.T) {
	cluster.Long(t)
	w := newWorld(t)
	w.stop()
	r := newRace(w, 6, 0)
	score, losses := r.run(func(now raceScore) bool { return now.lost > 0 }, r.pools.race, r.plainApply)
	t.Logf("%s; the first of them: %s", score, losses[0])
}
