package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// putTaint puts a taint on a node, or takes it off, as some other controller
// does. It may be refused when somebody else was faster.
type putTaint func(ctx context.Context, c client.Client, node *corev1.Node, taint corev1.Taint, on bool) error

var tainters = map[string]putTaint{
	"update": func(ctx context.Context, c client.Client, node *corev1.Node, taint corev1.Taint, on bool) error {
		node.Spec.Taints = withTaint(node, taint, on)
		return c.Update(ctx, node)
	},
	"strategic-merge-patch": func(ctx context.Context, c client.Client, node *corev1.Node, taint corev1.Taint, on bool) error {
		before := node.DeepCopy()
		node.Spec.Taints = withTaint(node, taint, on)
		return c.Patch(ctx, node, client.StrategicMergeFrom(before, client.MergeFromWithOptimisticLock{}))
	},
	// No resource version here: the patch names by place and content what goes.
	"json-patch": func(ctx context.Context, c client.Client, node *corev1.Node, taint corev1.Taint, on bool) error {
		operations := []map[string]any{{"op": "add", "path": "/spec/taints/-", "value": taint}}
		if !on {
			path := fmt.Sprintf("/spec/taints/%d", indexOf(node, taint))
			operations = []map[string]any{{"op": "test", "path": path + "/key", "value": taint.Key}, {"op": "remove", "path": path}}
		}
		data, err := json.Marshal(operations)
		if err != nil {
			return err
		}
		return c.Patch(ctx, node, client.RawPatch(types.JSONPatchType, data))
	},
}

func withTaint(node *corev1.Node, taint corev1.Taint, on bool) []corev1.Taint {
	taints := slices.Clone(node.Spec.Taints)
	if i := indexOf(node, taint); i >= 0 {
		taints = slices.Delete(taints, i, i+1)
	}
	if on {
		taints = append(taints, taint)
	}
	return taints
}

func indexOf(node *corev1.Node, taint corev1.Taint) int {
	return slices.IndexFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
}

// tainter is another controller with a taint of its own on a node. It knows
// whether its taint is there, and looks each time whether it still is.
type tainter struct {
	client client.Client
	node   string
	taint  corev1.Taint
	put    putTaint
	on     bool
}

// turn finds the taint as it was left, and puts it on or takes it off.
func (p *tainter) turn(ctx context.Context) error {
	for {
		node := &corev1.Node{}
		if err := p.client.Get(ctx, client.ObjectKey{Name: p.node}, node); err != nil {
			return err
		}
		if there := indexOf(node, p.taint) >= 0; there != p.on {
			return fmt.Errorf("taint %s was left there=%t, and is there=%t: %v", p.taint.Key, p.on, there, node.Spec.Taints)
		}
		err := p.put(ctx, p.client, node, p.taint, !p.on)
		if apierrors.IsConflict(err) || apierrors.IsInvalid(err) { // Invalid: the test of a JSON patch
			continue
		}
		if err == nil {
			p.on = !p.on
		}
		return err
	}
}

// While the pool's taints change all the time, others put theirs on the same
// nodes and take them off again. None is lost, and none comes back.
func TestNoTaintIsLostWhenWritesRace(t *testing.T) {
	w := newWorld(t)
	var writers sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all []*tainter
	for _, node := range []string{"race-0", "race-1", "race-2"} {
		w.node(node, role("racing"), "first=:NoSchedule")
		for name, put := range tainters {
			all = append(all, &tainter{
				client: w.Client, node: node, put: put,
				taint: corev1.Taint{Key: name, Value: "theirs", Effect: corev1.TaintEffectNoSchedule},
			})
		}
	}
	w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: racing}
spec: {taints: [{key: racing, value: "0", effect: NoSchedule}]}
`)
	mark := w.mark()
	turns := make([]int, len(all))
	for i, each := range all {
		writers.Go(func() {
			for ctx.Err() == nil || each.on {
				if err := each.turn(t.Context()); err != nil {
					t.Errorf("node %s, after %d turns: %v", each.node, turns[i], err)
					return
				}
				turns[i]++
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	changes := 0
	for until := time.Now().Add(6 * time.Second); time.Now().Before(until); changes++ {
		w.change("racing", func(pool *v1.NodePool) {
			// Sometimes none of ours is left, so that the list changes hands.
			pool.Spec.Taints = nil
			for i := range changes % 3 {
				pool.Spec.Taints = append(pool.Spec.Taints, v1.Taint{Key: fmt.Sprintf("racing-%d", i), Value: fmt.Sprint(changes), Effect: corev1.TaintEffectNoSchedule})
			}
		})
	}
	stop()
	writers.Wait()

	w.change("racing", func(pool *v1.NodePool) {
		pool.Spec.Taints = []v1.Taint{{Key: "racing", Value: "last", Effect: corev1.TaintEffectNoSchedule}}
	})
	for _, node := range []string{"race-0", "race-1", "race-2"} {
		w.carries(node, role("racing"), "first=:NoSchedule", "racing=last:NoSchedule")
	}
	done, refused := w.nodeWrites(mark)
	t.Logf("%d changes of the pool, turns of the others %v; writes of the loops %v, %d refused", changes, turns, done, refused)
	if refused == 0 {
		t.Error("no write met another: the test has shown nothing")
	}
	w.remove("racing")
	for _, node := range []string{"race-0", "race-1", "race-2"} {
		w.carries(node, role("racing"), "first=:NoSchedule")
	}
}
