package inventory_test

import (
	"maps"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/inventory"
	"github.com/nodepools/nodepools/render"
)

// world makes clusters in which whatever can get into each other's way does: few
// keys, few values.
type world struct {
	*rand.Rand
	// fromGit reports whether pools are those of a source.
	fromGit bool
}

var (
	worldKeys    = []string{"k0", "k1", "k2", "example.com/k3"}
	worldValues  = []string{"", "1", "2"}
	worldPools   = []string{"a", "b", "c", "d", "e"}
	worldNodes   = []string{"n1", "n2", "n3", "n10", "m-08.example.com", "m-09.example.com", "m-10.example.com", "other.example.com", "other"}
	worldEffects = []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute}
)

func newWorld(seed uint64) world {
	return world{rand.New(rand.NewPCG(seed, 1)), seed%3 > 0}
}

func pick[T any](w world, from []T) T { return from[w.IntN(len(from))] }

func (w world) oneIn(n int) bool { return w.IntN(n) == 0 }

func (w world) values(most int) map[string]string {
	values := map[string]string{}
	for range w.IntN(most + 1) {
		values[pick(w, worldKeys)] = pick(w, worldValues)
	}
	return values
}

// cluster has pools, the RuntimeClasses of some, and nodes that carry what pools
// wanted once, before others changed both.
func (w world) cluster() plan.Cluster {
	earlier, now := w.pools(), w.pools()
	var cluster plan.Cluster
	for _, name := range worldNodes {
		if w.oneIn(4) {
			continue
		}
		node := w.node(name)
		if w.oneIn(2) {
			node = w.written(node, render.Expand(earlier))
		}
		if w.oneIn(2) {
			node = w.written(node, render.Expand(now))
		}
		w.mutate(node)
		cluster.Nodes = append(cluster.Nodes, node)
	}
	cluster.Pools = now
	for _, pool := range now {
		if !w.oneIn(4) {
			cluster.RuntimeClasses = append(cluster.RuntimeClasses, w.class(pool))
		}
	}
	return cluster
}

func (w world) pools() []*v1.NodePool {
	var pools []*v1.NodePool
	for _, name := range worldPools {
		if !w.oneIn(3) {
			pools = append(pools, w.pool(name))
		}
	}
	return pools
}

func (w world) pool(name string) *v1.NodePool {
	pool := &v1.NodePool{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID("uid-" + name), Labels: w.values(2), Annotations: w.values(2),
			CreationTimestamp: metav1.Unix(1_500_000_000+w.Int64N(3), 0),
		},
		Spec: w.spec(name),
	}
	v1.SetNodePoolDefaults(pool)
	if w.fromGit != w.oneIn(20) {
		pool.Labels[v1.SourceLabel], pool.Annotations[v1.SourceUIDAnnotation] = "team", "uid-of-team"
		if w.oneIn(20) {
			pool.Labels[v1.SourceLabel] = "other"
		}
		if w.oneIn(20) {
			pool.Annotations[v1.SourceUIDAnnotation] = "uid-of-other"
		}
		pool.Annotations[v1.RevisionAnnotation] = "main@sha1:old"
		pool.Annotations[v1.FileAnnotation] = name + ".yaml"
	}
	pool.ManagedFields = w.managed(slices.Collect(maps.Keys(pool.Labels)), slices.Collect(maps.Keys(pool.Annotations)))
	if w.oneIn(8) {
		pool.Annotations[pick(w, []string{v1.ReconcileAnnotation, v1.PruneAnnotation})] = v1.Disabled
	}
	if w.oneIn(10) {
		deleted := metav1.Unix(1_700_000_000, 0)
		pool.DeletionTimestamp = &deleted
	}
	if w.oneIn(10) {
		pool.Status.ReplacedRuntimeClass = &v1.ReplacedRuntimeClass{UID: "uid-of-class", Labels: map[string]string{"left": "behind"}}
	}
	return pool
}

func (w world) spec(name string) v1.NodePoolSpec {
	spec := v1.NodePoolSpec{
		Priority: int32(w.IntN(2)), Handler: pick(w, []string{"", "kata"}),
		ConflictPolicy: pick(w, []v1.ConflictPolicy{v1.ReportConflicts, v1.TakeOver, v1.Adopt}),
		Labels:         map[string]v1.LabelValue{}, Annotations: map[string]v1.AnnotationValue{},
	}
	for key, value := range w.values(3) {
		spec.Labels[key] = v1.LabelValue(value)
	}
	for key, value := range w.values(2) {
		spec.Annotations[key] = v1.AnnotationValue(value)
	}
	for key, value := range w.values(2) {
		spec.Taints = append(spec.Taints, v1.Taint{Key: key, Value: value, Effect: pick(w, worldEffects)})
	}
	switch w.IntN(4) {
	case 0:
		spec.Selector = &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{pick(w, worldKeys): v1.LabelValue(pick(w, worldValues))}}
	case 1:
		spec.NodeNames = []string{pick(w, []string{"n*", "m-*", "other", "*"})}
	}
	if parent := pick(w, worldPools); w.oneIn(4) && parent < name {
		spec.Parent = parent
	}
	return spec
}

