package controller

import (
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A pool of which nodes wait is in progress, for whatever they wait; when all have
// followed it is current.
func TestHealthOfRollouts(t *testing.T) {
	w := newGitWorld(t)
	w.node("a1", role("a"))
	w.node("a2", role("a"))
	w.isReadyNode("a1", "a2")
	w.pool(poolFile("a", "0"))
	w.reads(aPool, "a", status.CurrentStatus, "Healthy")
	w.inUse("a1", "a2")
	reason := func(want string) {
		t.Helper()
		w.poolIs("a", "waits", func(pool *v1.NodePool) error {
			return conditionIs(pool.Status.Conditions, v1.ReconcilingCondition, metav1.ConditionTrue, want)
		})
	}
	canary := func(change func(*v1.Wave)) *v1.Rollout {
		wave := v1.Wave{Name: "canary", Nodes: ptr.To(intstr.FromInt32(1))}
		change(&wave)
		return &v1.Rollout{Waves: []v1.Wave{wave}}
	}
	tier := "1"
	for _, tc := range []struct {
		reason  string
		rollout *v1.Rollout
	}{
		{v1.WaitingForWindowReason, &v1.Rollout{Exclusions: []v1.Exclusion{{
			Start: &metav1.Time{Time: time.Now().Add(-time.Hour)}, End: &metav1.Time{Time: time.Now().Add(time.Hour)},
		}}}},
		{v1.RolloutPausedReason, &v1.Rollout{Paused: true}},
		{v1.WaitingForApprovalReason, canary(func(wave *v1.Wave) { wave.Approval = v1.ApprovalRequired })},
		{v1.SoakingReason, canary(func(wave *v1.Wave) { wave.Soak = &metav1.Duration{Duration: time.Hour} })},
		{v1.WaitingForBudgetReason, &v1.Rollout{MaxUnavailable: ptr.To(intstr.FromInt32(0))}},
	} {
		w.change("a", func(pool *v1.NodePool) {
			pool.Spec.Labels["example.com/tier"], pool.Spec.Rollout = v1.LabelValue(tier), tc.rollout
		})
		reason(tc.reason)
		w.readsAtOnce(aPool, "a", status.InProgressStatus, "Progressing")
		tier += "1"
	}
	w.change("a", func(pool *v1.NodePool) { pool.Spec.Rollout = canary(func(*v1.Wave) {}) })
	w.reads(aPool, "a", status.CurrentStatus, "Healthy")
}

// A rollout that is halted has failed: whoever waits for the pool waits no longer.
func TestHealthOfAHaltedRollout(t *testing.T) {
	condition := func(kind string, is metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: kind, Status: is, Reason: v1.RolloutHaltedReason, Message: "node a1 has failed", ObservedGeneration: 1}
	}
	pool := &v1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Generation: 1},
		Status: v1.NodePoolStatus{ObservedGeneration: 1, Rollout: &v1.RolloutStatus{Waiting: 1}, Conditions: []metav1.Condition{
			condition(v1.ReadyCondition, metav1.ConditionFalse), condition(v1.ReconcilingCondition, metav1.ConditionFalse), condition(v1.StalledCondition, metav1.ConditionTrue),
		}},
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pool)
	if err != nil {
		t.Fatal(err)
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: object})
	if err != nil || result.Status != status.FailedStatus {
		t.Errorf("kstatus reads it as %v: %v", result, err)
	}
	if health := argoHealth(t, aPool, object); health != "Degraded" {
		t.Errorf("Argo CD reads it as %s", health)
	}
}
