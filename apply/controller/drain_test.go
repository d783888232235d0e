package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/evict"
	"github.com/nodepools/nodepools/apply/plan"
)

// drainWorld is a pool of nodes on which an application runs, with nodes beside them to
// which its pods can go: so many that no change needs an approval.
type drainWorld struct {
	*canaryWorld
	kube *kubernetes.Clientset
}

func newDrainWorld(t *testing.T, replicas int32, names ...string) *drainWorld {
	w := &drainWorld{canaryWorld: newCanaryWorld(t, names...)}
	var err error
	w.kube, err = kubernetes.NewForConfig(w.cluster.Config)
	w.do(err)
	w.change("batch", func(pool *v1.NodePool) { pool.Spec.Taints = nil })
	w.isReady("batch", int32(len(names)))
	for i := range names {
		name := fmt.Sprintf("elsewhere-%d", i)
		w.node(name, map[string]string{corev1.LabelHostname: name})
		w.isReadyNode(name)
	}
	labels := map[string]string{"app": "shop"}
	_, err = w.kube.AppsV1().Deployments(metav1.NamespaceDefault).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: new(int64(0)),
					Containers:                    []corev1.Container{{Name: "main", Image: "none"}},
					TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
						MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule,
						LabelSelector: &metav1.LabelSelector{MatchLabels: labels}, NodeTaintsPolicy: new(corev1.NodeInclusionPolicyHonor),
					}},
				},
			},
		},
	}, metav1.CreateOptions{})
	w.do(err)
	t.Cleanup(func() {
		w.removed(w.kube.AppsV1().Deployments(metav1.NamespaceDefault).Delete(context.Background(), "shop", metav1.DeleteOptions{}))
	})
	w.eventually("the application runs on all nodes", func() error {
		on := w.podsOn()
		for _, name := range names {
			if on[name] == 0 {
				return fmt.Errorf("its pods are on %v", on)
			}
		}
		return nil
	})
	return w
}

// removed fails where an object could not be cleared away that is there still.
func (w *world) removed(err error) {
	if client.IgnoreNotFound(err) != nil {
		w.t.Errorf("clear: %v", err)
	}
}

// podsOn is how many pods of the application run on each node.
func (w *drainWorld) podsOn() map[string]int {
	pods, err := w.kube.CoreV1().Pods(metav1.NamespaceDefault).List(w.t.Context(), metav1.ListOptions{LabelSelector: "app=shop"})
	w.do(err)
	on := map[string]int{}
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			on[pod.Spec.NodeName]++
		}
	}
	return on
}

// budget has so many pods of the application be there at any time.
func (w *drainWorld) budget(name string, minAvailable int32) {
	w.t.Helper()
	budgets := w.kube.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault)
	_, err := budgets.Create(w.t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt32(minAvailable)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "shop"}},
		},
	}, metav1.CreateOptions{})
	w.do(err)
	w.t.Cleanup(func() { w.removed(budgets.Delete(context.Background(), name, metav1.DeleteOptions{})) })
	w.eventually("the budget is known", func() error {
		budget, err := budgets.Get(w.t.Context(), name, metav1.GetOptions{})
		if err == nil && (budget.Status.ObservedGeneration == 0 || budget.Status.CurrentHealthy < minAvailable) {
			err = fmt.Errorf("its status is %+v", budget.Status)
		}
		return err
	})
}

func (w *drainWorld) withoutBudget(name string) {
	w.t.Helper()
	w.do(w.kube.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault).Delete(w.t.Context(), name, metav1.DeleteOptions{}))
}

// commit has the pool keep pods off that do not tolerate it.
func (w *drainWorld) commit(drain *v1.Drain) {
	w.change("batch", func(pool *v1.NodePool) {
		pool.Spec.Labels["example.com/tier"] = "2"
		pool.Spec.Taints = []v1.Taint{{Key: "example.com/alone", Value: "yes", Effect: corev1.TaintEffectNoExecute}}
		pool.Spec.Rollout = &v1.Rollout{MaxUnavailable: new(intstr.FromInt32(2)), Drain: drain}
	})
}

