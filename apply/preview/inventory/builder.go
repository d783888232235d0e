package inventory

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// Builder makes an inventory of the objects of a cluster, which may be added in
// any order. It keeps only what the inventory needs, so that a cluster can be
// read page by page. The zero value is ready to use.
type Builder struct {
	nodes   map[objectName]*plan.NodeState
	unready map[string]bool
	classes map[objectName]*nodev1.RuntimeClass
	pools   map[objectName]*v1.NodePool
	sources map[objectName]*v1.NodePoolSource
	budgets map[objectName]Budget
	// workloads are those that no other workload creates; makers name what creates
	// the others.
	workloads map[Owner]Workload
	makers    map[Owner]Owner
	pods      map[objectName]Pod
}

type objectName struct{ namespace, name string }

func nameOf(object metav1.Object) objectName {
	return objectName{object.GetNamespace(), object.GetName()}
}

// Add adds an object, in place of an earlier one of the same name. The builder
// keeps the fields that a plan reads without copying them, and drops other
// fields of nodes: the caller must not use the object any more. An object of a
// kind that inventories do not have is an error.
func (b *Builder) Add(object runtime.Object) error {
	switch o := object.(type) {
	case *corev1.Node:
		put(&b.nodes, nameOf(o), stateOf(o))
		put(&b.unready, o.Name, isUnready(o))
	case *nodev1.RuntimeClass:
		put(&b.classes, nameOf(o), o)
	case *v1.NodePool:
		put(&b.pools, nameOf(o), o)
	case *v1.NodePoolSource:
		put(&b.sources, nameOf(o), o)
	case *policyv1.PodDisruptionBudget:
		put(&b.budgets, nameOf(o), Budget{
			Namespace: o.Namespace, Name: o.Name, Selector: o.Spec.Selector,
			Allowed: o.Status.DisruptionsAllowed, Healthy: o.Status.CurrentHealthy, Desired: o.Status.DesiredHealthy,
		})
	case *corev1.Pod:
		b.addPod(o)
	case *appsv1.Deployment:
		b.addWorkload(deployment, o, &o.Spec.Template)
	case *appsv1.ReplicaSet:
		b.addWorkload(replicaSet, o, &o.Spec.Template)
	case *appsv1.StatefulSet:
		b.addWorkload("StatefulSet", o, &o.Spec.Template)
	case *appsv1.DaemonSet:
		b.addWorkload(daemonSet, o, &o.Spec.Template)
	case *corev1.ReplicationController:
		b.addWorkload("ReplicationController", o, o.Spec.Template)
	case *batchv1.CronJob:
		b.addWorkload("CronJob", o, &o.Spec.JobTemplate.Spec.Template)
	case *batchv1.Job:
		template := &o.Spec.Template
		if isOver(o) {
			template = nil
		}
		b.addWorkload(job, o, template)
	default:
		return fmt.Errorf("an inventory has no %T", object)
	}
	return nil
}

// Forget drops all objects of the kind of a list that were added, for a list
// that must be read again from its beginning. A list of a kind that inventories
// do not have is an error.
func (b *Builder) Forget(list runtime.Object) error {
	switch list.(type) {
	case *corev1.NodeList:
		clear(b.nodes)
	case *nodev1.RuntimeClassList:
		clear(b.classes)
	case *v1.NodePoolList:
		clear(b.pools)
	case *v1.NodePoolSourceList:
		clear(b.sources)
	case *policyv1.PodDisruptionBudgetList:
		clear(b.budgets)
	case *corev1.PodList:
		clear(b.pods)
	case *appsv1.DeploymentList:
		b.forgetWorkloads(deployment)
	case *appsv1.ReplicaSetList:
		b.forgetWorkloads(replicaSet)
	case *appsv1.StatefulSetList:
		b.forgetWorkloads("StatefulSet")
	case *appsv1.DaemonSetList:
		b.forgetWorkloads(daemonSet)
	case *corev1.ReplicationControllerList:
		b.forgetWorkloads("ReplicationController")
	case *batchv1.CronJobList:
		b.forgetWorkloads("CronJob")
	case *batchv1.JobList:
		b.forgetWorkloads(job)
	default:
		return fmt.Errorf("an inventory has no %T", list)
	}
	return nil
}