func (w world) class(pool *v1.NodePool) *nodev1.RuntimeClass {
	class := &nodev1.RuntimeClass{
		ObjectMeta: metav1.ObjectMeta{Name: v1.RuntimeClassName(pool.Name), Labels: w.values(1), Annotations: w.values(1)},
		Handler:    pick(w, []string{"runc", "kata"}),
		Scheduling: &nodev1.Scheduling{NodeSelector: w.values(2)},
	}
	if wanted := render.Expand([]*v1.NodePool{pool}).RuntimeClass(pool.Name); wanted != nil && w.oneIn(2) {
		class.Scheduling = wanted.Scheduling
	}
	if w.oneIn(8) {
		deleted := metav1.Unix(1_700_000_000, 0)
		class.DeletionTimestamp, class.Finalizers = &deleted, []string{"example.com/keep"}
	}
	if w.oneIn(3) {
		class.Overhead = &nodev1.Overhead{PodFixed: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}}
	}
	switch w.IntN(6) {
	case 0: // of somebody else
	case 1: // of a pool of that name which is gone
		owner := plan.OwnerReference(pool)
		owner.UID = "uid-of-another"
		class.OwnerReferences = []metav1.OwnerReference{owner}
	case 2:
		class.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x"}, plan.OwnerReference(pool)}
	default:
		class.OwnerReferences = []metav1.OwnerReference{plan.OwnerReference(pool)}
	}
	return class
}

func (w world) node(name string) *plan.NodeState {
	node := &plan.NodeState{Name: name, UID: types.UID("uid-" + name), ResourceVersion: "7", Labels: w.values(4), Annotations: w.values(4)}
	node.Labels["kubernetes.io/hostname"] = name
	for _, pool := range worldPools {
		if w.oneIn(3) {
			node.Labels[v1.RoleLabel(pool)] = ""
		}
	}
	for key, value := range w.values(2) {
		taint := corev1.Taint{Key: key, Value: value, Effect: pick(w, worldEffects)}
		if w.oneIn(2) {
			added := metav1.Unix(1_700_000_000, 0)
			taint.TimeAdded = &added
		}
		node.Taints = append(node.Taints, taint)
	}
	return node
}

// managed says who has set keys: we, others by apply, others by update.
func (w world) managed(labels, annotations []string) []metav1.ManagedFieldsEntry {
	slices.Sort(labels)
	slices.Sort(annotations)
	var entries []metav1.ManagedFieldsEntry
	for _, manager := range []string{v1.FieldManager, "argo", "kubelet"} {
		var owned plan.Keys
		for _, key := range labels {
			if w.oneIn(2) {
				owned.Labels = append(owned.Labels, key)
			}
		}
		for _, key := range annotations {
			if w.oneIn(2) {
				owned.Annotations = append(owned.Annotations, key)
			}
		}
		if w.oneIn(4) {
			continue
		}
		entry := plan.ManagedFields(owned, plan.Keys{})[0]
		entry.Manager = manager
		if manager == "kubelet" {
			entry.Operation = metav1.ManagedFieldsOperationUpdate
		}
		entries = append(entries, entry)
	}
	return entries
}

// written is a node as the controller leaves it.
func (w world) written(node *plan.NodeState, pools *render.Expansion) *plan.NodeState {
	node = inventory.Carrying(node, pools)
	node.ManagedFields = w.managed(slices.Collect(maps.Keys(node.Labels)), slices.Collect(maps.Keys(node.Annotations)))
	return node
}

// mutate changes a node, or its record, as others do.
func (w world) mutate(node *plan.NodeState) {
	switch w.IntN(6) {
	case 0:
		node.Labels[pick(w, worldKeys)] = pick(w, worldValues)
	case 1:
		delete(node.Labels, pick(w, worldKeys))
	case 2:
		annotate(node, pick(w, worldKeys), pick(w, worldValues))
	case 3:
		node.Taints = nil
	}
	if w.oneIn(15) {
		annotate(node, v1.AppliedAnnotation, pick(w, []string{"?", `{"version":9}`}))
	}
	if w.oneIn(15) {
		annotate(node, v1.ReconcileAnnotation, v1.Disabled)
	}
}

func (w world) revision() plan.Revision {
	revision := plan.Revision{
		Name:  "main@sha1:new",
		Prune: plan.PrunePolicy{Enabled: !w.oneIn(4), Limit: intstr.FromString(pick(w, []string{"30%", "100%"}))},
	}
	if w.fromGit {
		revision.Source, revision.SourceUID = "team", "uid-of-team"
	}
	for _, pool := range w.pools() {
		pool.Labels, pool.Annotations = w.values(1), w.values(1)
		revision.Pools = append(revision.Pools, render.Definition{Pool: pool, File: pool.Name + ".yaml", Line: 1})
	}
	return revision
}

func annotate(node *plan.NodeState, key, value string) {
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	node.Annotations[key] = value
}