// ended are the pods of the application that were deleted otherwise than by an eviction.
func (w *drainWorld) ended(mark int64) (evictions int, others []string) {
	w.t.Helper()
	requests, err := w.cluster.Audit(mark)
	w.do(err)
	for _, r := range requests {
		switch {
		case r.Object.Resource != "pods" || r.Code >= 300 || !strings.HasPrefix(r.Object.Name, "shop-"):
		case r.Object.Subresource == "eviction" && r.User == w.user:
			evictions++
		case r.Verb == "delete" && !strings.Contains(r.User, "kwok"):
			others = append(others, r.User+" deleted "+r.Object.Name)
		}
	}
	return evictions, others
}

const drained, draining = "example.com/alone=yes:NoExecute", "example.com/alone=yes:NoSchedule"

// Before a node gets a NoExecute taint, its pods are evicted as their budgets allow, while
// a NoSchedule taint keeps others off; no pod is ended otherwise.
func TestNodesAreDrainedBeforeTheirTaints(t *testing.T) {
	names := []string{"drain-a", "drain-b", "drain-c"}
	w := newDrainWorld(t, 8, names...)
	w.budget("shop", 7)
	mark := w.mark()
	w.commit(&v1.Drain{})
	for _, name := range names {
		w.carries(name, map[string]string{v1.RoleLabel("batch"): "", "example.com/tier": "2"}, drained)
	}
	w.isReady("batch", 3)
	if on := w.podsOn(); on[names[0]]+on[names[1]]+on[names[2]] > 0 {
		t.Errorf("pods run on %v", on)
	}
	evictions, others := w.ended(mark)
	if evictions == 0 || len(others) > 0 {
		t.Errorf("%d evictions, and otherwise: %v", evictions, others)
	}
	if writes, _ := w.nodeWrites(mark); writes[names[0]] != 2 || writes[names[1]] != 2 || writes[names[2]] != 2 {
		t.Errorf("the writes of nodes are %v, want two of each", writes)
	}
}

// A budget that allows nothing keeps the taint off, over a restart, and the pool says which
// pod it is; when the change is reverted, what kept pods off goes.
func TestDrainWaitsForBudgets(t *testing.T) {
	names := []string{"hold-a"}
	w := newDrainWorld(t, 3, names...)
	w.budget("never", 3)
	mark := w.mark()
	w.commit(&v1.Drain{})
	w.hasReason(v1.ReconcilingCondition, v1.EvictingReason, "0 of 1 node up to date; node hold-a pod default/shop-", "disruption budget", "never")
	held := func() {
		t.Helper()
		w.carries(names[0], map[string]string{v1.RoleLabel("batch"): "", "example.com/tier": "2"}, draining)
		if on := w.podsOn(); on[names[0]] == 0 {
			t.Errorf("pods run on %v", on)
		}
	}
	held()
	w.stop()
	w.start()
	w.settle()
	w.hasReason(v1.ReconcilingCondition, v1.EvictingReason, "never")
	held()
	if writes, _ := w.nodeWrites(mark); writes[names[0]] != 1 {
		t.Errorf("the writes are %v, want one", writes)
	}
	w.change("batch", func(pool *v1.NodePool) {
		pool.Spec.Labels["example.com/tier"], pool.Spec.Taints = "1", nil
	})
	w.carries(names[0], map[string]string{v1.RoleLabel("batch"): "", "example.com/tier": "1"})
	if evictions, others := w.ended(mark); evictions+len(others) > 0 {
		t.Errorf("%d evictions, and otherwise: %v", evictions, others)
	}
	w.commit(&v1.Drain{})
	w.hasReason(v1.ReconcilingCondition, v1.EvictingReason, "never")
	w.withoutBudget("never")
	w.carries(names[0], map[string]string{v1.RoleLabel("batch"): "", "example.com/tier": "2"}, drained)
	w.isReady("batch", 1)
}

