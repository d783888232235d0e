package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/inventory"
)

// podKind is a kind of objects that an inventory reads beside nodes and pools, so
// that a change can be told in pods.
type podKind struct {
	// resource is as kubectl and roles have it.
	resource string
	schema.GroupVersionKind
	list client.ObjectList
}

var podKinds = []podKind{
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

func addPodKinds(scheme *runtime.Scheme) error {
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, batchv1.AddToScheme, policyv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("scheme: %w", err)
		}
	}
	return nil
}

// takenInventory is a cluster, and what is to be known of how it was read.
type takenInventory struct {
	*inventory.Inventory
	// installed is false where the cluster does not know the kind NodePool.
	installed bool
	// withheld are what the user may not list, such as "pods" and
	// "deployments.apps"; pods are not known then. It is empty where all was read.
	withheld []string
}

// takeInventory lists all that an inventory has, page by page. A right that is
// missing is an error, unless it is one to list pods or what makes them, and these
// are optional.
func (l *liveCluster) takeInventory(ctx context.Context, podsOptional bool) (*takenInventory, error) {
	ctx, cancel := context.WithTimeout(ctx, l.flags.timeout)
	defer cancel()
	taken, builder := &takenInventory{installed: true}, &inventory.Builder{}
	if err := l.collectNodes(ctx, taken, builder); err != nil {
		return nil, err
	}
	for _, kind := range podKinds {
		switch err := l.collect(ctx, kind.resource, kind.list, builder); {
		case podsOptional && apierrors.IsForbidden(err):
			taken.withheld = append(taken.withheld, kind.resource)
		case err != nil:
			return nil, err
		}
	}
	taken.Inventory = builder.Inventory(time.Now().UTC().Format(time.RFC3339))
	if len(taken.withheld) > 0 {
		// Half of it would say of pods that are in danger that they are not.
		taken.Pods, taken.Workloads, taken.Budgets = nil, nil, nil
	}
	return taken, nil
}

// takeNodes lists what an inventory has of nodes and pools, and nothing of pods.
func (l *liveCluster) takeNodes(ctx context.Context) (*takenInventory, error) {
	ctx, cancel := context.WithTimeout(ctx, l.flags.timeout)
	defer cancel()
	taken, builder := &takenInventory{installed: true}, &inventory.Builder{}
	if err := l.collectNodes(ctx, taken, builder); err != nil {
		return nil, err
	}
	taken.Inventory = builder.Inventory("")
	return taken, nil
}

// collectNodes adds nodes, pools and their sources, and RuntimeClasses.
func (l *liveCluster) collectNodes(ctx context.Context, taken *takenInventory, builder *inventory.Builder) error {
	if err := l.collect(ctx, "NodePools", &v1.NodePoolList{}, builder); apierrors.IsNotFound(err) {
		taken.installed = false
	} else if err != nil {
		return err
	}
	if taken.installed {
		if err := l.collect(ctx, "NodePoolSources", &v1.NodePoolSourceList{}, builder); err != nil {
			return err
		}
	}
	if err := l.collect(ctx, "RuntimeClasses", &nodev1.RuntimeClassList{}, builder); err != nil {
		return err
	}
	return l.collect(ctx, "nodes", &corev1.NodeList{}, builder)
}

// collect adds the objects of a kind, and says of an error what it was to list.
func (l *liveCluster) collect(ctx context.Context, what string, empty client.ObjectList, builder *inventory.Builder) error {
	if err := collect(ctx, l.reader, empty, builder); err != nil {
		return l.explain(what, err)
	}
	return nil
}

// notes say what the reader should know of how the inventory was read.
func (t *takenInventory) notes(server string) []string {
	var notes []string
	if !t.installed {
		notes = append(notes, server+" does not know NodePools, so all of them are new; see 'nodepools install'")
	}
	if len(t.withheld) > 0 {
		notes = append(notes, fmt.Sprintf("what happens to pods is not told: the user may not list %s; see 'nodepools install --viewer'",
			strings.Join(t.withheld, ", ")))
	}
	return notes
}

// pageSize is how many objects one request brings, as with kubectl.
const pageSize = 500

// collect adds the objects of a kind to an inventory, as they stand there at one
// time: what an earlier list had that became too old to be read on is forgotten.
func collect(ctx context.Context, reader client.Reader, empty client.ObjectList, builder *inventory.Builder) error {
	return eachPage(ctx, reader, empty, builder.Add, func() error { return builder.Forget(empty) })
}

// eachPage lists the objects of a kind and hands each on, so that no more than a
// page of them is held here. Where the list becomes too old to be read on, all of it
// is read again at once. Some of what was handed on may be gone by then: again is
// called before the rest comes anew.
func eachPage(ctx context.Context, reader client.Reader, empty client.ObjectList, take func(runtime.Object) error, again func() error) error {
	options := client.ListOptions{Limit: pageSize}
	for {
		page := empty.DeepCopyObject().(client.ObjectList)
		switch err := reader.List(ctx, page, &options); {
		case apierrors.IsResourceExpired(err) && options.Continue != "":
			if err := again(); err != nil {
				return err
			}
			options = client.ListOptions{}
			continue
		case err != nil:
			return err
		}
		if err := meta.EachListItem(page, take); err != nil {
			return err
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}
