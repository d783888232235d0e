package impact_test

import (
	"bytes"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// takeInventory reads what is this play's in the cluster, and lets it go through
// a file.
func (p *play) takeInventory() *inventory.Inventory {
	p.t.Helper()
	var b inventory.Builder
	world := p.world()
	for _, node := range world.Nodes {
		p.do(b.Add(node.Object()))
	}
	for _, pool := range world.Pools {
		p.do(b.Add(pool))
	}
	p.classes = map[string]types.UID{}
	for _, class := range world.RuntimeClasses {
		p.classes[class.Name] = class.UID
		p.do(b.Add(class))
	}
	for _, list := range []client.ObjectList{
		&appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &appsv1.StatefulSetList{}, &appsv1.DaemonSetList{},
		&batchv1.CronJobList{}, &batchv1.JobList{}, &policyv1.PodDisruptionBudgetList{}, &corev1.PodList{},
	} {
		p.do(p.List(p.t.Context(), list, client.InNamespace(p.slug)))
		p.remember(list)
		p.do(meta.EachListItem(list, func(object runtime.Object) error { return b.Add(object) }))
	}
	var file bytes.Buffer
	p.do(inventory.Write(&file, b.Inventory(time.Now().UTC().Format(time.RFC3339))))
	read, err := inventory.Read(&file)
	p.do(err)
	return read
}

// remember keeps what the observation has to know of the world as it was.
func (p *play) remember(list client.ObjectList) {
	switch list := list.(type) {
	case *corev1.PodList:
		p.uids = map[string]types.UID{}
		for _, pod := range list.Items {
			if pod.Spec.NodeName != "" {
				p.uids[pod.Name] = pod.UID
			}
		}
	case *batchv1.JobList:
		p.over = map[string]bool{}
		for i := range list.Items {
			p.over[list.Items[i].Name] = isOver(&list.Items[i])
		}
	}
}

// isOver reports whether a Job has all that it was to do, and makes no more pods.
func isOver(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
	})
}
