package controller

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/status"
)

// act is what a verb of the command line would do about a pool, by what it reads.
func (w *world) act(verb status.Verb, name string) (*plan.Act, error) {
	w.t.Helper()
	var pools v1.NodePoolList
	var nodes corev1.NodeList
	w.do(w.List(w.t.Context(), &pools))
	w.do(w.List(w.t.Context(), &nodes))
	var cluster status.Cluster
	var about *v1.NodePool
	for i := range pools.Items {
		pool := &pools.Items[i]
		cluster.Pools = append(cluster.Pools, pool)
		if pool.Name == name {
			about = pool
		}
	}
	for i := range nodes.Items {
		ready := slices.ContainsFunc(nodes.Items[i].Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
		cluster.Nodes = append(cluster.Nodes, status.Node{NodeState: plan.StateOf(&nodes.Items[i]), Ready: ready})
	}
	if about == nil {
		w.t.Fatalf("there is no pool %s", name)
	}
	return status.Act(verb, about, cluster, time.Now())
}

// approves approves what of a pool is held, as 'nodepools approve' would.
func (w *world) approves(name string) {
	w.t.Helper()
	act, err := w.act(status.Approve, name)
	w.do(err)
	w.change(name, func(pool *v1.NodePool) {
		for key, value := range act.Set {
			metav1.SetMetaDataAnnotation(&pool.ObjectMeta, key, value)
		}
	})
}