func (b *Builder) forgetWorkloads(kind string) {
	maps.DeleteFunc(b.workloads, func(of Owner, _ Workload) bool { return of.Kind == kind })
	maps.DeleteFunc(b.makers, func(of, _ Owner) bool { return of.Kind == kind })
}

func put[K comparable, V any](values *map[K]V, key K, value V) {
	if *values == nil {
		*values = map[K]V{}
	}
	(*values)[key] = value
}

// stateOf keeps of a node what plans and impacts read.
func stateOf(node *corev1.Node) *plan.NodeState {
	state := plan.StateOf(node)
	state.ManagedFields = plan.Condense(state.ManagedFields)
	return state
}

// isUnready reports whether a node says that it is not ready.
func isUnready(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue
	})
}

func (b *Builder) addPod(pod *corev1.Pod) {
	found := Pod{
		Namespace: pod.Namespace, Name: pod.Name, Labels: pod.Labels, Node: pod.Spec.NodeName,
		Scheduling:  plan.PodSchedulingOf(&pod.Spec),
		Ready:       isReady(pod),
		Finished:    pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed,
		Terminating: !pod.DeletionTimestamp.IsZero(),
	}
	// The mirror of a static pod is owned by the node, which creates no pods.
	if _, found.Static = pod.Annotations[corev1.MirrorPodAnnotationKey]; !found.Static {
		found.Owner = controllerOf(pod)
	}
	put(&b.pods, nameOf(pod), found)
}

// addWorkload adds what creates pods; without a template it creates no more.
func (b *Builder) addWorkload(kind string, object metav1.Object, template *corev1.PodTemplateSpec) {
	self := Owner{Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName()}
	if maker := controllerOf(object); self.isLink() && maker != (Owner{}) {
		put(&b.makers, self, maker)
	} else if template != nil {
		put(&b.workloads, self, Workload{Owner: self, Template: plan.PodSchedulingOf(&template.Spec)})
	}
}

// Inventory returns everything that was added; taken is the time in RFC 3339.
func (b *Builder) Inventory(taken string) *Inventory {
	sources := values(b.sources)
	inv := &Inventory{
		Taken: taken,
		Cluster: plan.Cluster{
			Pools: values(b.pools), RuntimeClasses: values(b.classes), Nodes: values(b.nodes), Unready: map[string]bool{}, Numbers: plan.NumbersOf(sources),
		},
		Sources:   sources,
		Pods:      make([]Pod, 0, len(b.pods)),
		Workloads: values(b.workloads),
		Budgets:   values(b.budgets),
	}
	for node := range b.nodes {
		if b.unready[node.name] {
			inv.Unready[node.name] = true
		}
	}
	protected := newProtection(inv.Budgets)
	for _, pod := range b.pods {
		waits := pod.Node == "" && !pod.Finished && !pod.Terminating
		if _, there := b.nodes[objectName{name: pod.Node}]; !there && !waits {
			continue // its node is gone, and it will be deleted
		}
		if maker, made := b.makers[pod.Owner]; made {
			pod.Owner = maker
		}
		if waits {
			pod.Labels = nil
			inv.Waiting = append(inv.Waiting, pod)
			continue
		}
		pod.Budgets, pod.Labels = protected.of(pod.Namespace, pod.Labels)
		inv.Pods = append(inv.Pods, pod)
	}
	inv.sort()
	return inv
}

func values[K comparable, V any](from map[K]V) []V {
	all := make([]V, 0, len(from))
	for _, value := range from {
		all = append(all, value)
	}
	return all
}
