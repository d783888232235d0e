package controller

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/status"
)

// Nodes follow their pool one after the other, no more at a time than may be unavailable:
// those that are cordoned count, and do not begin; a controller that is started anew goes
// on where the one before it has ended.
func TestNodesTakeTurns(t *testing.T) {
	const count, minReady = 6, 2 * time.Second
	w := newWorld(t)
	var names []string
	for i := range count {
		names = append(names, fmt.Sprintf("turn-%d", i))
		w.node(names[i], role("batch"))
	}
	w.isReadyNode(names...)
	w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: batch}
spec: {labels: {example.com/tier: "1"}}
`)
	w.isReady("batch", count)
	w.inUse(names...)
	cordon := func(node string, yes bool) {
		update(w, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, func(node *corev1.Node) { node.Spec.Unschedulable = yes })
	}
	tier := func(value string) (nodes []string) {
		for _, name := range names {
			if w.get(name).Labels["example.com/tier"] == value {
				nodes = append(nodes, name)
			}
		}
		return nodes
	}
	cordon(names[0], true)
	cordon(names[1], true)
	mark := w.mark()
	w.change("batch", func(pool *v1.NodePool) {
		pool.Spec.Labels["example.com/tier"] = "2"
		pool.Spec.Rollout = &v1.Rollout{MaxUnavailable: ptr.To(intstr.FromInt32(2)), MinReady: &metav1.Duration{Duration: minReady}}
	})
	w.poolIs("batch", "waits for its budget", func(pool *v1.NodePool) error {
		if pool.Status.Rollout == nil || pool.Status.Rollout.Waiting != count {
			return fmt.Errorf("status.rollout is %v", pool.Status.Rollout)
		}
		return conditionIs(pool.Status.Conditions, v1.ReconcilingCondition, metav1.ConditionTrue, v1.WaitingForBudgetReason, "2 nodes are not available: node turn-0 is cordoned, for one")
	})
	if moved := tier("2"); len(moved) > 0 {
		t.Errorf("two nodes are cordoned, and %v have moved", moved)
	}
	cordon(names[1], false)
	w.eventually("two nodes have moved", func() error {
		if moved := tier("2"); len(moved) < 2 {
			return fmt.Errorf("%v have moved", moved)
		}
		return nil
	})
	w.stop()
	w.start()
	w.eventually("all but the cordoned node have moved", func() error {
		if waiting := tier("1"); !slices.Equal(waiting, names[:1]) {
			return fmt.Errorf("%v wait", waiting)
		}
		return nil
	})
	cordon(names[0], false)
	w.isReady("batch", count)
	w.hasRuntimeClass("node-pool-batch", "runc", map[string]string{v1.RoleLabel("batch"): "", "example.com/tier": "2"})

	// The API server's clock counts, and not the records: a time that was rounded down would hide
	// that the next node began too early.
	var at []time.Time
	for _, write := range w.writesSince(mark) {
		if write.Object.Resource == "nodes" {
			at = append(at, write.Received)
		}
	}
	slices.SortFunc(at, time.Time.Compare)
	// One of two places was taken by the cordoned node until the last one.
	for i := range count - 2 {
		if at[i+1].Before(at[i].Add(minReady)) {
			t.Errorf("nodes began at %v: the %d. was not ready for %v when the next one began", at, i+1, minReady)
		}
	}
	if writes, _ := w.nodeWrites(mark); len(writes) != count || slices.Max(slices.Collect(maps.Values(writes))) != 1 {
		t.Errorf("the writes of nodes are %v, want one of each", writes)
	}
}

// Waves follow one after the other: each when all nodes of the one before it have followed
// and are available, its soak is over, and it is approved for this very change.
func TestWavesFollowOneAfterTheOther(t *testing.T) {
	w := newWorld(t)
	names := []string{"wave-a", "wave-b", "wave-c", "wave-d", "wave-e"}
	for i, name := range names {
		labels := role("batch")
		labels["zone"] = []string{"z", "z", "y", "y", "x"}[i]
		w.node(name, labels)
	}
	w.isReadyNode(names...)
	w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: batch}
spec: {labels: {example.com/tier: "1"}}
`)
	w.isReady("batch", 5)
	w.inUse(names...)
	moved := func() (nodes []string) {
		for _, name := range names {
			if w.get(name).Labels["example.com/tier"] == "2" {
				nodes = append(nodes, name)
			}
		}
		return nodes
	}
	waits := func(wave, reason string, texts ...string) {
		t.Helper()
		w.poolIs("batch", "waits in wave "+wave, func(pool *v1.NodePool) error {
			status := pool.Status.Rollout
			if status == nil || status.Wave != wave {
				return fmt.Errorf("status.rollout is %v: %v", status, pool.Status.Conditions)
			}
			for _, text := range texts {
				if message := readyMessageOf(pool); !strings.Contains(message, text) {
					return fmt.Errorf("the message is %q, want %q in it", message, text)
				}
			}
			return conditionIs(pool.Status.Conditions, v1.ReconcilingCondition, metav1.ConditionTrue, reason)
		})
	}
	approve := func(value string) {
		w.change("batch", func(pool *v1.NodePool) { pool.Annotations = map[string]string{v1.ApproveRolloutAnnotation: value} })
	}
	w.change("batch", func(pool *v1.NodePool) {
		pool.Spec.Labels["example.com/tier"] = "2"
		pool.Spec.Rollout = &v1.Rollout{Waves: []v1.Wave{
			{Name: "canary", Nodes: ptr.To(intstr.FromInt32(1)), Approval: v1.ApprovalRequired},
			{Name: "zone-y", Selector: &v1.WaveSelector{MatchLabels: map[string]v1.LabelValue{"zone": "y"}}, Soak: &metav1.Duration{Duration: 3 * time.Second}},
		}}
	})
	approval := ""
	w.poolIs("batch", "names the approval", func(pool *v1.NodePool) error {
		if !strings.HasSuffix(readyMessageOf(pool), "the next wave waits for an approval: nodepools approve batch") {
			return errors.New(readyMessageOf(pool))
		}
		act, err := w.act(status.Approve, "batch")
		if err == nil {
			approval = act.Set[v1.ApproveRolloutAnnotation]
		}
		return err
	})
	waits("canary", v1.WaitingForApprovalReason, "4 nodes wait: ", "wave canary, 1 of 3, has 1 of 1 nodes",
		"the next wave waits for an approval: nodepools approve batch")
	w.hasEvent("batch", v1.WaitingForApprovalReason, "nodepools approve batch")
	if got := moved(); !slices.Equal(got, names[:1]) {
		t.Errorf("%v have moved, want the canary", got)
	}
	change, _, _ := strings.Cut(approval, "/")
	for _, wrong := range []string{"abcdef/canary", change + "/other", "canary", change} {
		approve(wrong)
	}
	cordon := func(yes bool) {
		update(w, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "wave-a"}}, func(node *corev1.Node) { node.Spec.Unschedulable = yes })
	}
	cordon(true)
	approve(approval)
	waits("canary", v1.WaitingForBudgetReason, "node wave-a is cordoned")
	if got := moved(); !slices.Equal(got, names[:1]) {
		t.Errorf("the canary is not available, and %v have moved", got)
	}
	w.stop()
	w.start()
	waits("canary", v1.WaitingForBudgetReason, "node wave-a is cordoned")
	cordon(false)
	waits("zone-y", v1.SoakingReason, "2 nodes wait: ", "wave zone-y, 2 of 3, has 2 of 2 nodes", "the next wave begins at ")
	if got := moved(); !slices.Equal(got, []string{"wave-a", "wave-c", "wave-d"}) {
		t.Errorf("%v have moved, want those of the zone, too", got)
	}
	w.isReady("batch", 5)
	var at []time.Time
	for _, name := range []string{"wave-c", "wave-d", "wave-b", "wave-e"} {
		at = append(at, plan.LastChangeOf(plan.StateOf(w.get(name))).At)
	}
	for _, rest := range at[2:] {
		if rest.Before(at[0].Add(3*time.Second)) || rest.Before(at[1].Add(3*time.Second)) {
			t.Errorf("the nodes began at %v: the rest before the soak was over", at)
		}
	}
	w.poolIs("batch", "has followed", func(pool *v1.NodePool) error {
		if pool.Status.Rollout != nil {
			return fmt.Errorf("status.rollout is %v", pool.Status.Rollout)
		}
		return nil
	})
}

func readyMessageOf(pool *v1.NodePool) string {
	for _, condition := range pool.Status.Conditions {
		if condition.Type == v1.ReadyCondition {
			return condition.Message
		}
	}
	return ""
}
