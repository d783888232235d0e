package observe

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// PodKind is a kind of objects that an inventory reads beside nodes and pools, so that
// the effect of a change on pods is known.
type PodKind struct {
	// Resource is as kubectl and roles have it.
	Resource string
	schema.GroupVersionKind
	// List is an empty list of the kind.
	List client.ObjectList
}

// PodKinds are those that are read, in the order in which they are.
func PodKinds() []PodKind {
	return []PodKind{
		{"deployments.apps", appsv1.SchemeGroupVersion.WithKind("Deployment"), &appsv1.DeploymentList{}},
		{"replicasets.apps", appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), &appsv1.ReplicaSetList{}},
		{"statefulsets.apps", appsv1.SchemeGroupVersion.WithKind("StatefulSet"), &appsv1.StatefulSetList{}},
		{"daemonsets.apps", appsv1.SchemeGroupVersion.WithKind("DaemonSet"), &appsv1.DaemonSetList{}},
		{"replicationcontrollers", corev1.SchemeGroupVersion.WithKind("ReplicationController"), &corev1.ReplicationControllerList{}},
		{"cronjobs.batch", batchv1.SchemeGroupVersion.WithKind("CronJob"), &batchv1.CronJobList{}},
		{"jobs.batch", batchv1.SchemeGroupVersion.WithKind("Job"), &batchv1.JobList{}},
		{"poddisruptionbudgets.policy", policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), &policyv1.PodDisruptionBudgetList{}},
		{"pods", corev1.SchemeGroupVersion.WithKind("Pod"), &corev1.PodList{}},
	}
}

// Mapper knows the resources of the kinds that are read, so that no API server has to
// be asked for them.
func Mapper() *meta.DefaultRESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Node"),
		nodev1.SchemeGroupVersion.WithKind("RuntimeClass"),
		v1.GroupVersion.WithKind(v1.NodePoolKind),
		v1.GroupVersion.WithKind(v1.NodePoolSourceKind),
	} {
		mapper.Add(kind, meta.RESTScopeRoot)
	}
	for _, kind := range PodKinds() {
		mapper.Add(kind.GroupVersionKind, meta.RESTScopeNamespace)
	}
	return mapper
}

// NewClient makes a client for the kinds that are read.
func NewClient(config *rest.Config) (client.Client, error) {
	found, err := client.New(config, client.Options{Scheme: inventory.NewScheme(), Mapper: Mapper()})
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return found, nil
}
