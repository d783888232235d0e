package impact_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/preview/impact"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// draining is a pool whose nodes are drained. It has a label before it has taints: a node that
// is new to a pool is not drained.
func draining(spec v1.NodePoolSpec) v1.NodePoolSpec {
	spec.Rollout = &v1.Rollout{Drain: &v1.Drain{}}
	return labelled(spec, "example.com/gpu", "yes")
}

// drainScenarios are about nodes that are drained.
var drainScenarios = map[string]scenario{
	"a drain": {
		reason: "what can be evicted goes as its budget allows, though one that is evicted by a taint would not; what cannot is left to the taint",
		nodes:  nodes("a", "b"),
		before: pools{"gpu": draining(members("a"))},
		after:  pools{"gpu": tainted(draining(members("a")), "gpu=yes:NoExecute")},
		workloads: []workload{
			deployment("web", 4, spread), alone("bare", on("a")), alone("later", on("a"), tolerates("gpu:NoExecute@300")), alone("any", on("a"), tolerates("")),
			alone("apart", on("b")), daemonSet("agent", 2), static("kubelet", "a"),
		},
		budgets: []budget{{"web", 3}},
		want: []string{
			"DaemonSet/agent on a evicted at once",
			"Deployment/web on a drained, 2 pods",
			"Pod/bare is not created again",
			"Pod/bare on a drained",
			"Pod/later on a evicted after 300s",
			"budget web allows 1, loses 2",
		},
	},
}

// TestBlockedDrainsEqualReality has drains that wait for budgets: what is predicted to wait is
// refused by the Eviction API, and what is not has gone.
func TestBlockedDrainsEqualReality(t *testing.T) {
	cluster.Long(t)
	stage := newStage(t)
	p := stage.open(t, scenario{
		nodes:  nodes("a"),
		before: pools{"gpu": draining(members("a"))},
		after:  pools{"gpu": tainted(draining(members("a")), "gpu=yes:NoExecute")},
		workloads: []workload{
			deployment("strict", 2, on("a")), deployment("twice", 1, on("a")), deployment("free", 1, on("a")), deployment("kept", 2, on("a")),
		},
		budgets: []budget{{"strict", 2}, {"twice", 0}, {"kept", 1}},
		then: func(p *play) {
			p.do(p.Create(p.t.Context(), &policyv1.PodDisruptionBudget{
				ObjectMeta: metav1.ObjectMeta{Name: "again", Namespace: p.slug},
				Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "twice"}}},
			}))
		},
	})
	p.predict()
	said := map[string]string{}
	waits := map[string]int32{}
	for _, budget := range p.predicted.Budgets {
		said[budget.Name] = fmt.Sprintf("lost %d, drained %d, exceeded %t, waiting %d, undrainable %d", budget.Lost, budget.Drained, budget.Exceeded, len(budget.Waiting), len(budget.Undrainable))
		for code, pods := range map[int32][]impact.Pod{429: budget.Waiting, 500: budget.Undrainable} {
			for _, pod := range pods {
				waits[pod.Name] = code
			}
		}
	}
	for budget, want := range map[string]string{
		"strict": "lost 2, drained 2, exceeded false, waiting 2, undrainable 0",
		"twice":  "lost 1, drained 1, exceeded false, waiting 0, undrainable 1",
		"again":  "lost 1, drained 1, exceeded false, waiting 0, undrainable 1",
		"kept":   "lost 2, drained 2, exceeded false, waiting 0, undrainable 0",
	} {
		if said[budget] != want {
			t.Errorf("budget %s: predicted %q, want %q", budget, said[budget], want)
		}
	}
	p.write(p.revision(p.scenario.after))
	goes := 0
	for _, f := range p.prediction() {
		if f.what != drained || waits[f.pod] != 0 {
			continue
		}
		// The next pod of workload kept finds no node, so that its budget allows no second one.
		if f.of == "Deployment/kept" {
			continue
		}
		goes++
		p.eventually("pod "+f.pod+" is evicted", func() error {
			if end, ended := p.history.of(p.uids[f.pod]); !ended || !end.drained {
				return fmt.Errorf("it is %+v", end)
			}
			return nil
		})
	}
	if goes != 1 || len(waits) != 3 {
		t.Errorf("%d pods go, and %v wait", goes, waits)
	}
	for name, code := range waits {
		err := p.SubResource("eviction").Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: p.slug}}, &policyv1.Eviction{}, client.DryRunAll)
		status := apierrors.APIStatus(nil)
		if !errors.As(err, &status) || status.Status().Code != code {
			t.Errorf("the eviction of pod %s says %v, and is predicted to be refused with %d", name, err, code)
		}
	}
	for _, node := range p.nodes() {
		has := func(effect corev1.TaintEffect) bool {
			return slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == "gpu" && taint.Effect == effect })
		}
		if has(corev1.TaintEffectNoExecute) || !has(corev1.TaintEffectNoSchedule) {
			t.Errorf("node %s has the taints %v", node.Name, node.Spec.Taints)
		}
	}
}
