package controller

import (
	"fmt"
	"maps"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/evict"
)

// patientRounds is for how many rounds of evictions a test watches.
const patientRounds = 3

// tolerating has the application run on the nodes of the pool alone, and tolerate its taint.
func (w *drainWorld) tolerating(effect corev1.TaintEffect) {
	w.t.Helper()
	deployments := w.kube.AppsV1().Deployments(metav1.NamespaceDefault)
	w.do(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		shop, err := deployments.Get(w.t.Context(), "shop", metav1.GetOptions{})
		if err != nil {
			return err
		}
		shop.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
		shop.Spec.Template.Spec.NodeSelector = map[string]string{v1.RoleLabel("batch"): ""}
		shop.Spec.Template.Spec.TopologySpreadConstraints = nil
		shop.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "example.com/alone", Operator: corev1.TolerationOpExists, Effect: effect}}
		_, err = deployments.Update(w.t.Context(), shop, metav1.UpdateOptions{})
		return err
	}))
}

// evictionsAsked are how many evictions of the application were asked for, granted or not.
func (w *drainWorld) evictionsAsked(mark int64) (asked int) {
	w.t.Helper()
	requests, err := w.cluster.Audit(mark)
	w.do(err)
	for _, r := range requests {
		if r.Object.Resource == "pods" && r.Object.Subresource == "eviction" && r.User == w.user {
			asked++
		}
	}
	return asked
}

// Pods that tolerate what keeps pods off while a node is drained, and not the taint itself, come
// again: they are not evicted every few seconds, and the pool says what to do about it.
func TestPodsThatComeAgain(t *testing.T) {
	w := newDrainWorld(t, 2, "again-a")
	w.tolerating(corev1.TaintEffectNoSchedule)
	w.eventually("the application runs on the pool alone", func() error {
		if on := w.podsOn(); !maps.Equal(on, map[string]int{"again-a": 2}) {
			return fmt.Errorf("its pods are on %v", on)
		}
		return nil
	})
	mark := w.mark()
	w.commit(&v1.Drain{})
	w.hasReason(v1.ReconcilingCondition, v1.EvictingReason, "in place of one that was evicted", draining)
	time.Sleep(patientRounds * evict.RetryPeriod)
	if evictions, others := w.ended(mark); evictions != 2 || len(others) > 0 {
		t.Errorf("%d evictions, want that of each pod once; and otherwise: %v", evictions, others)
	}
	w.hasReason(v1.ReconcilingCondition, v1.EvictingReason, "in place of one that was evicted")
	w.tolerating("")
	w.carries("again-a", map[string]string{v1.RoleLabel("batch"): "", "example.com/tier": "2"}, drained)
	w.eventually("the application runs again", func() error {
		if on := w.podsOn(); !maps.Equal(on, map[string]int{"again-a": 2}) {
			return fmt.Errorf("its pods are on %v", on)
		}
		return nil
	})
}

// However often a kubelet writes its node, its pods are evicted every few seconds.
func TestKubeletsSetNoPaceOfEvictions(t *testing.T) {
	w := newDrainWorld(t, 3, "pace-a")
	w.budget("never", 3)
	w.commit(&v1.Drain{})
	w.hasReason(v1.ReconcilingCondition, v1.EvictingReason, "never")
	kubelet := w.kubelet("pace-a")
	mark, began, writes := w.mark(), time.Now(), 0
	for time.Since(began) < patientRounds*evict.RetryPeriod {
		writes++
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"example.com/beat":"%d"}}}`, writes)
		w.do(kubelet.Patch(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "pace-a"}}, client.RawPatch(types.MergePatchType, []byte(patch))))
		time.Sleep(50 * time.Millisecond)
	}
	most := w.podsOn()["pace-a"] * (int(time.Since(began)/evict.RetryPeriod) + 2)
	if asked := w.evictionsAsked(mark); asked == 0 || asked > most {
		t.Errorf("with %d writes of the node, %d evictions were asked for, want at most %d", writes, asked, most)
	}
}
