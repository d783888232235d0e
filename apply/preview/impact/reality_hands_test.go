package impact_test

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// What people and others do before the change.

// finish lets the pods of a workload succeed.
func (p *play) finish(name string) {
	p.t.Helper()
	pods, err := p.podsOf(name)
	p.do(err)
	for i := range pods {
		patch := `{"status":{"phase":"Succeeded","conditions":[{"type":"Ready","status":"False","reason":"PodCompleted"}]}}`
		p.do(p.Status().Patch(p.t.Context(), &pods[i], client.RawPatch("application/strategic-merge-patch+json", []byte(patch))))
	}
}

// pauseNodes keeps the loops from writing to the nodes, or lets them.
func (p *play) pauseNodes(pause bool) {
	p.t.Helper()
	for _, node := range p.scenario.nodes {
		p.patchNode(node.name, func(n *corev1.Node) {
			if pause {
				metav1.SetMetaDataAnnotation(&n.ObjectMeta, v1.ReconcileAnnotation, v1.Disabled)
			} else {
				delete(n.Annotations, v1.ReconcileAnnotation)
			}
		})
	}
}

// poolsAreRead waits until the loops know the pools as they are.
func (p *play) poolsAreRead() {
	p.t.Helper()
	p.eventually("the pools are accepted", func() error {
		p.approveHeld()
		for _, pool := range p.world().Pools {
			accepted := pool.Status.Accepted != nil && pool.Status.Accepted.Generation == pool.Generation
			if !pool.DeletionTimestamp.IsZero() {
				state := meta.FindStatusCondition(pool.Status.Conditions, v1.ReconcilingCondition)
				accepted = pool.Status.ObservedGeneration == pool.Generation && !plan.IsBlocked(pool) && state != nil && !strings.Contains(state.Message, "accepted before")
			}
			if !accepted {
				return fmt.Errorf("pool %s is not", pool.Name)
			}
		}
		return nil
	})
}

// cordon closes a node for new pods, and waits for the taint that says so.
func (p *play) cordon(node string) {
	p.t.Helper()
	p.patchNode(node, func(n *corev1.Node) { n.Spec.Unschedulable = true })
	p.eventually("node "+node+" is cordoned", func() error {
		var live corev1.Node
		err := p.Get(p.t.Context(), client.ObjectKey{Name: p.full(node)}, &live)
		for _, taint := range live.Spec.Taints {
			if taint.Key == corev1.TaintNodeUnschedulable {
				return err
			}
		}
		return fmt.Errorf("it has taints %v", live.Spec.Taints)
	})
}

func (p *play) patchNode(name string, change func(*corev1.Node)) {
	p.t.Helper()
	p.eventually("node "+name+" is changed", func() error {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: p.full(name)}}
		if err := p.Get(p.t.Context(), client.ObjectKeyFromObject(node), node); err != nil {
			return err
		}
		change(node)
		return p.Update(p.t.Context(), node)
	})
}
