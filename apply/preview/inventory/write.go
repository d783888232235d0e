package inventory

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// Write writes an inventory as a file. The same inventory gives the same bytes.
//
// The file has the values of node annotations that a plan may read: those of
// keys under nodes.lailin.xyz/, and of keys that a pool or the record of the
// node names. Of all others it has only the key. It has the field managers that
// set labels and taints, and of annotations no more owners than a plan needs.
func Write(w io.Writer, inv *Inventory) error {
	f := file{
		APIVersion: APIVersion, Kind: Kind, Taken: inv.Taken,
		Pools: []filePool{}, Sources: []fileSource{}, RuntimeClasses: []fileClass{},
	}
	for _, pool := range inv.Pools {
		f.Pools = append(f.Pools, poolToFile(pool))
	}
	for _, source := range inv.Sources {
		f.Sources = append(f.Sources, sourceToFile(source))
	}
	for _, class := range inv.RuntimeClasses {
		f.RuntimeClasses = append(f.RuntimeClasses, classToFile(class, inv.Pools))
	}
	for _, budget := range inv.Budgets {
		f.Budgets = append(f.Budgets, fileBudget(budget))
	}
	var err error
	if f.Nodes, err = nodesToFile(inv); err != nil {
		return err
	}
	if f.Workloads, err = workloadsToFile(inv); err != nil {
		return err
	}
	text, err := toJSON(f)
	if err != nil {
		return err
	}
	_, err = w.Write(layOut(text))
	return err
}

// toJSON leaves < and > as they are: no browser reads this.
func toJSON(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("inventory: %w", err)
	}
	return bytes.TrimSpace(text.Bytes()), nil
}

func poolToFile(pool *v1.NodePool) filePool {
	written := filePool{
		Name: pool.Name, UID: pool.UID, Deleting: !pool.DeletionTimestamp.IsZero(),
		Finalizers: pool.Finalizers, Labels: pool.Labels, Annotations: pool.Annotations, Spec: pool.Spec,
		Contests:   pool.Status.Contests,
		Settled:    pool.Status.Settled,
		Replaced:   pool.Status.ReplacedRuntimeClass,
		Generation: pool.Generation, ObservedMembership: pool.Status.ObservedMembership, ReleaseBlocked: plan.WasBlocked(pool),
		Frozen:             plan.WasFrozen(pool),
		ObservedOuterPools: pool.Status.ObservedOuterPools, ObservedSourceMembership: pool.Status.ObservedSourceMembership,
	}
	if pool.Status.Rollout != nil {
		written.Halt, written.Over = pool.Status.Rollout.Halt, pool.Status.Rollout.Over
	}
	if !pool.CreationTimestamp.IsZero() && !pool.CreationTimestamp.Equal(&unknownAge) {
		written.Created = &pool.CreationTimestamp
	}
	if len(pool.ManagedFields) > 0 {
		applied := plan.Applied(pool)
		written.Managed = &fileKeys{applied.Labels, applied.Annotations}
		written.AlsoApplied = keysToFile(plan.AlsoSet(pool, applied))
	}
	return written
}

func keysToFile(keys plan.Keys) *fileKeys {
	if keys.Empty() {
		return nil
	}
	return &fileKeys{keys.Labels, keys.Annotations}
}

func sourceToFile(source *v1.NodePoolSource) fileSource {
	written := fileSource{
		Name: source.Name, UID: source.UID, Deleting: !source.DeletionTimestamp.IsZero(), Spec: source.Spec,
		Revision: source.Status.Revision, PruneBase: source.Status.PruneBase,
		BlockedPrune: source.Status.BlockedPrune, ApprovalUsed: source.Status.LastHandledPruneApproval,
		ReleaseApprovalUsed: source.Status.LastHandledReleaseApproval, ReleaseBlocked: plan.ReleasePolicyOf(source).Blocked,
	}
	for key, value := range source.Annotations {
		if isOurs(key) {
			put(&written.Annotations, key, value)
		}
	}
	return written
}

func classToFile(class *nodev1.RuntimeClass, pools []*v1.NodePool) fileClass {
	written := fileClass{
		Name: class.Name, Deleting: !class.DeletionTimestamp.IsZero(), Finalizers: class.Finalizers,
		Labels: class.Labels, Annotations: class.Annotations,
		Handler: class.Handler, Overhead: class.Overhead, Scheduling: class.Scheduling,
	}
	if pool := ownerOf(class, pools); pool != nil {
		written.Pool = pool.Name
	} else {
		written.Owners = class.OwnerReferences
	}
	return written
}

// ownerOf returns the pool that owns a RuntimeClass as the controller writes it.
func ownerOf(class *nodev1.RuntimeClass, pools []*v1.NodePool) *v1.NodePool {
	if len(class.OwnerReferences) != 1 {
		return nil
	}
	at, found := slices.BinarySearchFunc(pools, class.OwnerReferences[0].Name, func(pool *v1.NodePool, name string) int {
		return cmp.Compare(pool.Name, name)
	})
	if !found || !equality.Semantic.DeepEqual(class.OwnerReferences[0], plan.OwnerReference(pools[at])) {
		return nil
	}
	return pools[at]
}

// isOurs reports whether a key has a meaning to the controller.
func isOurs(key string) bool { return strings.HasPrefix(key, v1.Domain+"/") }
