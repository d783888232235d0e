package main

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/crds"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
	"github.com/nodepools/nodepools/testdata/policies"
)

// openPool is a wall, but for its label, which any kubelet may set.
const openPool = `
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: payments}
spec:
  selector: {matchLabels: {` + corev1.LabelNamespaceNodeRestriction + `/member: payments}}
  labels: {example.com/tenant: payments}
  taints: [{key: example.com/tenant, value: payments, effect: NoSchedule}]
`

// A node outside a pool labels itself as the members are labelled, in every way in which
// a kubelet can write. It is sent pods that look for these labels by themselves, and none
// of six that name the RuntimeClass of the pool; nor any once it registers with them anew.
func TestANodeOutsideAPoolIsSentNoneOfItsPods(t *testing.T) {
	definitions, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	c := cluster.New(t, cluster.Options{ControllerManager: true, Scheduler: true, Kwok: true, CRDs: definitions})
	w := newWalled(t, c, nodeNamed("n1", nil))
	w.apply(openPool)
	w.says(&v1.NodePool{}, "payments", v1.SucceededReason)

	kubelet := policies.KubeletOf(t, c, "n1")
	for _, way := range kubeletWays(kubelet) {
		err := way.label(t.Context(), "n1", map[string]string{"example.com/tenant": "payments", "example.com/way": way.name})
		if labels := w.live("n1").Labels; err != nil || labels["example.com/tenant"] != "payments" || labels["example.com/way"] != way.name {
			t.Errorf("%s: a kubelet cannot label its node, so nothing is tested: %v, %v", way.name, err, labels)
		}
		for _, key := range []string{v1.RoleLabel("payments"), corev1.LabelNamespaceNodeRestriction + "/member"} {
			if err := way.label(t.Context(), "n1", map[string]string{key: "", "example.com/tenant": "payments"}); !apierrors.IsForbidden(err) {
				t.Errorf("%s: a kubelet sets %s: %v", way.name, key, err)
			}
		}
	}
	w.pod("by-selector", "", map[string]string{"example.com/tenant": "payments"})
	w.runsOn("n1", "by-selector")
	pods := []string{"p1", "p2", "p3", "p4", "p5", "p6"}
	for _, pod := range pods {
		w.pod(pod, v1.RuntimeClassName("payments"), nil)
	}
	w.findNoNode(pods...)

	// Its machine is taken away, and comes again with what it wants to be.
	w.do(w.Delete(t.Context(), nodeNamed("n1", nil)))
	_, err = kubelet.CoreV1().Nodes().Create(t.Context(), nodeNamed("n1", map[string]string{"example.com/tenant": "payments", v1.RoleLabel("payments"): ""}), metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("a kubelet registers with the role label: %v", err)
	}
	again := nodeNamed("n1", map[string]string{"example.com/tenant": "payments"})
	again.Spec.Taints = []corev1.Taint{{Key: "example.com/tenant", Value: "payments", Effect: corev1.TaintEffectNoSchedule}}
	_, err = kubelet.CoreV1().Nodes().Create(t.Context(), again, metav1.CreateOptions{})
	w.do(err)
	w.pod("by-selector-again", "", map[string]string{"example.com/tenant": "payments"})
	w.runsOn("n1", "by-selector-again")
	w.pod("p7", v1.RuntimeClassName("payments"), nil)
	pods = append(pods, "p7")
	w.findNoNode(pods...)

	w.do(w.Create(t.Context(), nodeNamed("member", map[string]string{corev1.LabelNamespaceNodeRestriction + "/member": "payments"})))
	w.runsOn("member", pods...)
	if role := v1.RoleLabel("payments"); metav1.HasLabel(w.live("n1").ObjectMeta, role) {
		t.Errorf("the node outside has %s", role)
	}
}

// kubeletWay is one in which a kubelet labels its node.
type kubeletWay struct {
	name  string
	label func(ctx context.Context, node string, labels map[string]string) error
}

func kubeletWays(kubelet kubernetes.Interface) []kubeletWay {
	sends := func(kind types.PatchType, manager string, subresources ...string) func(context.Context, string, map[string]string) error {
		return func(ctx context.Context, node string, labels map[string]string) error {
			options := metav1.PatchOptions{FieldManager: manager}
			if kind == types.ApplyPatchType {
				options.Force = ptr.To(true)
			}
			body := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Node","metadata":{"name":%q,"labels":%s}}`, node, jsonOf(labels))
			_, err := kubelet.CoreV1().Nodes().Patch(ctx, node, kind, body, options, subresources...)
			return err
		}
	}
	return []kubeletWay{
		{"merge-patch", sends(types.MergePatchType, "kubelet")},
		{"patch-of-the-status", sends(types.StrategicMergePatchType, "kubelet", "status")},
		{"apply", sends(types.ApplyPatchType, "kubelet")},
		{"apply-in-our-name", sends(types.ApplyPatchType, v1.FieldManager)},
		{"update", func(ctx context.Context, name string, labels map[string]string) error {
			node, err := kubelet.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			for key, value := range labels {
				metav1.SetMetaDataLabel(&node.ObjectMeta, key, value)
			}
			_, err = kubelet.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
			return err
		}},
	}
}

// pod makes one that names a RuntimeClass, or chooses its node by labels and tolerates all.
func (w *walled) pod(name, class string, selector map[string]string) {
	w.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: "none"}}, NodeSelector: selector,
			TerminationGracePeriodSeconds: ptr.To[int64](0),
		},
	}
	if class != "" {
		pod.Spec.RuntimeClassName = &class
	} else {
		pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	}
	// The RuntimeClass, and the account of the namespace, reach the API server by caches.
	w.until("pod "+name+" is admitted", func() error { return w.Create(w.t.Context(), pod.DeepCopy()) })
}

func (w *walled) podsAre(what string, pods []string, check func(*corev1.Pod) error) {
	w.t.Helper()
	for _, name := range pods {
		w.until("pod "+name+" "+what, func() error {
			pod := &corev1.Pod{}
			if err := w.Get(w.t.Context(), client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: name}, pod); err != nil {
				return err
			}
			return check(pod)
		})
	}
}

func (w *walled) runsOn(node string, pods ...string) {
	w.t.Helper()
	w.podsAre("runs on node "+node, pods, func(pod *corev1.Pod) error {
		if pod.Spec.NodeName != node || pod.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("it is %s on %q: %v", pod.Status.Phase, pod.Spec.NodeName, pod.Status.Conditions)
		}
		return nil
	})
}

// findNoNode waits until the scheduler has found no node for pods.
func (w *walled) findNoNode(pods ...string) {
	w.t.Helper()
	w.podsAre("finds no node", pods, func(pod *corev1.Pod) error {
		if pod.Spec.NodeName != "" {
			w.t.Fatalf("pod %s runs on node %s", pod.Name, pod.Spec.NodeName)
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable {
				return nil
			}
		}
		return fmt.Errorf("it is %s: %v", pod.Status.Phase, pod.Status.Conditions)
	})
}