// What is evicted of a node, what is left alone, and what is said of those that stay.
func TestEvictions(t *testing.T) {
	w := newWorld(t)
	kube, err := kubernetes.NewForConfig(w.cluster.Config)
	w.do(err)
	w.node("evict", nil)
	w.isReadyNode("evict")
	taint := corev1.Taint{Key: "example.com/alone", Value: "yes", Effect: corev1.TaintEffectNoExecute}
	drain := &plan.Drain{Taints: []corev1.Taint{taint}}
	tolerating := func(seconds *int64) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Spec.Tolerations = []corev1.Toleration{{Key: taint.Key, Operator: corev1.TolerationOpExists, Effect: taint.Effect, TolerationSeconds: seconds}}
		}
	}
	for name, change := range map[string]func(*corev1.Pod){
		"free":        func(*corev1.Pod) {},
		"tolerates":   tolerating(nil),
		"for-a-while": tolerating(new(int64(3600))),
		"static":      func(pod *corev1.Pod) { pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "1"} },
		"held":        func(pod *corev1.Pod) { pod.Labels = map[string]string{"held": "once"} },
		"twice":       func(pod *corev1.Pod) { pod.Labels = map[string]string{"held": "twice"} },
		"going":       func(pod *corev1.Pod) { pod.Finalizers = []string{"example.com/held"} },
	} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
			Spec:       corev1.PodSpec{NodeName: "evict", Containers: []corev1.Container{{Name: "main", Image: "none"}}, TerminationGracePeriodSeconds: new(int64(0))},
		}
		change(pod)
		w.do(w.Create(t.Context(), pod))
		w.runsOn(name, "evict")
	}
	budgets := kube.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault)
	for name, held := range map[string]string{"one": "once", "two": "twice", "three": "twice"} {
		_, err := budgets.Create(t.Context(), &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"held": held}}},
		}, metav1.CreateOptions{})
		w.do(err)
		t.Cleanup(func() { w.removed(budgets.Delete(context.Background(), name, metav1.DeleteOptions{})) })
	}
	// It stays until the finalizer goes.
	w.do(kube.CoreV1().Pods(metav1.NamespaceDefault).Delete(t.Context(), "going", metav1.DeleteOptions{}))
	going, err := kube.CoreV1().Pods(metav1.NamespaceDefault).Get(t.Context(), "going", metav1.GetOptions{})
	w.do(err)
	t.Cleanup(func() {
		_, err := kube.CoreV1().Pods(metav1.NamespaceDefault).Patch(context.Background(), "going", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		w.removed(err)
	})
	want := []evict.Left{
		{Namespace: "default", Name: "going", Result: evict.NotAsked, Reason: "it is being deleted, and was to be gone by " + going.DeletionTimestamp.UTC().Format(time.RFC3339)},
		{Namespace: "default", Name: "held", Result: evict.Blocked, Reason: `Cannot evict pod as it would violate the pod's disruption budget. The disruption budget one needs 1 healthy pods and has 1 currently`},
		{Namespace: "default", Name: "twice", Result: evict.Failed, Reason: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."},
	}
	w.eventually("those are left that budgets hold", func() error {
		left, err := evict.Pods(t.Context(), w, w.SubResource("eviction"), "evict", drain, &plan.Evictions{}, time.Now())
		for _, pod := range left {
			if pod.Name == "free" && pod.Reason != "" {
				t.Errorf("the eviction was granted, and it is said of the pod: %s", pod.Reason)
			}
		}
		if err != nil || !slices.Equal(left, want) {
			return fmt.Errorf("%v %w", left, err)
		}
		return nil
	})
	pods, err := kube.CoreV1().Pods(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
	w.do(err)
	var names []string
	for _, pod := range pods.Items {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	if want := []string{"for-a-while", "going", "held", "static", "tolerates", "twice"}; !slices.Equal(names, want) {
		t.Errorf("left are %v, want %v", names, want)
	}
	config, err := w.cluster.AddUser("may nothing")
	w.do(err)
	unprivileged := newClient(t, config)
	if _, err := evict.Pods(t.Context(), unprivileged, unprivileged.SubResource("eviction"), "evict", drain, &plan.Evictions{}, time.Now()); !errors.Is(err, evict.ErrNoRights) {
		t.Errorf("without rights, the error is %v", err)
	}
}
