package adopt_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// The random clusters are small in keys and values, so that whatever can get into
// each other's way does.
var (
	worldRoles    = []string{"worker", "gpu", "infra", "control-plane", "Ops", "gold"}
	worldLabels   = []string{"team", "example.com/tier", "node-restriction.kubernetes.io/tenant", "rack", "topology.kubernetes.io/zone", "kubernetes.io/os", "feature.node.kubernetes.io/avx", "eks.amazonaws.com/nodegroup", "storage.k8s.io/fast", "karpenter.sh/nodepool"}
	worldTaints   = []string{"dedicated", "example.com/gpu", "node.kubernetes.io/unschedulable", "node-role.kubernetes.io/control-plane", "karpenter.sh/disrupted", "node.cilium.io/agent-not-ready"}
	worldValues   = []string{"", "a", "b", "gold"}
	worldManagers = []string{"kubectl-label", "OpenAPI-Generator", "kubelet", "nfd-master", "cloud-controller-manager", "fleetctl", "kube-controller-manager", ""}
	worldEffects  = []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute}
	worldNames    = []string{"gpu-%d", "worker-%02d.example.com", "ip-10-0-%d-7", "node%d"}
)

type world struct{ *rand.Rand }

func newWorld(seed uint64) world { return world{rand.New(rand.NewPCG(seed, 7))} }

func pick[T any](w world, from []T) T { return from[w.IntN(len(from))] }

func (w world) oneIn(n int) bool { return w.IntN(n) == 0 }

// cluster has nodes of a few kinds, some with something of their own, and pools that
// are carried out already.
func (w world) cluster(t *testing.T) plan.Cluster {
	t.Helper()
	var cluster plan.Cluster
	for kind := range 1 + w.IntN(5) {
		like, name := w.node("like"), pick(w, worldNames)
		for i := range 1 + w.IntN(12) {
			node := like.DeepCopy()
			node.Name = fmt.Sprintf(name, kind*100+i)
			if w.oneIn(8) {
				w.mutate(node)
			}
			node.Labels["kubernetes.io/hostname"] = node.Name
			w.own(node)
			cluster.Nodes = append(cluster.Nodes, node)
		}
	}
	seen := map[string]bool{}
	for i := 0; i < len(cluster.Nodes); i++ {
		if seen[cluster.Nodes[i].Name] {
			cluster.Nodes = append(cluster.Nodes[:i], cluster.Nodes[i+1:]...)
			i--
			continue
		}
		seen[cluster.Nodes[i].Name] = true
	}
	if w.oneIn(2) {
		cluster.Pools = w.pools()
	}
	cluster = atRest(t, cluster)
	if w.oneIn(3) {
		cluster.RuntimeClasses = append(cluster.RuntimeClasses, &nodev1.RuntimeClass{
			ObjectMeta: metav1.ObjectMeta{Name: v1.RuntimeClassName(pick(w, []string{"worker", "gpu", "infra", "gold"}))}, Handler: "runsc",
		})
	}
	for _, node := range cluster.Nodes {
		switch w.IntN(30) {
		case 0:
			annotate(node, v1.AppliedAnnotation, "torn")
		case 1:
			annotate(node, v1.ReconcileAnnotation, v1.Disabled)
		}
	}
	w.Shuffle(len(cluster.Nodes), func(i, j int) { cluster.Nodes[i], cluster.Nodes[j] = cluster.Nodes[j], cluster.Nodes[i] })
	return cluster
}

func (w world) node(name string) *plan.NodeState {
	node := &plan.NodeState{Name: name, Labels: map[string]string{}}
	for range w.IntN(8) {
		w.mutate(node)
	}
	return node
}

// mutate labels or taints a node as others do.
func (w world) mutate(node *plan.NodeState) {
	switch w.IntN(3) {
	case 0:
		node.Labels[v1.RoleLabel(pick(w, worldRoles))] = pick(w, []string{"", "", "", "true"})
	case 1:
		node.Labels[pick(w, worldLabels)] = pick(w, worldValues)
	default:
		taint := corev1.Taint{Key: pick(w, worldTaints), Value: pick(w, worldValues), Effect: pick(w, worldEffects)}
		for _, other := range node.Taints {
			if other.Key == taint.Key && other.Effect == taint.Effect {
				return
			}
		}
		node.Taints = append(node.Taints, taint)
	}
}

// own says of each label, and of the taints, who set it: now and then nobody knows.
func (w world) own(node *plan.NodeState) {
	if w.oneIn(4) {
		return
	}
	owned := map[string][]string{}
	for key := range node.Labels {
		manager := pick(w, worldManagers)
		owned[manager] = append(owned[manager], key)
	}
	delete(owned, "")
	taints := pick(w, worldManagers)
	for manager, keys := range owned {
		labels := map[string]any{}
		for _, key := range keys {
			labels["f:"+key] = map[string]any{}
		}
		fields := map[string]any{"f:metadata": map[string]any{"f:labels": labels}}
		if manager == taints {
			fields["f:spec"] = map[string]any{"f:taints": map[string]any{}}
		}
		text, err := json.Marshal(fields)
		if err != nil {
			panic(err)
		}
		node.ManagedFields = append(node.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(string(text)),
		})
	}
}

// pools are some that the cluster has already.
func (w world) pools() []*v1.NodePool {
	var pools []*v1.NodePool
	for i, name := range []string{"gold", "infra", "team-a"} {
		if w.oneIn(2) {
			continue
		}
		pool := &v1.NodePool{}
		pool.Name, pool.CreationTimestamp = name, metav1.Unix(int64(i), 0)
		pool.Spec.Labels = map[string]v1.LabelValue{pick(w, worldLabels[:3]): v1.LabelValue(pick(w, worldValues))}
		pool.Spec.ConflictPolicy = pick(w, []v1.ConflictPolicy{v1.ReportConflicts, v1.TakeOver, v1.Adopt})
		switch w.IntN(3) {
		case 0:
			pool.Spec.NodeNames = []string{"gpu-*"}
		case 1:
			key := pick(w, append([]string{v1.RoleLabel("worker")}, worldLabels...))
			pool.Spec.Selector = &v1.LabelSelector{MatchExpressions: []v1.LabelSelectorRequirement{{
				Key: key, Operator: pick(w, []metav1.LabelSelectorOperator{metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist}),
			}}}
		}
		v1.SetNodePoolDefaults(pool)
		pools = append(pools, pool)
	}
	return pools
}

// atRest is a cluster in which the pools that it has are carried out.
func atRest(t *testing.T, cluster plan.Cluster) plan.Cluster {
	t.Helper()
	for range 8 {
		difference, err := plan.Diff(plan.Revision{}, cluster)
		if err != nil {
			t.Fatal(err)
		}
		if difference.Empty() {
			return cluster
		}
		cluster = difference.After(cluster)
	}
	t.Fatal("the pools of the cluster do not come to rest")
	return cluster
}

func annotate(node *plan.NodeState, key, value string) {
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	node.Annotations[key] = value
}
