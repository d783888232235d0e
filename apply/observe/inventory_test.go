package observe

import (
	"context"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// expiringReader serves a list of two pages whose second has expired, and then, in
// a list of its own, what is left.
//
// It stands in for an API server, since a real one lets a list expire only when
// etcd is compacted, which is after five minutes, and when nothing of the list is
// in its cache.
type expiringReader struct {
	client.Reader
	gone, left runtime.Object
	lists      int
}

func (r *expiringReader) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	var asked client.ListOptions
	asked.ApplyOptions(options)
	r.lists++
	switch {
	case asked.Continue != "":
		return apierrors.NewResourceExpired("the provided continue parameter is too old")
	case r.lists == 1:
		list.SetContinue("more")
		return meta.SetList(list, []runtime.Object{r.gone, r.left})
	default:
		return meta.SetList(list, []runtime.Object{r.left})
	}
}

// What was deleted while a list was read twice is not in the inventory: a pool that
// is gone would be planned to be deleted.
func TestInventoryOfAListThatExpires(t *testing.T) {
	template := corev1.PodTemplateSpec{}
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "ns", Name: name} }
	onNode := func(name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: named(name), Spec: corev1.PodSpec{NodeName: "n"}}
	}
	cases := []struct {
		list   client.ObjectList
		object func(name string) runtime.Object
		names  func(*inventory.Inventory) []string
	}{
		{&v1.NodePoolList{}, func(name string) runtime.Object { return &v1.NodePool{ObjectMeta: named(name)} }, func(inv *inventory.Inventory) []string { return namesOf(inv.Pools) }},
		{&v1.NodePoolSourceList{}, func(name string) runtime.Object { return &v1.NodePoolSource{ObjectMeta: named(name)} }, func(inv *inventory.Inventory) []string { return namesOf(inv.Sources) }},
		{&nodev1.RuntimeClassList{}, func(name string) runtime.Object { return &nodev1.RuntimeClass{ObjectMeta: named(name)} }, func(inv *inventory.Inventory) []string { return namesOf(inv.RuntimeClasses) }},
		{&corev1.NodeList{}, func(name string) runtime.Object { return &corev1.Node{ObjectMeta: named(name)} }, func(inv *inventory.Inventory) []string { return namesOf(inv.Nodes) }},
		{&corev1.PodList{}, func(name string) runtime.Object { return onNode(name) }, podNames},
		{&policyv1.PodDisruptionBudgetList{}, func(name string) runtime.Object { return &policyv1.PodDisruptionBudget{ObjectMeta: named(name)} }, func(inv *inventory.Inventory) []string {
			var names []string
			for _, budget := range inv.Budgets {
				names = append(names, budget.Name)
			}
			return names
		}},
		{&appsv1.DeploymentList{}, func(name string) runtime.Object { return &appsv1.Deployment{ObjectMeta: named(name)} }, workloadNames},
		{&appsv1.ReplicaSetList{}, func(name string) runtime.Object { return &appsv1.ReplicaSet{ObjectMeta: named(name)} }, workloadNames},
		{&appsv1.StatefulSetList{}, func(name string) runtime.Object { return &appsv1.StatefulSet{ObjectMeta: named(name)} }, workloadNames},
		{&appsv1.DaemonSetList{}, func(name string) runtime.Object { return &appsv1.DaemonSet{ObjectMeta: named(name)} }, workloadNames},
		{&corev1.ReplicationControllerList{}, func(name string) runtime.Object {
			return &corev1.ReplicationController{ObjectMeta: named(name), Spec: corev1.ReplicationControllerSpec{Template: &template}}
		}, workloadNames},
		{&batchv1.CronJobList{}, func(name string) runtime.Object { return &batchv1.CronJob{ObjectMeta: named(name)} }, workloadNames},
		{&batchv1.JobList{}, func(name string) runtime.Object { return &batchv1.Job{ObjectMeta: named(name)} }, workloadNames},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%T", c.list), func(t *testing.T) {
			var builder inventory.Builder
			// A pod is on a node that there is, and the one kind does not take the others with it.
			others := []runtime.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, onNode("other"), &appsv1.Deployment{ObjectMeta: named("other")}, &batchv1.Job{ObjectMeta: named("other")}}
			for _, object := range others {
				if fmt.Sprintf("%T", object) == fmt.Sprintf("%T", c.object("")) {
					continue // it would be forgotten
				}
				if err := builder.Add(object); err != nil {
					t.Fatal(err)
				}
			}
			want := append(c.names(builder.Inventory("")), "left")
			slices.Sort(want)
			reader := &expiringReader{gone: c.object("gone"), left: c.object("left")}
			if err := collect(t.Context(), reader, c.list, &builder); err != nil {
				t.Fatal(err)
			}
			got := c.names(builder.Inventory(""))
			slices.Sort(got)
			if !slices.Equal(got, want) || reader.lists != 3 {
				t.Errorf("after %d lists there are %v, want %v after 3", reader.lists, got, want)
			}
		})
	}
}

func namesOf[T interface{ GetName() string }](objects []T) []string {
	var names []string
	for _, object := range objects {
		names = append(names, object.GetName())
	}
	return names
}

func podNames(inv *inventory.Inventory) []string {
	var names []string
	for _, pod := range inv.Pods {
		names = append(names, pod.Name)
	}
	return names
}

func workloadNames(inv *inventory.Inventory) []string {
	var names []string
	for _, workload := range inv.Workloads {
		names = append(names, workload.Name)
	}
	return names
}
