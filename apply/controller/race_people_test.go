package controller

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// varyCordon cordons a node or uncordons it.
func varyCordon(_ *raceWriter, b *belongings) { b.unschedulable = !b.unschedulable }

// byCordon sends what kubectl cordon and uncordon send. The node lifecycle
// controller puts on the taint that belongs to it, and takes it off.
func byCordon(ctx context.Context, w *raceWriter, live *corev1.Node, after belongings) error {
	spec := map[string]any{"unschedulable": nil}
	if after.unschedulable {
		spec["unschedulable"] = true
	}
	return w.patch(ctx, live, types.StrategicMergePatchType, map[string]any{
		"metadata": map[string]any{"uid": live.UID}, "spec": spec,
	})
}

// varyByKubectl changes what kubectl has a command for.
func varyByKubectl(w *raceWriter, b *belongings) {
	if rand.IntN(4) == 0 {
		varyCordon(w, b)
		return
	}
	varyKeys(w, b)
	for i := range b.taints {
		b.taints[i].TimeAdded = nil
	}
}

// kubectlPace is how long somebody at a keyboard takes, at the least: to start the
// program costs as much as dozens of requests.
const kubectlPace = 500 * time.Millisecond

// byKubectl runs kubectl. It must be alone with Kubernetes on its nodes in
// writing taints: kubectl taint reads the list and writes it back as a whole, and
// locks nothing.
func byKubectl(c *cluster.Cluster) raceMeans {
	return func(ctx context.Context, w *raceWriter, live *corev1.Node, after belongings) error {
		linger(ctx, kubectlPace)
		_, err := c.Kubectl(ctx, w.kubectlArguments(live, after)...)
		if err != nil && strings.Contains(err.Error(), "the object has been modified") {
			return apierrors.NewConflict(corev1.Resource("nodes"), live.Name, err)
		}
		return err
	}
}

// kubectlArguments are those of the one command that makes the change.
func (w *raceWriter) kubectlArguments(live *corev1.Node, after belongings) []string {
	before := w.find(live)
	if before.unschedulable != after.unschedulable {
		if after.unschedulable {
			return []string{"cordon", live.Name}
		}
		return []string{"uncordon", live.Name}
	}
	commands := map[string][2]map[string]string{
		"label":    {before.labels, after.labels},
		"annotate": {before.annotations, after.annotations},
	}
	for command, values := range commands {
		for key, value := range mapDifference(values[0], values[1]) {
			arguments := []string{command, "--overwrite", "node", live.Name}
			if value == nil {
				return append(arguments, key+"-")
			}
			return append(arguments, key+"="+*value)
		}
	}
	arguments := []string{"taint", "--overwrite", "node", live.Name}
	have, want := map[string]string{}, map[string]string{}
	for _, taint := range before.taints {
		have[taint.Key+":"+string(taint.Effect)] = taint.Value
	}
	for _, taint := range after.taints {
		want[taint.Key+":"+string(taint.Effect)] = taint.Value
	}
	for id, value := range mapDifference(have, want) {
		key, effect, _ := strings.Cut(id, ":")
		if value == nil {
			return append(arguments, key+":"+effect+"-")
		}
		return append(arguments, key+"="+*value+":"+effect)
	}
	return arguments
}

// meddle takes keys of pools off nodes, as people do by hand. They come back.
func (r *race) meddle(stop, ctx context.Context) {
	ours := func(key, _ string) bool { return strings.HasPrefix(key, poolsDomain) && rand.IntN(3) == 0 }
	nodes := r.machines.writable()
	for stop.Err() == nil {
		node := &corev1.Node{}
		err := r.Get(ctx, client.ObjectKey{Name: nodes[rand.IntN(len(nodes))]}, node)
		if err == nil {
			maps.DeleteFunc(node.Labels, ours)
			maps.DeleteFunc(node.Annotations, ours)
			node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return ours(taint.Key, "") })
			err = r.Update(ctx, node)
		}
		if err := client.IgnoreNotFound(ignoreConflict(err)); err != nil {
			r.ledger.fail(fmt.Errorf("meddling: %w", err))
			return
		}
		linger(stop, 100*time.Millisecond)
	}
}
