package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

// nodeWrite is one request that writes a node.
type nodeWrite struct {
	node    string
	patch   plan.Patch
	manager string
}

// floored is what the floor costs: the bare client's part.
type floored struct {
	took  time.Duration
	spent processors // until the last node
}

func (f floored) seconds() float64 { return f.took.Seconds() }

// writer sends one write, without reading more of the answer than whether it is good.
type writer func(ctx context.Context, write nodeWrite) error

// floor is how long it takes a bare loop to send the very applies that the program
// would send, as the same user, as many at once, to the same server: from the first
// request until the observer has seen the last node right. The nodes must be bare,
// and the program must not run.
func (w *world) floor(ctx context.Context, send writer) (f floored, err error) {
	writes, err := w.planned(ctx)
	if err != nil {
		return f, err
	}
	if err := w.settle(ctx); err != nil {
		return f, err
	}
	right := w.observer.expect("the bare client has written every node", w.fleet.names(), w.fleet.right)
	start := time.Now()
	before, err := everybody()
	if err != nil {
		return f, err
	}
	if err := sendAll(ctx, writes, w.o.concurrency, send); err != nil {
		return f, err
	}
	if err := right.wait(ctx, w.waitTimeout()); err != nil {
		return f, err
	}
	after, err := everybody()
	return floored{right.last.Sub(start), after.since(before)}, err
}

// planned are the writes that the program would send.
func (w *world) planned(ctx context.Context) ([]nodeWrite, error) {
	nodes, err := w.list(ctx)
	if err != nil {
		return nil, err
	}
	pools := w.fleet.expand()
	writes := make([]nodeWrite, 0, len(nodes))
	for i := range nodes {
		write, err := firstApply(&nodes[i], pools)
		if err != nil {
			return nil, err
		}
		writes = append(writes, write)
	}
	return writes, nil
}

// firstApply is the write that the program would send to a node that is bare.
func firstApply(bare *corev1.Node, pools *render.Expansion) (nodeWrite, error) {
	node := plan.StateOf(bare)
	p, err := plan.Node(node, pools)
	if err != nil {
		return nodeWrite{}, err
	}
	patch, err := p.Patch(node)
	if err != nil {
		return nodeWrite{}, err
	}
	if p.NoOp() || patch.Type != types.ApplyPatchType {
		return nodeWrite{}, fmt.Errorf("node %q is not bare: what is to be sent is no first apply", node.Name)
	}
	return nodeWrite{node.Name, patch, v1.FieldManager}, nil
}

// expand works out the pools as the program does.
func (f *fleet) expand() *render.Expansion {
	records := make([]*v1.NodePool, len(f.pools))
	for i, p := range f.pools {
		records[i] = p.record()
	}
	return render.Expand(records)
}

// reset makes the nodes what they were before any pool, by a patch of each, and
// gives the list of taints back to the controller-manager, who owned it.
func (w *world) reset(ctx context.Context) error {
	nodes, err := w.list(ctx)
	if err != nil {
		return err
	}
	writes := make([]nodeWrite, 0, len(nodes))
	for i := range nodes {
		data, err := json.Marshal(w.fleet.cleaning(&nodes[i]))
		if err != nil {
			return err
		}
		writes = append(writes, nodeWrite{nodes[i].Name, plan.Patch{Type: types.MergePatchType, Data: data}, controllerManager})
	}
	if err := sendAll(ctx, writes, clientWorkers, w.plainly); err != nil {
		return err
	}
	return w.until(ctx, "every node is bare again", w.fleet.names(), w.fleet.bare)
}

// cleaning is the merge patch that makes a node bare.
func (f *fleet) cleaning(node *corev1.Node) map[string]any {
	m := f.byName[node.Name]
	labels := map[string]*string{}
	own := m.labels()
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

func sendAll(ctx context.Context, writes []nodeWrite, workers int, send writer) error {
	return together(ctx, len(writes), workers, func(ctx context.Context, i int) error {
		if err := send(ctx, writes[i]); err != nil {
			return fmt.Errorf("write node %q: %w", writes[i].node, err)
		}
		return nil
	})
}

// plainly sends a write as client-go does when nothing else is asked of it: over one
// connection for all, read a second time for fields that stand there twice, and
// answered with the whole node.
func (w *world) plainly(ctx context.Context, write nodeWrite) error {
	options := metav1.PatchOptions{FieldManager: write.manager}
	if write.patch.Type == types.ApplyPatchType {
		options.Force = ptr.To(true)
	}
	return w.account.Patch(write.patch.Type).Resource("nodes").Name(write.node).
		VersionedParams(&options, scheme.ParameterCodec).Body(write.patch.Data).Do(ctx).Error()
}

// sparingly sends a write as the program does, so that the very same is asked of the
// API server.
func (w *world) sparingly(ctx context.Context, write nodeWrite) error {
	return w.sparing.PatchNode(ctx, write.node, write.patch)
}

// settle lets everybody come to rest before something is measured.
func (w *world) settle(ctx context.Context) error {
	runtime.GC()
	return pause(ctx, settleTime)
}

const settleTime = 3 * time.Second
