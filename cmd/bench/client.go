package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

const bareClient = "bare client, same applies"

// bareClient is how long a bare loop takes that sends the applies that the program would
// send, as the same user, as many at once: from the first request until the last node is
// right. The nodes must be bare, and the program must not run.
func (w *world) bareClient(ctx context.Context) (float64, error) {
	status("the bare client writes every node")
	nodes, err := w.list(ctx)
	if err != nil {
		return 0, err
	}
	pools := w.fleet.expand()
	writes := make([]plan.Patch, len(nodes))
	for i := range nodes {
		if writes[i], err = firstApply(&nodes[i], pools); err != nil {
			return 0, err
		}
	}
	if err := settle(ctx); err != nil {
		return 0, err
	}
	right := w.observer.expect("the bare client has written every node", w.fleet.names(), w.fleet.right)
	start := time.Now()
	err = together(ctx, len(nodes), controller.DefaultConcurrency, func(ctx context.Context, i int) error {
		return w.patch(ctx, nodes[i].Name, writes[i], v1.FieldManager)
	})
	if err != nil {
		return 0, err
	}
	err = right.wait(ctx, w.waitTimeout())
	return right.last.Sub(start).Seconds(), err
}

// firstApply is what the program sends to a bare node.
func firstApply(bare *corev1.Node, pools *render.Expansion) (plan.Patch, error) {
	node := plan.StateOf(bare)
	p, err := plan.Node(node, pools)
	if err != nil {
		return plan.Patch{}, err
	}
	patch, err := p.Patch(node)
	if err == nil && patch.Type != types.ApplyPatchType {
		err = fmt.Errorf("node %q is not bare", bare.Name)
	}
	return patch, err
}

// patch sends a patch as client-go does by default. Of the answer it reads only whether it
// is good.
func (w *world) patch(ctx context.Context, node string, patch plan.Patch, manager string) error {
	options := metav1.PatchOptions{FieldManager: manager}
	if patch.Type == types.ApplyPatchType {
		options.Force = ptr.To(true)
	}
	err := w.account.Patch(patch.Type).Resource("nodes").Name(node).
		VersionedParams(&options, scheme.ParameterCodec).Body(patch.Data).Do(ctx).Error()
	if err != nil {
		return fmt.Errorf("write node %q: %w", node, err)
	}
	return nil
}

// reset makes the nodes bare, by a patch of each, and gives the list of taints back to the
// controller-manager, which owned it.
func (w *world) reset(ctx context.Context) error {
	nodes, err := w.list(ctx)
	if err != nil {
		return err
	}
	err = together(ctx, len(nodes), clientWorkers, func(ctx context.Context, i int) error {
		data, err := json.Marshal(w.fleet.cleaning(&nodes[i]))
		if err != nil {
			return err
		}
		return w.patch(ctx, nodes[i].Name, plan.Patch{Type: types.MergePatchType, Data: data}, controllerManager)
	})
	if err != nil {
		return err
	}
	return w.until(ctx, "every node is bare again", w.fleet.bare)
}

// cleaning is the merge patch that makes a node bare.
func (f *fleet) cleaning(node *corev1.Node) map[string]any {
	m := f.byName[node.Name]
	labels, own := map[string]*string{}, m.labels()
	for key := range node.Labels {
		if _, keep := own[key]; !keep {
			labels[key] = nil
		}
	}
	return map[string]any{
		"metadata": map[string]any{"labels": labels, "annotations": map[string]*string{v1.AppliedAnnotation: nil}},
		"spec":     map[string]any{"taints": m.taints()},
	}
}

// kubectl is how long a script takes that runs kubectl label and kubectl taint for each
// pool, one after the other. The nodes must be bare, and the program must not run.
func (w *world) kubectl(ctx context.Context) (float64, error) {
	status("kubectl labels and taints")
	right := w.observer.expect("kubectl has written every node", w.fleet.names(), w.fleet.right)
	start := time.Now()
	for _, p := range w.fleet.pools {
		members := []string{"--selector", groupLabel + "=" + groupOf(p)}
		if p.Spec.NodeNames != nil && !strings.Contains(p.Spec.NodeNames[0], "*") {
			members = p.Spec.NodeNames
		}
		label := slices.Concat([]string{"label", "nodes", "--overwrite"}, members, []string{v1.RoleLabel(p.Name) + "="})
		for key, value := range p.Spec.Labels {
			label = append(label, key+"="+string(value))
		}
		taint := slices.Concat([]string{"taint", "nodes", "--overwrite"}, members)
		for _, t := range p.Spec.Taints {
			taint = append(taint, t.Key+"="+t.Value+":"+string(t.Effect))
		}
		for _, command := range [][]string{label, taint} {
			if _, err := w.cluster.Kubectl(ctx, command...); err != nil {
				return 0, err
			}
		}
	}
	err := right.wait(ctx, w.waitTimeout())
	return right.last.Sub(start).Seconds(), err
}
