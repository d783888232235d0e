package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// alone runs as many pods of an application as there are nodes, each on a node of its own.
func (w *canaryWorld) alone(name string) {
	w.t.Helper()
	kube, err := kubernetes.NewForConfig(w.cluster.Config)
	w.do(err)
	labels := map[string]string{"app": name}
	_, err = kube.AppsV1().Deployments(metav1.NamespaceDefault).Create(w.t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(len(w.names))), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: new(int64(0)),
					Containers:                    []corev1.Container{{Name: "main", Image: "none"}},
					Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
						{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: labels}},
					}}},
				},
			},
		},
	}, metav1.CreateOptions{})
	w.do(err)
	w.t.Cleanup(func() {
		w.removed(kube.AppsV1().Deployments(metav1.NamespaceDefault).Delete(context.Background(), name, metav1.DeleteOptions{}))
	})
	w.eventually("the application runs on all nodes", func() error {
		deployment, err := kube.AppsV1().Deployments(metav1.NamespaceDefault).Get(w.t.Context(), name, metav1.GetOptions{})
		if err == nil && deployment.Status.ReadyReplicas != int32(len(w.names)) {
			err = fmt.Errorf("%d pods are ready", deployment.Status.ReadyReplicas)
		}
		return err
	})
}

// giant makes a pod that no node has room for, and waits until the scheduler has said so.
func (w *canaryWorld) giant(name string) {
	w.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "none", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1M")}},
		}}},
	}
	w.do(w.Create(w.t.Context(), pod))
	w.t.Cleanup(func() { w.removed(w.Delete(context.Background(), pod)) })
	w.eventually("the scheduler finds no node for it", func() error {
		if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
			return err
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Reason == corev1.PodReasonUnschedulable {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %v", pod.Status.Conditions)
	})
}

// A pod that finds no place after the first node was drained keeps the next one from being
// drained, also after a restart; when there is a place, it goes on, whatever becomes of a pod
// that is too big for any node.
func TestNoFurtherNodeIsDrainedWithoutAPlace(t *testing.T) {
	names := []string{"brake-a", "brake-b"}
	w := newCanaryWorld(t, names...)
	w.change("batch", func(pool *v1.NodePool) { pool.Spec.Taints = nil })
	w.isReady("batch", 2)
	w.alone("lone")
	w.change("batch", func(pool *v1.NodePool) {
		pool.Spec.Taints = []v1.Taint{{Key: "example.com/alone", Value: "yes", Effect: corev1.TaintEffectNoExecute}}
		pool.Spec.Rollout = &v1.Rollout{MaxUnavailable: new(intstr.FromInt32(1)), Drain: &v1.Drain{}}
	})
	w.hasReason(v1.ReconcilingCondition, v1.WaitingForPodsReason, "1 of 2 nodes up to date; 1 node waits: ", "no further node is drained while pod default/lone-", "finds no place")
	waits := func() {
		t.Helper()
		if a, b := ownTaints(w.get(names[0])), ownTaints(w.get(names[1])); len(a) != 1 || a[0] != drained || len(b) > 0 {
			t.Errorf("the nodes have the taints %v and %v", a, b)
		}
	}
	waits()
	w.stop()
	w.start()
	w.settle()
	waits()
	w.giant("brake-giant")
	w.node("elsewhere", map[string]string{corev1.LabelHostname: "elsewhere"})
	w.eventually("the next node is drained", func() error {
		if len(ownTaints(w.get(names[1]))) == 0 {
			return errors.New("not yet")
		}
		return nil
	})
}
