package impact_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

func (p *play) makeNode(n node) {
	p.t.Helper()
	labels := map[string]string{"world": p.slug, "node": n.name}
	maps.Copy(labels, n.labels)
	p.do(p.Create(p.t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: p.full(n.name), Labels: labels},
		Spec:       corev1.NodeSpec{Taints: coreTaints(n.taints...)},
	}))
}

func (p *play) nodesAreReady() {
	p.t.Helper()
	p.eventually("the nodes are ready", func() error {
		for _, node := range p.nodes() {
			for _, taint := range node.Spec.Taints {
				if strings.HasPrefix(taint.Key, "node.kubernetes.io/") {
					return fmt.Errorf("node %s has taint %s", node.Name, taint.Key)
				}
			}
			if len(node.Status.Allocatable) == 0 {
				return fmt.Errorf("node %s has no resources", node.Name)
			}
		}
		return nil
	})
}

// apply takes pools for what the repository says, and waits until the loops have
// nothing left to do.
func (p *play) apply(pools map[string]v1.NodePoolSpec) {
	p.t.Helper()
	revision := p.revision(pools)
	p.write(revision)
	p.eventually("the pools are carried out", func() error {
		p.approveHeld()
		d, err := plan.Diff(revision, p.world())
		if err != nil {
			return err
		}
		if !d.Empty() {
			return fmt.Errorf("%d nodes and %d RuntimeClasses are left to do", len(d.Nodes), len(d.RuntimeClasses))
		}
		for _, pool := range p.world().Pools {
			if !pool.DeletionTimestamp.IsZero() {
				return fmt.Errorf("pool %s is still there", pool.Name)
			}
		}
		return nil
	})
}

// approveHeld approves what the pools are held for: the worlds are small, and change at once.
func (p *play) approveHeld() {
	p.t.Helper()
	for _, pool := range p.world().Pools {
		approval := fmt.Sprint(pool.Generation)
		if !pool.DeletionTimestamp.IsZero() {
			approval = v1.DeletionApproval
		}
		if plan.IsBlocked(pool) {
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1.ApproveReleaseAnnotation, approval)
			p.do(client.IgnoreNotFound(p.Patch(p.t.Context(), pool, client.RawPatch(types.MergePatchType, patch))))
		}
	}
}

// write writes the pools of a revision, as the source loop does.
func (p *play) write(revision plan.Revision) {
	p.t.Helper()
	p.eventually("the pools are written", func() error {
		pools, err := plan.Pools(revision, p.world().Pools)
		if err != nil {
			return err
		}
		if pools.Blocked != nil {
			p.t.Fatal(pools.Blocked)
		}
		for i := range pools.Changes { // there is no source whose number could count
			pools.Changes[i].Drops = ""
		}
		return apply.New(p.Client).Pools(p.t.Context(), pools)
	})
}

// revision is what the source of this play has to say.
func (p *play) revision(pools map[string]v1.NodePoolSpec) plan.Revision {
	revision := plan.Revision{
		Source: p.slug, Name: "main@sha1:0123456789012345678901234567890123456789",
		Prune: plan.PrunePolicy{Enabled: true, Limit: intstr.FromInt32(100)}, AssumeApproved: true,
	}
	for _, name := range slices.Sorted(maps.Keys(pools)) {
		spec := pools[name]
		spec = *spec.DeepCopy()
		for i, node := range spec.NodeNames {
			spec.NodeNames[i] = p.full(node)
		}
		if spec.Parent != "" {
			spec.Parent = p.full(spec.Parent)
		}
		if spec.Selector != nil {
			if spec.Selector.MatchLabels == nil {
				spec.Selector.MatchLabels = map[string]v1.LabelValue{}
			}
			spec.Selector.MatchLabels["world"] = v1.LabelValue(p.slug)
		}
		revision.Pools = append(revision.Pools, render.Definition{File: "pools.yaml", Line: 1, Pool: &v1.NodePool{
			ObjectMeta: metav1.ObjectMeta{Name: p.full(name)}, Spec: spec,
		}})
	}
	return revision
}

// world is the part of the cluster that is this play's.
func (p *play) world() plan.Cluster {
	p.t.Helper()
	var world plan.Cluster
	for _, node := range p.nodes() {
		world.Nodes = append(world.Nodes, plan.StateOf(node))
	}
	var pools v1.NodePoolList
	p.do(p.List(p.t.Context(), &pools, client.MatchingLabels{v1.SourceLabel: p.slug}))
	for i := range pools.Items {
		world.Pools = append(world.Pools, &pools.Items[i])
	}
	var classes nodev1.RuntimeClassList
	p.do(p.List(p.t.Context(), &classes))
	// By whole names: the slug of another play may begin with that of this one.
	for i := range classes.Items {
		for _, pools := range []map[string]bool{keysOf(p.scenario.before), keysOf(p.scenario.after)} {
			if slices.ContainsFunc(slices.Collect(maps.Keys(pools)), func(pool string) bool { return classes.Items[i].Name == v1.RuntimeClassName(p.full(pool)) }) {
				world.RuntimeClasses = append(world.RuntimeClasses, &classes.Items[i])
				break
			}
		}
	}
	return world
}

func (p *play) nodes() []*corev1.Node {
	p.t.Helper()
	var nodes corev1.NodeList
	p.do(p.List(p.t.Context(), &nodes, client.MatchingLabels{"world": p.slug}))
	all := make([]*corev1.Node, 0, len(nodes.Items))
	for i := range nodes.Items {
		all = append(all, &nodes.Items[i])
	}
	return all
}

// protect makes a PodDisruptionBudget for a workload, with its name.
func (p *play) protect(b budget) {
	p.t.Helper()
	least := intstr.FromInt32(int32(b.minAvailable)) //nolint:gosec // a handful
	p.do(p.Create(p.t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: b.workload, Namespace: p.slug},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &least, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": b.workload}},
		},
	}))
}
