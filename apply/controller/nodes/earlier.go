package nodes

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/plan"
)

// earlier is what an earlier leader has written, by the API server. A node whose record
// cannot be read is left out: it follows nothing.
func (r *Reconciler) earlier(ctx context.Context) (fleet.Earlier, error) {
	changes, err := listChanges(ctx, r.live)
	if err != nil {
		return fleet.Earlier{}, err
	}
	pools, err := loop.ListPools(ctx, r.live)
	if err != nil {
		return fleet.Earlier{}, err
	}
	return fleet.Earlier{Changes: changes, Halts: plan.HaltsOf(pools), Latches: plan.LatchesOf(pools)}, nil
}

// changesChunk is how many nodes one request asks for: few, as those of 5,000 nodes would
// otherwise be what takes the most memory of all.
const changesChunk = 100

// listChanges are the last changes that nodes have followed, by the API server. The cache
// has all nodes already, so nothing else is asked for, or kept, of these: a record is part
// of the metadata, which is less than half of a node.
func listChanges(ctx context.Context, live client.Reader) (map[string]plan.LastChange, error) {
	changes := map[string]plan.LastChange{}
	for next := ""; ; {
		page := metav1.PartialObjectMetadataList{}
		page.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
		if err := live.List(ctx, &page, client.Limit(changesChunk), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("list nodes: %w", err)
		}
		for i := range page.Items {
			node := &page.Items[i]
			if change := plan.LastChangeOf(node); !change.At.IsZero() {
				changes[node.Name] = change
			}
		}
		if next = page.Continue; next == "" {
			return changes, nil
		}
	}
}
